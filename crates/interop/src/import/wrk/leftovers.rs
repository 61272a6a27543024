//! Names what a script does that a workload does not, and what was decided for it.

use super::super::{Imported, Notes, shortened};
use super::Script;
use spec::data::Values;
use std::collections::BTreeSet;

impl Script<'_> {
    /// Names the other things that a script does.
    pub(super) fn note_rest(&self, lost: &mut Notes) {
        let functions: BTreeSet<&str> = (0..self.tokens.len())
            .filter_map(|at| match () {
                () if self.is(at, "function") => self.name(at + 1),
                () if self.is(at + 1, "=") && self.is(at + 2, "function") => self.name(at),
                () => None,
            })
            .collect();
        for function in functions {
            match function {
                "response" => lost.add(
                    "response",
                    "what a script does with responses is not carried over: write [step.answer] and captures",
                ),
                "setup" if self.of_threads.is_empty() => {
                    lost.add("setup", "threads get no values of their own")
                }
                "setup" => {}
                // `done` only prints; the others were read already.
                "done" | "init" | "request" | "delay" => {}
                other => lost.add(format!("the function `{}`", shortened(other)), "it is not run"),
            }
        }
        let request = (0..self.tokens.len()).find(|at| {
            self.is(*at, "request")
                && (self.is(at + 1, "=") || self.is(at.wrapping_sub(1), "function"))
        });
        if request.is_some_and(|at| (at..self.end_of(at)).any(|at| self.is(at, "if"))) {
            lost.add(
                "`if`",
                "conditions are not followed: all requests are sent one after the other",
            );
        }
        for name in self.assigned.keys().filter(|name| name.starts_with("wrk.")) {
            let is_known = ["wrk.method", "wrk.path", "wrk.body", "wrk.headers"]
                .contains(&name.as_str())
                || name.starts_with("wrk.headers.");
            if !is_known {
                lost.add(
                    shortened(name),
                    "the server and how wrk connects to it are not carried over",
                );
            }
        }
        for field in ["wrk.method", "wrk.path", "wrk.body"] {
            if self.assigned.get(field).is_some_and(|places| places.len() > 1) {
                lost.add(field, "it gets several values: the last one is used");
            }
        }
    }

    /// Notes where a workload differs from the threads of wrk.
    pub(super) fn note_decisions(&self, steps: usize, imported: &mut Imported) {
        for (name, text) in &self.of_threads {
            let why = format!(
                "each thread of wrk has its own: that of the first, {}, is sent",
                shortened(text)
            );
            imported.taken.add(format!("`{name}`"), why);
        }
        for data in self
            .data
            .iter()
            .filter(|data| matches!(data.values, Values::Counter { .. } | Values::Rows { .. }))
        {
            let name = format!("`{}`", data.name);
            match steps {
                1 => imported
                    .taken
                    .add(name, "each thread of wrk counts by itself; here one counts for all"),
                _ => imported.lost.add(
                    name,
                    "here it counts passes over all requests, in the script single requests",
                ),
            }
        }
    }
}
