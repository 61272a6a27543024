//! A verdict with the numbers behind it, which claims and corrections need.

use crate::rule::{Edges, Finding};
use record::judgement::{Outcome, Verdict};
use spec::name::ContenderName;

/// A verdict with the numbers behind it.
#[derive(Clone)]
pub(crate) struct Judged {
    pub verdict: Verdict,
    /// See [`crate::rule::Finding::p`]. `None` once the outcome is withdrawn.
    pub p: Option<f64>,
    /// See [`crate::rule::Finding::edges`]. Nothing holds once the outcome is withdrawn.
    pub edges: Edges,
    pub log_deviation: Option<f64>,
}

impl Judged {
    /// Adds what the rule found to a verdict that is open.
    pub fn of_finding(found: Finding, open: Verdict) -> Judged {
        Judged {
            verdict: Verdict {
                outcome: found.outcome,
                reason: found.reason,
                ratio: found.ratio,
                interval: found.interval,
                interval_t: found.interval_t,
                interval_bootstrap: found.interval_bootstrap,
                interval_equivalence: found.interval_equivalence,
                sign_flip_p: found.sign_flip_p,
                blocks_needed: found.blocks_needed,
                ..open
            },
            p: found.p,
            edges: found.edges,
            log_deviation: found.log_deviation,
        }
    }

    /// Returns the winner and the loser, if that is decided.
    pub fn winner_and_loser(&self) -> Option<(&ContenderName, &ContenderName)> {
        let Verdict { contender, baseline, outcome, .. } = &self.verdict;
        match outcome {
            Outcome::Better => Some((contender, baseline)),
            Outcome::Worse => Some((baseline, contender)),
            _ => None,
        }
    }

    /// Withdraws the outcome, and everything that claims could rest on.
    pub fn withdraw(&mut self, reason: String) {
        self.verdict.outcome = Outcome::Undecided;
        self.verdict.reason = reason;
        self.verdict.blocks_needed = None;
        self.p = None;
        self.edges = Edges::default();
    }

    /// Withdraws the outcome. A verdict that is undecided anyway keeps its reason and loses only
    /// what is certain about the edges of the margin.
    pub fn unsettle(&mut self, reason: String) {
        match self.verdict.outcome {
            Outcome::Undecided => self.edges = Edges::default(),
            _ => self.withdraw(reason),
        }
    }
}
