//! Reads assertions and extractors: the checks of a response, and the values captured from it.
//!
//! JMeter combines assertions with bits of `test_type`; a workload has statuses, bodies, pointers
//! and one pattern. What does not fit is named as lost.

use super::super::xml::Node;
use super::super::{jsonpath, shortened, value_name};
use super::{Group, Plan};
use regex_lite::Regex;
use spec::template::{Part, Template};
use spec::workload::{BodyCheck, Capture, Source, Statuses, Step, Wanted};

/// Bits of `Assertion.test_type`.
const MATCH: u64 = 1;
const CONTAINS: u64 = 2;
const NOT: u64 = 4;
const EQUALS: u64 = 8;
const SUBSTRING: u64 = 16;
const OR: u64 = 32;

/// JMeter's own element, and that of the older plugin.
const JSON_ASSERTIONS: [&str; 2] = [
    "JSONPathAssertion",
    "com.atlantbh.jmeter.plugins.jsonutils.jsonpathassertion.JSONPathAssertion",
];

pub fn is_one(tag: &str) -> bool {
    JSON_ASSERTIONS.contains(&tag)
        || ["ResponseAssertion", "JSONPostProcessor", "RegexExtractor", "DurationAssertion"]
            .contains(&tag)
}

impl<'x> Plan<'x> {
    /// Adds checks and captures to a step.
    pub fn checks(&mut self, nodes: &[&'x Node], step: &mut Step, group: &mut Group) {
        for node in nodes {
            match node.tag.as_str() {
                "ResponseAssertion" => self.response(node, step),
                "JSONPostProcessor" => self.json_captures(node, step),
                "RegexExtractor" => self.regex_capture(node, step),
                "DurationAssertion" => {
                    self.imported
                        .lost
                        .add(node.title(), "a latency limit is not a check of a response: `faceoff load --threshold 'max<...'` applies it");
                }
                _ => self.json(node, step, group),
            }
        }
        // The names are known to later steps.
        for capture in &step.captures {
            self.texts.captured(&capture.name);
        }
    }

    fn json(&mut self, node: &Node, step: &mut Step, group: &mut Group) {
        let path =
            self.texts.fixed(node.value_of("JSON_PATH"), &mut self.imported).unwrap_or_default();
        let Some(pointer) = jsonpath::pointer(&path) else {
            self.imported
                .lost
                .add(node.title(), format!("`{}` does not name one place", shortened(&path)));
            return;
        };
        if node.flag("INVERT") {
            self.imported.lost.add(node.title(), "absence is not checked");
            return;
        }
        if step
            .answer
            .pointers
            .iter()
            .any(|(other, wanted)| *other == pointer && *wanted != Wanted::Present)
        {
            self.imported.lost.add(node.title(), "another value is expected there already");
            return;
        }
        if !node.flag("JSONVALIDATION") {
            step.answer.pointers.push((pointer, Wanted::Present));
            return;
        }
        if node.flag("EXPECT_NULL") {
            self.imported
                .lost
                .add(node.title(), "null is not compared: only its presence is checked");
            step.answer.pointers.push((pointer, Wanted::Present));
            return;
        }
        let expected = self.texts.template(node.value_of("EXPECTED_VALUE"), &mut self.imported);
        // Without this property, JMeter reads the value as a pattern.
        let is_pattern = node.value_of("ISREGEX").trim() != "false";
        let is_plain = |text: &str| !text.contains(|c| "\\^$.|?*+()[]{}".contains(c));
        if is_pattern && !expected.texts().all(is_plain) {
            self.imported.lost.add(
                node.title(),
                "a pattern is not matched at a place of JSON: only its presence is checked",
            );
            step.answer.pointers.push((pointer, Wanted::Present));
            return;
        }
        let wanted = match expected.as_fixed() {
            None => expected,
            // A text or number as it is written, which may contain names.
            Some(text) => {
                let known = group
                    .parameters
                    .iter()
                    .find(|(_, value)| *value == text)
                    .map(|(name, _)| name.clone());
                let name =
                    known.unwrap_or_else(|| format!("expected-{}", group.parameters.len() + 1));
                group.parameters.insert(name.clone(), text.to_owned());
                Template { parts: vec![Part::Value(name)] }
            }
        };
        step.answer.pointers.push((pointer, Wanted::Spelling(wanted)));
    }

    fn response(&mut self, node: &Node, step: &mut Step) {
        // JMeter itself misspells this name.
        let strings =
            node.property("Asserion.test_strings").or(node.property("Assertion.test_strings"));
        let texts: Vec<String> = strings
            .into_iter()
            .flat_map(|all| &all.children)
            .map(|text| text.text.clone())
            .collect();
        let kind = node.value_of("Assertion.test_type").trim().parse::<u64>().unwrap_or(SUBSTRING);
        let field = node
            .value_of("Assertion.test_field")
            .trim()
            .rsplit('.')
            .next()
            .unwrap_or_default()
            .to_owned();
        if texts.is_empty() {
            return;
        }
        if kind & NOT != 0 {
            self.imported.lost.add(node.title(), "absence is not checked");
            return;
        }
        if !["main", ""].contains(&node.value_of("Assertion.scope").trim()) {
            self.imported.taken.add(node.title(), "it is checked in the response itself");
        }
        let mut templates = Vec::new();
        for text in &texts {
            templates.push(self.texts.template(text, &mut self.imported));
        }
        let understood = match (field.as_str(), templates.as_slice()) {
            ("response_code", [only]) => {
                let found = only.as_fixed().and_then(statuses);
                step.answer.status = found.unwrap_or(step.answer.status);
                found.is_some()
            }
            ("response_data" | "", [only])
                if kind & EQUALS != 0 && step.answer.body == BodyCheck::Any =>
            {
                step.answer.body = BodyCheck::Text(only.clone());
                true
            }
            ("response_data" | "", all)
                if step.answer.regex.is_none()
                    && kind & EQUALS == 0
                    && (all.len() == 1 || kind & OR != 0) =>
            {
                step.answer.regex = pattern(all, kind);
                step.answer.regex.is_some()
            }
            _ => false,
        };
        if !understood {
            self.imported
                .lost
                .add(node.title(), "a workload cannot check that: it has one pattern for a body, and statuses as 200, 2xx or 200..399");
        }
    }

    fn json_captures(&mut self, node: &Node, step: &mut Step) {
        let list = |property: &str| -> Vec<String> {
            node.value_of(property).split(';').map(|text| text.trim().to_owned()).collect()
        };
        let (names, paths) =
            (list("JSONPostProcessor.referenceNames"), list("JSONPostProcessor.jsonPathExprs"));
        for (name, path) in names.iter().zip(&paths) {
            let Some(pointer) =
                self.texts.fixed(path, &mut self.imported).as_deref().and_then(jsonpath::pointer)
            else {
                self.imported.lost.add(
                    format!("`{}` of {}", shortened(name), node.title()),
                    format!("`{}` does not name one place", shortened(path)),
                );
                continue;
            };
            if name.is_empty() {
                continue;
            }
            self.capture(name, Source::Json(pointer), None, step);
        }
        if list("JSONPostProcessor.defaultValues").iter().any(|value| !value.is_empty()) {
            self.imported.taken.add(
                format!("the defaults of {}", node.title()),
                "a response without the value is wrong",
            );
        }
    }

    fn regex_capture(&mut self, node: &Node, step: &mut Step) {
        let pattern = self
            .texts
            .fixed(node.value_of("RegexExtractor.regex"), &mut self.imported)
            .unwrap_or_default();
        let regex = Regex::new(&pattern).ok();
        let of_body = ["false", "unescaped", "as_document", ""]
            .contains(&node.value_of("RegexExtractor.useHeaders").trim());
        let template = node.value_of("RegexExtractor.template").trim();
        let first = ["1", "0", ""].contains(&node.value_of("RegexExtractor.match_number").trim());
        let name = node.value_of("RegexExtractor.refname").trim();
        // The first group of the first match, or the whole match without groups.
        match regex.filter(|regex| {
            of_body
                && first
                && !name.is_empty()
                && template == if regex.captures_len() > 1 { "$1$" } else { "$0$" }
        }) {
            Some(regex) => {
                if !node.value_of("RegexExtractor.default").trim().is_empty() {
                    self.imported.taken.add(
                        format!("the default of {}", node.title()),
                        "a response without the value is wrong",
                    );
                }
                self.capture(name, Source::Body, Some(regex), step);
            }
            None => self
                .imported
                .lost
                .add(node.title(), "a capture takes the first group of the first match in a body"),
        }
    }

    fn capture(&mut self, name: &str, from: Source, regex: Option<Regex>, step: &mut Step) {
        let safe = value_name(name);
        if safe != name {
            self.texts.define(name, &format!("${{{safe}}}"));
        }
        step.captures.retain(|capture| capture.name != safe);
        step.captures.push(Capture { name: safe, from, regex });
    }
}

/// Reads statuses as a range, if they are one: `200`, `2..`, `2\d\d`, `[23]..`, `200|201`.
fn statuses(text: &str) -> Option<Statuses> {
    let text = text.trim().trim_start_matches('^').trim_end_matches('$');
    let text = text.replace("\\d", ".").replace("[0-9]", ".");
    if text == "[23].." {
        return Some(Statuses { from: 200, to: 399 });
    }
    let text =
        if text.len() == 3 && text.ends_with("..") { text.replace("..", "xx") } else { text };
    Statuses::parse(&text).ok()
}

/// Makes one pattern that matches if any of these does.
fn pattern(all: &[Template], kind: u64) -> Option<Regex> {
    let mut patterns = Vec::new();
    for template in all {
        let text = template.as_fixed()?;
        patterns.push(match kind & (MATCH | CONTAINS | SUBSTRING) {
            CONTAINS => text.to_owned(),
            MATCH => format!("^(?:{text})$"),
            _ => regex_lite::escape(text),
        });
    }
    // In a workload `${` begins a parameter; in a pattern it would be an anchor and a count.
    Regex::new(&patterns.join("|")).ok().filter(|regex| !regex.as_str().contains("${"))
}
