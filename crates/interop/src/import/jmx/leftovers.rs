//! Names the parts of a plan that are not carried over.
//!
//! These are properties that no code reads, unless they have their default, and all elements below
//! one that is not read. So nothing of a plan is dropped silently.

use super::super::shortened;
use super::super::xml::Node;
use super::{Plan, pairs};

/// The properties that are read, by element. After `=` is the default, which changes nothing.
const KNOWN: [(&str, &str); 28] = [
    (
        "TestPlan",
        "TestPlan.user_defined_variables TestPlan.serialize_threadgroups TestPlan.functional_mode TestPlan.tearDown_on_shutdown",
    ),
    (
        "ThreadGroup",
        "ThreadGroup.num_threads ThreadGroup.ramp_time ThreadGroup.main_controller ThreadGroup.scheduler ThreadGroup.duration ThreadGroup.delay \
         ThreadGroup.on_sample_error ThreadGroup.delayedStart ThreadGroup.start_time ThreadGroup.end_time \
         ThreadGroup.same_user_on_next_iteration=true",
    ),
    (
        "OpenModelThreadGroup",
        "OpenModelThreadGroup.schedule OpenModelThreadGroup.random_seed=0 ThreadGroup.main_controller ThreadGroup.on_sample_error",
    ),
    (
        "UltimateThreadGroup",
        "ultimatethreadgroupdata ThreadGroup.main_controller ThreadGroup.on_sample_error",
    ),
    (
        "ConcurrencyThreadGroup",
        "TargetLevel RampUp Steps Hold Unit Iterations LogFilename ThreadGroup.main_controller ThreadGroup.on_sample_error",
    ),
    (
        "ArrivalsThreadGroup",
        "TargetLevel RampUp Steps Hold Unit Iterations LogFilename ConcurrencyLimit ThreadGroup.main_controller ThreadGroup.on_sample_error",
    ),
    (
        "FreeFormArrivalsThreadGroup",
        "Schedule Unit Iterations LogFilename ConcurrencyLimit ThreadGroup.main_controller ThreadGroup.on_sample_error",
    ),
    (
        "SteppingThreadGroup",
        "ThreadGroup.num_threads Threads_initial_delay Start_users_count Start_users_count_burst Start_users_period Stop_users_count \
         Stop_users_period flighttime rampUp ThreadGroup.main_controller ThreadGroup.on_sample_error ThreadGroup.ramp_time",
    ),
    ("HTTPSamplerProxy", HTTP),
    ("HTTPSampler", HTTP),
    ("HTTPSampler2", HTTP),
    ("ConfigTestElement", HTTP),
    ("HeaderManager", "HeaderManager.headers"),
    ("Arguments", "Arguments.arguments"),
    (
        "CSVDataSet",
        "filename variableNames ignoreFirstLine delimiter quotedData recycle stopThread fileEncoding=UTF-8 shareMode=shareMode.all",
    ),
    (
        "CounterConfig",
        "CounterConfig.start CounterConfig.incr CounterConfig.end CounterConfig.name CounterConfig.per_user CounterConfig.reset_on_tg_iteration=false",
    ),
    ("RandomVariableConfig", "minimumValue maximumValue outputFormat variableName perThread=false"),
    (
        "ResponseAssertion",
        "Asserion.test_strings Assertion.test_strings Assertion.test_type Assertion.test_field Assertion.scope Assertion.custom_message \
         Assertion.assume_success=false",
    ),
    ("JSONPathAssertion", JSON_ASSERTION),
    ("jsonpathassertion.JSONPathAssertion", JSON_ASSERTION),
    (
        "JSONPostProcessor",
        "JSONPostProcessor.referenceNames JSONPostProcessor.jsonPathExprs JSONPostProcessor.defaultValues JSONPostProcessor.compute_concat=false \
         JSONPostProcessor.match_numbers=1|0 Sample.scope=main",
    ),
    (
        "RegexExtractor",
        "RegexExtractor.useHeaders RegexExtractor.refname RegexExtractor.regex RegexExtractor.template RegexExtractor.match_number \
         RegexExtractor.default RegexExtractor.default_empty_value=false Sample.scope=main",
    ),
    ("ConstantTimer", "ConstantTimer.delay"),
    ("UniformRandomTimer", "ConstantTimer.delay RandomTimer.range"),
    ("LoopController", "LoopController.loops LoopController.continue_forever"),
    ("TransactionController", "TransactionController.parent TransactionController.includeTimers"),
    ("GenericController", ""),
    ("RecordingController", ""),
];

const HTTP: &str = "HTTPsampler.Arguments HTTPsampler.Files HTTPSampler.domain HTTPSampler.port HTTPSampler.protocol HTTPSampler.path \
    HTTPSampler.method HTTPSampler.use_keepalive HTTPSampler.follow_redirects HTTPSampler.auto_redirects HTTPSampler.DO_MULTIPART_POST \
    HTTPSampler.postBodyRaw HTTPSampler.response_timeout HTTPSampler.image_parser HTTPSampler.proxyHost HTTPSampler.implementation \
    HTTPSampler.contentEncoding=UTF-8 HTTPSampler.BROWSER_COMPATIBLE_MULTIPART HTTPSampler.concurrentPool HTTPSampler.concurrentDwn=false \
    HTTPSampler.md5=false HTTPSampler.monitor=false HTTPSampler.ipSourceType=0 HTTPSampler.mimetype HTTPSampler.FILE_NAME HTTPSampler.FILE_FIELD GraphQLHTTPSampler.query \
    GraphQLHTTPSampler.variables GraphQLHTTPSampler.operationName";

const JSON_ASSERTION: &str = "JSON_PATH EXPECTED_VALUE JSONVALIDATION EXPECT_NULL INVERT ISREGEX";

/// Returns the entry of an element in [`KNOWN`].
fn known_of(tag: &str) -> Option<&'static str> {
    let last = tag.rsplit('.').next().unwrap_or(tag);
    KNOWN.iter().find(|(of, _)| *of == tag || *of == last).map(|(_, known)| *known)
}

impl<'x> Plan<'x> {
    /// Names the properties of an element that are not read and differ from their default.
    pub fn leftovers(&mut self, node: &Node) {
        let Some(known) = known_of(&node.tag) else { return };
        for property in &node.children {
            let Some(name) = property
                .attribute("name")
                .filter(|name| !name.is_empty() && *name != "TestPlan.comments")
            else {
                continue;
            };
            let value = property.text.trim();
            // Names of properties may contain spaces, but spaces separate the names in the list.
            let listed = name.replace(' ', "_");
            let found = known.split_ascii_whitespace().find_map(|known| {
                let (known, usual) = known
                    .split_once('=')
                    .map_or((known, None), |(known, usual)| (known, Some(usual)));
                (known == listed).then_some(usual)
            });
            let is_known = match found {
                Some(usual) => usual.is_none_or(|usual| {
                    usual.split('|').any(|usual| value.eq_ignore_ascii_case(usual))
                }),
                // A property that is off changes nothing.
                None => matches!(value, "false" | "0") && property.children.is_empty(),
            };
            let is_empty = value.is_empty() && property.children.is_empty();
            if !is_known && !is_empty {
                self.imported.lost.add(
                    format!("`{name}` of {}", node.title()),
                    format!("`{}` is not carried over", shortened(value)),
                );
            }
        }
    }

    /// Names the elements below one that is not read.
    pub fn below_unread(&mut self, node: &Node, below: Option<&Node>, depth: usize) {
        if depth == 0 {
            return;
        }
        for (inner, further) in pairs(below) {
            self.imported.lost.add(
                inner.title(),
                format!("it is below {}, which is not carried over", node.title()),
            );
            self.below_unread(inner, further, depth - 1);
        }
    }

    /// Names the elements that are disabled, and those that only show results.
    pub fn not_run(&mut self, tree: Option<&Node>) {
        for node in
            tree.into_iter().flat_map(|tree| &tree.children).filter(|node| node.tag != "hashTree")
        {
            if !node.is_enabled() {
                self.imported.taken.add(node.title(), "it is disabled and left out, as in JMeter");
            } else if super::LEFT_ALONE.contains(&node.tag.as_str()) {
                self.imported.taken.add(node.title(), "faceoff reports results itself");
            }
        }
    }
}
