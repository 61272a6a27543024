//! Reads plans of JMeter: each thread group becomes a workload and a load.
//!
//! In a plan, the tree below an element contains what applies to it. So [`Plan::requests`] walks
//! the tree with a [`Scope`] of defaults, headers, checks and timers. `groups.rs` reads loads,
//! `sampler.rs` requests, `checks.rs` assertions, `texts.rs` variables and functions, `data.rs`
//! tables. `leftovers.rs` names everything else. Start with [`import`].

mod checks;
mod data;
mod groups;
mod leftovers;
mod sampler;
mod schedule;
mod texts;
mod timers;

use super::xml::{self, Node};
use super::{Imported, Names, Part, one_server};
use spec::data::Data;
use spec::problem::Problems;
use spec::workload::Step;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use texts::Texts;

/// The timeout if the plan has none. JMeter then waits forever.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The most rounds of a loop within a group, whose requests are written out.
const MOST_ROUNDS: u64 = 100;
/// The maximum depth at which elements that are not carried over are named.
const MOST_DEPTH: usize = 200;
/// The most trees of requests that are visited.
const MOST_TREES: usize = 10_000;

/// Elements that show results or only structure the plan.
const LEFT_ALONE: [&str; 5] =
    ["ResultCollector", "Summariser", "BackendListener", "DebugSampler", "DebugPostProcessor"];
/// Controllers whose requests are always sent, in order.
const IN_ORDER: [&str; 3] = ["GenericController", "TransactionController", "RecordingController"];

/// What applies to the requests at a place of the plan.
#[derive(Clone, Default)]
struct Scope<'x> {
    /// From the nearest to the outermost.
    defaults: Vec<&'x Node>,
    headers: Vec<(String, String)>,
    checks: Vec<&'x Node>,
    timers: Vec<&'x Node>,
}

/// Reads a plan. Its tables are next to it.
pub fn import(
    text: &str,
    folder: &Path,
    defined: &BTreeMap<String, String>,
) -> Result<Imported, Problems> {
    let root = xml::parse_xml(text)?;
    if root.tag != "jmeterTestPlan" {
        return Err(Problems::plain(
            format!("the file is XML, but not a plan of JMeter: it begins with <{}>", root.tag),
            "name a .jmx file",
        ));
    }
    let mut plan = Plan {
        folder,
        texts: Texts::new(defined),
        imported: Imported::default(),
        data: Vec::new(),
        tables: BTreeMap::new(),
        names: Names::default(),
        left: MOST_TREES,
    };
    let top = root.children.iter().find(|child| child.tag == "hashTree");
    plan.groups(top, &Scope::default())?;
    let several = plan.imported.parts.len() > 1;
    for (n, part) in plan.imported.parts.iter_mut().enumerate().filter(|_| several) {
        part.suffix = format!("-{}", n + 1);
    }
    plan.texts.note_missing(&mut plan.imported);
    match plan.imported.parts.is_empty() {
        false => Ok(plan.imported),
        true => {
            let hint = "it needs a thread group with HTTP samplers";
            Err(plan
                .imported
                .lost
                .nothing("the plan makes no HTTP request that can be carried over", hint))
        }
    }
}

struct Plan<'x> {
    folder: &'x Path,
    texts: Texts<'x>,
    imported: Imported,
    /// Data of the plan, and of the group that is being read.
    data: Vec<Data>,
    tables: BTreeMap<String, String>,
    names: Names,
    /// How many trees of requests may still be visited. Nested loops could otherwise take forever.
    left: usize,
}

/// The requests and settings of a thread group.
#[derive(Default)]
struct Group {
    steps: Vec<(String, Step)>,
    pauses: Vec<timers::Sum>,
    /// The longest timeout, if any request has one.
    timeout: Option<Duration>,
    unbounded: bool,
    closes: bool,
    parameters: BTreeMap<String, String>,
}

/// Returns elements with the trees below them.
fn pairs(tree: Option<&Node>) -> impl Iterator<Item = (&Node, Option<&Node>)> {
    let children = tree.map(|tree| tree.children.as_slice()).unwrap_or_default();
    let with_next = children.iter().enumerate().filter(|(_, node)| node.tag != "hashTree");
    with_next
        .map(move |(n, node)| (node, children.get(n + 1).filter(|next| next.tag == "hashTree")))
        .filter(|(node, _)| node.is_enabled())
}

impl Node {
    fn is_enabled(&self) -> bool {
        self.attribute("enabled") != Some("false")
    }

    /// Returns the property with a name, of any type.
    fn property(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.attribute("name") == Some(name))
    }

    fn value_of(&self, name: &str) -> &str {
        self.property(name).map_or("", |node| node.text.as_str())
    }

    fn flag(&self, name: &str) -> bool {
        self.value_of(name).trim() == "true"
    }

    /// Returns the title for people: `HTTP Cookie Manager (CookieManager)`.
    fn title(&self) -> String {
        match self.attribute("testname").unwrap_or_default().trim() {
            "" => self.tag.clone(),
            name => format!("{} ({})", super::shortened(name), self.tag),
        }
    }
}

/// Returns the arguments in a property, each with a `name` and `value`.
fn arguments<'x>(node: &'x Node, property: &str) -> impl Iterator<Item = &'x Node> {
    let inner = if property.is_empty() { Some(node) } else { node.property(property) };
    inner
        .and_then(|inner| inner.property("Arguments.arguments"))
        .map(|all| all.children.as_slice())
        .unwrap_or_default()
        .iter()
}

impl<'x> Plan<'x> {
    /// Reads the thread groups of a tree, with the scope around them.
    fn groups(&mut self, tree: Option<&'x Node>, around: &Scope<'x>) -> Result<(), Problems> {
        let scope = self.scope(tree, around)?;
        self.not_run(tree);
        for (node, below) in pairs(tree) {
            match node.tag.as_str() {
                "TestPlan" => {
                    for argument in arguments(node, "TestPlan.user_defined_variables") {
                        self.texts.define(
                            argument.value_of("Argument.name"),
                            argument.value_of("Argument.value"),
                        );
                    }
                    if node.flag("TestPlan.serialize_threadgroups") {
                        self.imported.taken.add(
                            "the order of thread groups",
                            "each is a workload by itself: run one after the other",
                        );
                    }
                    self.leftovers(node);
                    self.groups(below, &scope)?;
                }
                "SetupThreadGroup" | "PostThreadGroup" => {
                    self.imported.lost.add(
                        node.title(),
                        "requests before and after the load are not carried over",
                    );
                    self.below_unread(node, below, MOST_DEPTH);
                }
                tag if tag.ends_with("ThreadGroup") => self.group(node, below, &scope)?,
                tag if is_of_scope(node) || LEFT_ALONE.contains(&tag) => {}
                _ => self.unknown(node, below),
            }
        }
        Ok(())
    }

    /// Returns the scope at a place: the scope around it, plus the elements here.
    fn scope(&mut self, tree: Option<&'x Node>, around: &Scope<'x>) -> Result<Scope<'x>, Problems> {
        let mut scope = around.clone();
        // Names of the headers that managers at this level have set so far.
        let mut here: Vec<String> = Vec::new();
        for (node, below) in pairs(tree) {
            match node.tag.as_str() {
                "ConfigTestElement" if is_http_defaults(node) => scope.defaults.insert(0, node),
                "HeaderManager" => {
                    // Of several managers at one level the first applies, and a nearer level
                    // overrides those around it.
                    let inner: Vec<(String, String)> = headers_of(node)
                        .filter(|(name, _)| !here.iter().any(|other| other == &name.to_lowercase()))
                        .collect();
                    let names: Vec<String> =
                        inner.iter().map(|(name, _)| name.to_lowercase()).collect();
                    let all = std::mem::take(&mut scope.headers);
                    let (gone, kept): (Vec<_>, Vec<_>) =
                        all.into_iter().partition(|(name, _)| names.contains(&name.to_lowercase()));
                    scope.headers = kept;
                    for (name, value) in gone {
                        let what = format!("the header `{name}: {}`", super::shortened(&value));
                        self.imported.taken.add(
                            what,
                            format!(
                                "below {} the nearer one of this name is sent, as in JMeter",
                                node.title()
                            ),
                        );
                    }
                    for (name, value) in
                        headers_of(node).filter(|(name, _)| here.contains(&name.to_lowercase()))
                    {
                        let what = format!(
                            "the header `{name}: {}` of {}",
                            super::shortened(&value),
                            node.title()
                        );
                        self.imported.taken.add(
                            what,
                            "an earlier manager at this level sets this header, as in JMeter",
                        );
                    }
                    here.extend(names);
                    scope.headers.extend(inner);
                }
                "Arguments" => {
                    for argument in arguments(node, "") {
                        self.texts.define(
                            argument.value_of("Argument.name"),
                            argument.value_of("Argument.value"),
                        );
                    }
                }
                "CSVDataSet" => self.table(node)?,
                "CounterConfig" => self.counter(node),
                "RandomVariableConfig" => self.random(node),
                tag if checks::is_one(tag) => scope.checks.push(node),
                tag if timers::is_one(tag) => scope.timers.push(node),
                _ => continue,
            }
            self.leftovers(node);
            if pairs(below).next().is_some() {
                self.imported
                    .lost
                    .add(format!("the elements below {}", node.title()), "they are not read");
            }
        }
        Ok(scope)
    }

    fn unknown(&mut self, node: &Node, below: Option<&Node>) {
        let why = match node.tag.as_str() {
            "CookieManager" => {
                "a workload keeps no cookies: take them with captures, and send them as a header"
            }
            "CacheManager" => "every request is made",
            "AuthManager" => "write the header `authorization`",
            tag if tag.starts_with("JSR223") || tag.starts_with("BeanShell") => {
                "scripts are not run"
            }
            tag if tag.ends_with("Controller") => {
                "which of its requests are sent is not known in advance"
            }
            tag if tag.ends_with("Sampler") || tag.ends_with("SamplerProxy") => {
                "it makes no HTTP request"
            }
            tag if tag.ends_with("Extractor") || tag.ends_with("PostProcessor") => {
                "captures are JSON pointers, headers and patterns"
            }
            tag if tag.ends_with("Assertion") => {
                "responses are checked by status, headers, bytes, JSON and patterns"
            }
            _ => "a workload has nothing like it",
        };
        self.imported.lost.add(node.title(), why);
        self.below_unread(node, below, MOST_DEPTH);
    }

    /// Reads a thread group: its users, and the requests that they send.
    fn group(
        &mut self,
        node: &'x Node,
        below: Option<&'x Node>,
        around: &Scope<'x>,
    ) -> Result<(), Problems> {
        let (data, tables) = (self.data.clone(), self.tables.clone());
        let mut group = Group::default();
        self.texts.forget();
        self.requests(below, around, &mut group)?;
        self.data.append(&mut self.texts.made);
        let (all_data, all_tables) =
            (std::mem::replace(&mut self.data, data), std::mem::replace(&mut self.tables, tables));
        let (server, steps) = one_server(std::mem::take(&mut group.steps), &mut self.imported.lost);
        if steps.is_empty() {
            self.imported
                .lost
                .add(node.title(), "it makes no HTTP request that can be carried over");
            return Ok(());
        }
        let pause = timers::pause(&group.pauses, &mut self.imported);
        self.leftovers(node);
        let load = self.load_of_group(node, pause, steps.len());
        let mut part = Part::new(steps, load.load);
        part.duration = load.duration;
        part.server = server.filter(|server| !server.is_empty());
        part.timeout = if group.unbounded { Some(TIMEOUT) } else { group.timeout };
        if group.unbounded {
            self.imported.taken.add(
                "the timeout",
                "JMeter waits forever for a response if the plan has no timeout; here it is 5 min",
            );
        }
        if group.closes {
            part.flags.push("--close");
        }
        part.parameters = group.parameters;
        part.workload.summary = format!(
            "requests of {} of a JMeter plan",
            node.attribute("testname").filter(|name| !name.is_empty()).unwrap_or("a thread group")
        );
        let used: BTreeSet<String> = used(&part.workload.steps);
        part.workload.data = all_data
            .into_iter()
            .filter(|data| data.names().iter().any(|name| used.contains(name)))
            .collect();
        part.tables = all_tables
            .into_iter()
            .filter(|(name, _)| part.workload.data.iter().any(|data| data.name == *name))
            .collect();
        self.imported.push(part);
        Ok(())
    }

    /// Reads the requests of a group or a controller, in order.
    fn requests(
        &mut self,
        tree: Option<&'x Node>,
        around: &Scope<'x>,
        group: &mut Group,
    ) -> Result<(), Problems> {
        if self.left == 0 || group.steps.len() > super::MOST_STEPS {
            self.imported
                .lost
                .add("some rounds of loops", "they exceed the limit of steps in a workload");
            return Ok(());
        }
        self.left -= 1;
        let scope = self.scope(tree, around)?;
        self.not_run(tree);
        for (node, below) in pairs(tree) {
            match node.tag.as_str() {
                "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => {
                    let mut own = self.scope(below, &scope)?;
                    self.not_run(below);
                    for (inner, further) in pairs(below).filter(|(inner, _)| {
                        !is_of_scope(inner) && !LEFT_ALONE.contains(&inner.tag.as_str())
                    }) {
                        self.unknown(inner, further);
                    }
                    self.leftovers(node);
                    let pause = self.timers(&std::mem::take(&mut own.timers));
                    if self.sampler(node, &own, group) {
                        group.pauses.push(pause);
                    }
                }
                "LoopController" => {
                    let rounds = self.texts.number(
                        node.value_of("LoopController.loops"),
                        "the rounds of a loop",
                        1.0..=MOST_ROUNDS as f64,
                        &mut self.imported,
                    );
                    self.leftovers(node);
                    for _ in 0..rounds.unwrap_or(1.0) as u64 {
                        self.requests(below, &scope, group)?;
                    }
                }
                tag if IN_ORDER.contains(&tag) => {
                    self.leftovers(node);
                    self.requests(below, &scope, group)?;
                }
                tag if is_of_scope(node) || LEFT_ALONE.contains(&tag) => {}
                _ => self.unknown(node, below),
            }
        }
        Ok(())
    }
}

/// Returns whether an element has defaults for HTTP requests, and not for another protocol.
fn is_http_defaults(node: &Node) -> bool {
    node.attribute("guiclass").is_some_and(|gui| gui.contains("Http"))
}

/// Returns the names and values of a header manager.
fn headers_of(node: &Node) -> impl Iterator<Item = (String, String)> {
    let all = node.property("HeaderManager.headers").into_iter().flat_map(|all| &all.children);
    all.map(|header| {
        (header.value_of("Header.name").to_owned(), header.value_of("Header.value").to_owned())
    })
}

/// Returns whether an element only applies to others, and sends no request.
fn is_of_scope(node: &Node) -> bool {
    let tag = node.tag.as_str();
    (tag == "ConfigTestElement" && is_http_defaults(node))
        || ["HeaderManager", "Arguments", "CSVDataSet", "CounterConfig", "RandomVariableConfig"]
            .contains(&tag)
        || checks::is_one(tag)
        || timers::is_one(tag)
}

/// Returns the names that steps use.
fn used(steps: &[Step]) -> BTreeSet<String> {
    use spec::workload::{Body, BodyCheck, Wanted};
    let templates = steps.iter().flat_map(|step| {
        let body = if let Body::Text(text) = &step.body { Some(text) } else { None };
        let right = if let BodyCheck::Text(text) = &step.answer.body { Some(text) } else { None };
        let places = step.answer.pointers.iter().filter_map(|(_, wanted)| {
            if let Wanted::Spelling(text) = wanted { Some(text) } else { None }
        });
        std::iter::once(&step.path)
            .chain(step.headers.iter().map(|(_, value)| value))
            .chain(body)
            .chain(right)
            .chain(places)
    });
    templates.flat_map(|template| template.names().map(str::to_owned)).collect()
}
