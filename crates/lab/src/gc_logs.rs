//! Has garbage collectors log their pauses, in the starts of profiled blocks only.
//!
//! A Java virtual machine reads options from `JDK_JAVA_OPTIONS`, and a Go program from `GODEBUG`.
//! Java 8, which lacks `-Xlog` and would not start with it, reads only `JAVA_TOOL_OPTIONS`. A
//! variable that no program of a contender reads has no effect, so every contender gets both. What
//! the user has set remains, and ours follows it. Start with [`with_gc_logs`]; `pauses.rs` reads
//! the logs.

use crate::participants::Ready;
use spec::experiment::{Experiment, RunnerKind};
use std::collections::BTreeMap;

/// Variables, the values that switch logs on, and what separates several values. The Z collector
/// logs its pauses as phases. Nanoseconds are those of the clock that measures.
const LOGS: [(&str, &str, char); 2] = [
    ("JDK_JAVA_OPTIONS", "-Xlog:gc,gc+phases:stdout:timenanos,tags", ' '),
    ("GODEBUG", "gctrace=1", ','),
];

/// The contender as it starts in profiled blocks. An existing image may set the variables itself,
/// and would lose what it sets, so it starts as it is.
pub(crate) fn with_gc_logs(ready: &Ready, experiment: &Experiment) -> Ready {
    let mut contender = ready.contender.clone();
    if contender.system.image.ready_made.is_none() {
        let place = contender.place((experiment.place.runner, experiment.place.network));
        let inherits = place.is_ok_and(|(runner, _)| runner == RunnerKind::Process);
        for (variable, value, separator) in LOGS {
            let inherited = inherits.then(|| std::env::var(variable).ok()).flatten();
            let env = &mut contender.system.start.env;
            append(env, (variable, separator), value, inherited);
        }
    }
    Ready { contender, participant: ready.participant.clone() }
}

/// Appends a value to a variable of a start. What comes before it is what the manifest sets, else
/// what the process would inherit.
fn append(
    env: &mut BTreeMap<String, String>,
    (variable, separator): (&str, char),
    value: &str,
    inherited: Option<String>,
) {
    let before = env.get(variable).cloned().or(inherited).filter(|before| !before.is_empty());
    let whole = before.map_or(value.to_owned(), |before| format!("{before}{separator}{value}"));
    env.insert(variable.to_owned(), whole);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_what_is_set_already() {
        let mut env = BTreeMap::from([("GODEBUG".to_owned(), "http2debug=1".to_owned())]);
        append(&mut env, ("GODEBUG", ','), "gctrace=1", Some("ignored=1".to_owned()));
        append(&mut env, ("A", ' '), "-b", Some("-a".to_owned()));
        append(&mut env, ("B", ' '), "-b", Some(String::new()));
        append(&mut env, ("C", ' '), "-b", None);
        let found: Vec<String> =
            env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(found, ["A=-a -b", "B=-b", "C=-b", "GODEBUG=http2debug=1,gctrace=1"]);
    }
}
