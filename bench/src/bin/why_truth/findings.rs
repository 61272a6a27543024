//! Reads what faceoff found in a run: the named differences, and figures about the profile itself.
//!
//! Start with [`Findings::read`]. Names come from the judgement (`causes`), shares and costs from
//! the profiles of the record.

use record::{FrameKind, Profile, Record};
use serde_json::Value;
use std::path::Path;

/// What faceoff found in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Findings {
    /// The functions that it names, the largest difference first.
    pub functions: Vec<Named>,
    /// The categories that it names.
    pub categories: Vec<Named>,
    /// Whether the samples of both contenders stand for their CPU time by the clock, as far as
    /// wake-ups permit.
    pub sums_agree: bool,
    /// Samples outside the kernel.
    pub user_samples: u64,
    /// Those of them whose function has a name.
    pub symbolised: u64,
}

/// A named difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    pub name: String,
    /// CPU time per request that the second process uses more than the first.
    pub us: f64,
}

impl Findings {
    /// Reads the record and the judgement in a folder.
    pub fn read(folder: &Path) -> Result<Findings, String> {
        let record = Record::read(folder).map_err(|problems| problems.to_string())?;
        if record.profiles.is_empty() {
            return Err(format!("{} has no profiles", folder.display()));
        }
        let file = folder.join("judgement.json");
        let wrong = |why: String| format!("{}: {why}", file.display());
        let text = std::fs::read_to_string(&file).map_err(|e| wrong(e.to_string()))?;
        let judgement: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
        let causes = Causes::of_judgement(&judgement).map_err(wrong)?;
        let (symbolised, user_samples) = symbolised(&record.profiles);
        Ok(Findings {
            functions: causes.functions,
            categories: causes.categories,
            sums_agree: causes.sums_agree,
            user_samples,
            symbolised,
        })
    }

    /// Returns whether anything is named.
    pub fn names_anything(&self) -> bool {
        !self.functions.is_empty() || !self.categories.is_empty()
    }

    /// Returns whether a function is named first, in the spelling of any language.
    pub fn names_first(&self, function: &str) -> bool {
        self.functions.first().is_some_and(|first| is_function(&first.name, function))
    }
}

/// Returns whether a symbol is a function: `main.hashBytes`, `service::hash_bytes` and
/// `Service.hashBytes` are `hash_bytes`.
fn is_function(symbol: &str, function: &str) -> bool {
    let plain = |text: &str| text.replace('_', "").to_lowercase();
    let mut words = symbol.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| plain(word) == plain(function))
}

/// The part of a judgement that is about profiles.
#[derive(Debug)]
struct Causes {
    functions: Vec<Named>,
    categories: Vec<Named>,
    sums_agree: bool,
}

impl Causes {
    /// Reads the causes of the only cell. The error says what is missing.
    fn of_judgement(judgement: &Value) -> Result<Causes, String> {
        let list = |value: &Value, field: &str| {
            let list = value[field].as_array().cloned();
            list.ok_or_else(|| format!("it has no list `{field}`"))
        };
        let causes = list(judgement, "causes")?;
        let [cell] = causes.as_slice() else {
            return Err(format!("it has causes of {} cells, not of one", causes.len()));
        };
        let contenders = list(cell, "contenders")?;
        let differences = list(cell, "differences")?;
        let [difference] = differences.as_slice() else {
            return Err(format!("it has {} differences, not one", differences.len()));
        };
        let named = |field: &str| {
            let holding = list(difference, field)?.into_iter().filter(|line| line["holds"] == true);
            let one = |line: Value| {
                let (name, us) = (line["name"].as_str(), line["us"].as_f64());
                let named = name.zip(us).map(|(name, us)| Named { name: name.to_owned(), us });
                named.ok_or_else(|| format!("a line of `{field}` has no name or no `us`: {line}"))
            };
            holding.map(one).collect::<Result<Vec<_>, String>>()
        };
        Ok(Causes {
            functions: named("functions")?,
            categories: named("categories")?,
            sums_agree: contenders.len() == 2
                && contenders.iter().all(|contender| contender["agrees"] == true),
        })
    }
}

/// Returns how many user samples have a named function, and how many there are.
fn symbolised(profiles: &[Profile]) -> (u64, u64) {
    let (mut named, mut all) = (0, 0);
    for profile in profiles {
        for stack in &profile.stacks {
            let innermost =
                stack.frames.first().and_then(|frame| profile.frames.get(*frame as usize));
            if innermost.is_some_and(|frame| frame.kind == FrameKind::Kernel) {
                continue;
            }
            all += stack.samples;
            if innermost.is_some_and(|frame| frame.function.is_some()) {
                named += stack.samples;
            }
        }
    }
    (named, all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Frame, Stack, Waits};
    use serde_json::json;

    fn line(name: &str, us: f64, holds: bool) -> Value {
        json!({ "name": name, "us": us, "interval": null, "p": 0.01, "q": 0.01, "holds": holds })
    }

    fn judgement(functions: &[Value], agrees: [Value; 2]) -> Value {
        let contender = |agrees: &Value| json!({ "contender": "x", "agrees": agrees });
        json!({ "causes": [{
            "cell": "closed-8",
            "contenders": agrees.iter().map(contender).collect::<Vec<_>>(),
            "differences": [{
                "total": line("", 9.0, true),
                "categories": [line("application", 8.0, true), line("TCP", 1.0, false)],
                "functions": functions,
            }],
        }] })
    }

    #[test]
    fn only_lines_that_hold_are_named_in_their_order() {
        let functions = [
            line("main.sortNumbers", 8.0, true),
            line("main.checkSum", 2.0, false),
            line("x", 1.0, true),
        ];
        let causes = Causes::of_judgement(&judgement(&functions, [json!(true), json!(true)]));
        let causes = causes.unwrap();
        let names = |all: &[Named]| all.iter().map(|named| named.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&causes.functions), ["main.sortNumbers", "x"]);
        assert_eq!(names(&causes.categories), ["application"]);
        assert!(causes.sums_agree);
        for other in [json!(false), json!(null)] {
            let causes = Causes::of_judgement(&judgement(&[], [json!(true), other])).unwrap();
            assert!(!causes.sums_agree && causes.functions.is_empty());
        }
    }

    #[test]
    fn a_judgement_without_causes_is_refused() {
        let refused = |value: Value| Causes::of_judgement(&value).unwrap_err();
        assert_eq!(refused(json!({})), "it has no list `causes`");
        assert_eq!(refused(json!({ "causes": [] })), "it has causes of 0 cells, not of one");
        let without = json!({ "causes": [{ "contenders": [], "differences": [] }] });
        assert_eq!(refused(without), "it has 0 differences, not one");
        let unnamed = judgement(&[json!({ "holds": true })], [json!(true), json!(true)]);
        assert!(refused(unnamed).starts_with("a line of `functions` has no name"));
    }

    #[test]
    fn a_function_is_found_in_the_symbols_of_every_language() {
        for symbol in
            ["main.hashBytes", "service::hash_bytes", "Service.hashBytes", "LService;::hashBytes"]
        {
            assert!(is_function(symbol, "hash_bytes"), "{symbol}");
        }
        for symbol in ["main.hashBytesOf", "hash_bytes_of", "bytes", "main.checkSum"] {
            assert!(!is_function(symbol, "hash_bytes"), "{symbol}");
        }
    }

    #[test]
    fn symbolised_share_is_of_innermost_functions_outside_kernel() {
        let frame = |function: Option<&str>, kind| Frame {
            function: function.map(str::to_owned),
            module: "m".into(),
            kind,
        };
        let stack = |frames: &[u32], samples| Stack {
            thread: "t".into(),
            frames: frames.to_vec(),
            samples,
        };
        let profile = Profile {
            contender: "a".parse().unwrap(),
            block: 1,
            cell: "c".into(),
            period_ns: 1,
            cpu_ns: 1,
            correct: 1,
            load: None,
            lost: 0,
            frames: vec![
                frame(Some("f"), FrameKind::Native),
                frame(None, FrameKind::Compiled),
                frame(Some("k"), FrameKind::Kernel),
            ],
            // The last one refers to a frame that is missing.
            stacks: vec![stack(&[0, 1], 5), stack(&[1, 0], 2), stack(&[2, 0], 9), stack(&[7], 1)],
            waits: Waits::default(),
            notes: vec![],
        };
        assert_eq!(symbolised(&[profile]), (5, 8));
    }
}
