//! Environment variables that contenders get in the starts of profiled blocks only.
//!
//! Garbage collectors of Java and Go log their pauses if a variable asks for it; `pauses.rs` reads
//! the logs. Java, Node, Python and .NET show a sampler the names and callers of their code only
//! with an option, which costs a little time, so the experiment must ask for it. A variable that no
//! program of a contender reads has no effect, so every contender gets all of them. What the user
//! has set remains, and ours follows it. Start with [`of_profiled_start`].

use crate::participants::Ready;
use record::Frame;
use spec::experiment::{Experiment, RunnerKind};
use std::collections::BTreeMap;

/// Variables, the values that switch logs of collectors on, and what separates several values. The
/// Z collector logs its pauses as phases. Nanoseconds are those of the clock that measures. Java 8,
/// which lacks `-Xlog` and would not start with it, reads only `JAVA_TOOL_OPTIONS`.
const LOGS: [(&str, &str, char); 2] = [
    ("JDK_JAVA_OPTIONS", "-Xlog:gc,gc+phases:stdout:timenanos,tags", ' '),
    ("GODEBUG", "gctrace=1", ','),
];

/// How a runtime is made to show its code to a sampler.
struct Runtime {
    /// The beginning of the name of a module that every program on it has.
    module: &'static str,
    variable: &'static str,
    value: &'static str,
    /// What separates several values in the variable; `None` if it has only one.
    separator: Option<char>,
}

/// Python reads its variable since version 3.12. The value of .NET's asks for a map of names
/// without a dump of the code.
const RUNTIMES: [Runtime; 4] = [
    Runtime {
        module: "libjvm.so",
        variable: "JAVA_TOOL_OPTIONS",
        value: "-XX:+PreserveFramePointer",
        separator: Some(' '),
    },
    Runtime {
        module: "node",
        variable: "NODE_OPTIONS",
        value: "--perf-basic-prof",
        separator: Some(' '),
    },
    Runtime { module: "python3", variable: "PYTHONPERFSUPPORT", value: "1", separator: None },
    Runtime {
        module: "libcoreclr.so",
        variable: "DOTNET_PerfMapEnabled",
        value: "3",
        separator: None,
    },
];

/// Whether this contender starts with variables of ours in profiled blocks: it does not keep
/// running from the blocks before, and is no existing image. Such an image may set the variables
/// itself, and would lose what it sets.
pub(crate) fn takes_variables(ready: &Ready, experiment: &Experiment) -> bool {
    let system = &ready.contender.system;
    !experiment.design.start_once && system.reached.is_none() && system.image.ready_made.is_none()
}

/// The contender as it starts in profiled blocks. It gets the options of runtimes if the experiment
/// asks for them.
pub(crate) fn of_profiled_start(ready: &Ready, experiment: &Experiment, options: bool) -> Ready {
    let mut contender = ready.contender.clone();
    if takes_variables(ready, experiment) {
        let place = contender.place((experiment.place.runner, experiment.place.network));
        let inherits = place.is_ok_and(|(runner, _)| runner == RunnerKind::Process);
        let logs = LOGS.map(|(variable, value, separator)| (variable, value, Some(separator)));
        let of_runtimes = RUNTIMES.iter().filter(|_| options);
        let of_runtimes = of_runtimes.map(|of| (of.variable, of.value, of.separator));
        for (variable, value, separator) in logs.into_iter().chain(of_runtimes) {
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
    (variable, separator): (&str, Option<char>),
    value: &str,
    inherited: Option<String>,
) {
    let before = env.get(variable).cloned().or(inherited).filter(|before| !before.is_empty());
    let whole = match (before, separator) {
        (Some(before), Some(separator)) => format!("{before}{separator}{value}"),
        _ => value.to_owned(),
    };
    env.insert(variable.to_owned(), whole);
}

/// A sentence on how this start differs from those of judged blocks, if it ran on such a runtime.
pub(crate) fn note(frames: &[Frame]) -> Option<String> {
    let is_found =
        |runtime: &&Runtime| frames.iter().any(|frame| frame.module.starts_with(runtime.module));
    let set: Vec<String> = RUNTIMES
        .iter()
        .filter(is_found)
        .map(|runtime| format!("{}={}", runtime.variable, runtime.value))
        .collect();
    (!set.is_empty())
        .then(|| format!("Unlike judged blocks, profiled ones started with {}.", set.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::FrameKind;

    #[test]
    fn values_follow_what_is_set_already() {
        let mut env = BTreeMap::from([("JAVA_TOOL_OPTIONS".to_owned(), "-Xmx1g".to_owned())]);
        let mut add = |variable, value, inherited: &str| {
            append(&mut env, variable, value, Some(inherited.to_owned()));
        };
        add(("JAVA_TOOL_OPTIONS", Some(' ')), "-XX:+A", "-Xmx2g");
        add(("NODE_OPTIONS", Some(' ')), "--b", "--c");
        add(("PYTHONPERFSUPPORT", None), "1", "0");
        append(&mut env, ("GODEBUG", Some(',')), "gctrace=1", None);
        let found = env.iter().map(|(name, value)| format!("{name}={value}"));
        let found: Vec<String> = found.collect();
        let expected = [
            "GODEBUG=gctrace=1",
            "JAVA_TOOL_OPTIONS=-Xmx1g -XX:+A",
            "NODE_OPTIONS=--c --b",
            "PYTHONPERFSUPPORT=1",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn only_variables_of_runtimes_that_ran_are_noted() {
        let frame = |module: &str| Frame {
            function: None,
            module: module.to_owned(),
            kind: FrameKind::Native,
        };
        assert_eq!(note(&[frame("kernel"), frame("libc.so.6")]), None);
        let note = note(&[frame("libjvm.so"), frame("jit")]).unwrap();
        let expected = "started with JAVA_TOOL_OPTIONS=-XX:+PreserveFramePointer.";
        assert!(note.ends_with(expected), "{note}");
    }
}
