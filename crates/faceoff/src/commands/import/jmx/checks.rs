//! Assertions and extractors: what a right answer is, and what is taken from it.

use super::super::xml::Node;
use super::super::{jsonpath, shortened, value_name};
use super::{Group, Plan};
use model::template::Template;
use model::workload::{BodyCheck, Capture, Source, Statuses, Step, Wanted};
use regex_lite::Regex;

/// Bits of `Assertion.test_type`.
const MATCH: u64 = 1;
const CONTAINS: u64 = 2;
const NOT: u64 = 4;
const EQUALS: u64 = 8;
const SUBSTRING: u64 = 16;
const OR: u64 = 32;

/// JMeter's own, and the plugin's that came before it.
const JSON_ASSERTIONS: [&str; 2] = ["JSONPathAssertion", "com.atlantbh.jmeter.plugins.jsonutils.jsonpathassertion.JSONPathAssertion"];

pub fn is_one(tag: &str) -> bool {
    JSON_ASSERTIONS.contains(&tag) || ["ResponseAssertion", "JSONPostProcessor", "RegexExtractor", "DurationAssertion"].contains(&tag)
}

impl<'x> Plan<'x> {
    /// Gives a step what is checked in its answers and taken from them.
    pub fn checks(&mut self, nodes: &[&'x Node], step: &mut Step, group: &mut Group) {
        for node in nodes {
            match node.tag.as_str() {
                "ResponseAssertion" => self.response(node, step),
                "JSONPostProcessor" => self.json_captures(node, step),
                "RegexExtractor" => self.regex_capture(node, step),
                "DurationAssertion" => {
                    self.imported
                        .lost
                        .add(node.title(), "a bound of latency is no check of an answer: `faceoff load --threshold 'max<...'` keeps it");
                }
                _ => self.json(node, step, group),
            }
        }
        // Names are known to the steps that follow.
        for capture in &step.captures {
            self.texts.captured(&capture.name);
        }
    }

    fn json(&mut self, node: &Node, step: &mut Step, group: &mut Group) {
        let path = self.texts.fixed(node.said("JSON_PATH"), &mut self.imported).unwrap_or_default();
        let Some(pointer) = jsonpath::pointer(&path) else {
            self.imported.lost.add(node.title(), format!("`{}` does not name one place", shortened(&path)));
            return;
        };
        if node.flag("INVERT") {
            self.imported.lost.add(node.title(), "that something is not there is not checked");
            return;
        }
        if step.answer.pointers.iter().any(|(other, wanted)| *other == pointer && *wanted != Wanted::Present) {
            self.imported.lost.add(node.title(), "another value is wanted there already");
            return;
        }
        if !node.flag("JSONVALIDATION") {
            step.answer.pointers.push((pointer, Wanted::Present));
            return;
        }
        if node.flag("EXPECT_NULL") {
            self.imported.lost.add(node.title(), "null is not compared: that something stands there is checked");
            step.answer.pointers.push((pointer, Wanted::Present));
            return;
        }
        let expected = self.texts.template(node.said("EXPECTED_VALUE"), &mut self.imported);
        // Where it is not said, JMeter reads the value as a pattern.
        let is_pattern = node.said("ISREGEX").trim() != "false";
        let is_plain = |text: &str| !text.contains(|c| "\\^$.|?*+()[]{}".contains(c));
        if is_pattern && !expected.texts().all(is_plain) {
            self.imported.lost.add(node.title(), "a pattern is not matched at a place of JSON: that something stands there is checked");
            step.answer.pointers.push((pointer, Wanted::Present));
            return;
        }
        let wanted = match expected.as_fixed() {
            None => expected,
            // As it is spelt, be it a text or a number: that takes a name.
            Some(text) => {
                let known = group.parameters.iter().find(|(_, value)| *value == text).map(|(name, _)| name.clone());
                let name = known.unwrap_or_else(|| format!("expected-{}", group.parameters.len() + 1));
                group.parameters.insert(name.clone(), text.to_owned());
                Template { parts: vec![model::template::Part::Value(name)] }
            }
        };
        step.answer.pointers.push((pointer, Wanted::Spelling(wanted)));
    }

    fn response(&mut self, node: &Node, step: &mut Step) {
        // The misspelling is JMeter's.
        let strings = node.property("Asserion.test_strings").or(node.property("Assertion.test_strings"));
        let texts: Vec<String> = strings.into_iter().flat_map(|all| &all.children).map(|text| text.text.clone()).collect();
        let kind = node.said("Assertion.test_type").trim().parse::<u64>().unwrap_or(SUBSTRING);
        let field = node.said("Assertion.test_field").trim().rsplit('.').next().unwrap_or_default().to_owned();
        if texts.is_empty() {
            return;
        }
        if kind & NOT != 0 {
            self.imported.lost.add(node.title(), "that something is not there is not checked");
            return;
        }
        if !["main", ""].contains(&node.said("Assertion.scope").trim()) {
            self.imported.taken.add(node.title(), "it is checked in the answer itself");
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
            ("response_data" | "", [only]) if kind & EQUALS != 0 && step.answer.body == BodyCheck::Any => {
                step.answer.body = BodyCheck::Text(only.clone());
                true
            }
            ("response_data" | "", all) if step.answer.regex.is_none() && kind & EQUALS == 0 && (all.len() == 1 || kind & OR != 0) => {
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
        let list = |property: &str| -> Vec<String> { node.said(property).split(';').map(|text| text.trim().to_owned()).collect() };
        let (names, paths) = (list("JSONPostProcessor.referenceNames"), list("JSONPostProcessor.jsonPathExprs"));
        for (name, path) in names.iter().zip(&paths) {
            let Some(pointer) = self.texts.fixed(path, &mut self.imported).as_deref().and_then(jsonpath::pointer) else {
                self.imported
                    .lost
                    .add(format!("`{}` of {}", shortened(name), node.title()), format!("`{}` does not name one place", shortened(path)));
                continue;
            };
            if name.is_empty() {
                continue;
            }
            self.capture(name, Source::Json(pointer), None, step);
        }
        if list("JSONPostProcessor.defaultValues").iter().any(|value| !value.is_empty()) {
            self.imported.taken.add(format!("the defaults of {}", node.title()), "an answer without the value is wrong");
        }
    }

    fn regex_capture(&mut self, node: &Node, step: &mut Step) {
        let pattern = self.texts.fixed(node.said("RegexExtractor.regex"), &mut self.imported).unwrap_or_default();
        let regex = Regex::new(&pattern).ok();
        let of_body = ["false", "unescaped", "as_document", ""].contains(&node.said("RegexExtractor.useHeaders").trim());
        let template = node.said("RegexExtractor.template").trim();
        let first = ["1", "0", ""].contains(&node.said("RegexExtractor.match_number").trim());
        let name = node.said("RegexExtractor.refname").trim();
        // The first group of the first match, or all of a match without groups.
        match regex.filter(|regex| of_body && first && !name.is_empty() && template == if regex.captures_len() > 1 { "$1$" } else { "$0$" })
        {
            Some(regex) => self.capture(name, Source::Body, Some(regex), step),
            None => self.imported.lost.add(node.title(), "a capture takes the first group of the first match in a body"),
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

/// `200`, `2..`, `2\d\d`, `[23]..`, `200|201`: as a range where it is one.
fn statuses(text: &str) -> Option<Statuses> {
    let text = text.trim().trim_start_matches('^').trim_end_matches('$');
    let text = text.replace("\\d", ".").replace("[0-9]", ".");
    if text == "[23].." {
        return Some(Statuses { from: 200, to: 399 });
    }
    let text = if text.len() == 3 && text.ends_with("..") { text.replace("..", "xx") } else { text };
    Statuses::parse(&text).ok()
}

/// One pattern that finds any of these.
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
    // In a workload `${` names a parameter, in a pattern it would be an anchor and a count.
    Regex::new(&patterns.join("|")).ok().filter(|regex| !regex.as_str().contains("${"))
}
