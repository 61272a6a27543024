//! Plans of JMeter: each thread group is a workload and a load.

mod checks;
mod sampler;
mod texts;
mod timers;

use super::xml::{self, Node};
use super::{Imported, Names, Part, one_server, text_of};
use model::data::{Data, Values};
use model::experiment::Load;
use model::problem::Problems;
use model::workload::Step;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use texts::Texts;

/// JMeter waits for an answer without end.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Loops within a group are written out up to so many requests.
const MOST_ROUNDS: u64 = 100;
/// The most trees of requests that are looked into.
const MOST_TREES: usize = 10_000;
/// The most rows that a table is taken with.
const MOST_ROWS: usize = 100_000;

/// Elements that show results or only order the plan.
const LEFT_ALONE: [&str; 6] = ["ResultCollector", "Summariser", "BackendListener", "DNSCacheManager", "DebugSampler", "DebugPostProcessor"];
/// Controllers whose requests are made each time, in order.
const IN_ORDER: [&str; 3] = ["GenericController", "TransactionController", "RecordingController"];

/// What holds for the requests at a place of the plan.
#[derive(Clone, Default)]
struct Scope<'x> {
    /// From the nearest to the outermost.
    defaults: Vec<&'x Node>,
    headers: Vec<(String, String)>,
    checks: Vec<&'x Node>,
    timers: Vec<&'x Node>,
}

/// Reads a plan; its tables stand beside it.
pub fn import(text: &str, folder: &Path, defined: &BTreeMap<String, String>) -> Result<Imported, Problems> {
    let root = xml::parse(text)?;
    if root.tag != "jmeterTestPlan" {
        return Err(Problems::plain(format!("the file is XML, but no plan of JMeter: it begins with <{}>", root.tag), "name a .jmx file"));
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
    plan.texts.said(&mut plan.imported);
    match plan.imported.parts.is_empty() {
        false => Ok(plan.imported),
        true => {
            Err(Problems::plain("the plan makes no HTTP request that can be carried over", "it needs a thread group with HTTP samplers"))
        }
    }
}

struct Plan<'x> {
    folder: &'x Path,
    texts: Texts<'x>,
    imported: Imported,
    /// Of the plan and the group that is read.
    data: Vec<Data>,
    tables: BTreeMap<String, String>,
    names: Names,
    /// How many trees of requests may still be looked into: loops in loops would be without end.
    left: usize,
}

/// What a thread group is read into.
#[derive(Default)]
struct Group {
    steps: Vec<(String, Step)>,
    pauses: Vec<timers::Sum>,
    /// The longest wait for an answer, where any is bounded.
    timeout: Option<Duration>,
    unbounded: bool,
    closes: bool,
    parameters: BTreeMap<String, String>,
}

/// Elements with what hangs below each.
fn pairs(tree: Option<&Node>) -> impl Iterator<Item = (&Node, Option<&Node>)> {
    let children = tree.map(|tree| tree.children.as_slice()).unwrap_or_default();
    let with_next = children.iter().enumerate().filter(|(_, node)| node.tag != "hashTree");
    with_next.map(move |(n, node)| (node, children.get(n + 1).filter(|next| next.tag == "hashTree"))).filter(|(node, _)| node.is_enabled())
}

impl Node {
    fn is_enabled(&self) -> bool {
        self.attribute("enabled") != Some("false")
    }

    /// The property of a name, of whatever type.
    fn property(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.attribute("name") == Some(name))
    }

    fn said(&self, name: &str) -> &str {
        self.property(name).map_or("", |node| node.text.as_str())
    }

    fn flag(&self, name: &str) -> bool {
        self.said(name).trim() == "true"
    }

    /// For people: `HTTP Cookie Manager (CookieManager)`.
    fn title(&self) -> String {
        match self.attribute("testname").unwrap_or_default().trim() {
            "" => self.tag.clone(),
            name => format!("{} ({})", super::shortened(name), self.tag),
        }
    }
}

/// `name` and `value` of the arguments in a property.
fn arguments<'x>(node: &'x Node, property: &str) -> impl Iterator<Item = &'x Node> {
    let inner = if property.is_empty() { Some(node) } else { node.property(property) };
    inner.and_then(|inner| inner.property("Arguments.arguments")).map(|all| all.children.as_slice()).unwrap_or_default().iter()
}

impl<'x> Plan<'x> {
    /// Looks for thread groups, and takes up what stands around them.
    fn groups(&mut self, tree: Option<&'x Node>, around: &Scope<'x>) -> Result<(), Problems> {
        let scope = self.scope(tree, around)?;
        for (node, below) in pairs(tree) {
            match node.tag.as_str() {
                "TestPlan" => {
                    for argument in arguments(node, "TestPlan.user_defined_variables") {
                        self.texts.define(argument.said("Argument.name"), argument.said("Argument.value"));
                    }
                    if node.flag("TestPlan.serialize_threadgroups") {
                        self.imported.taken.add("the order of thread groups", "each is a workload by itself: run one after the other");
                    }
                    self.groups(below, &scope)?;
                }
                "ThreadGroup" => self.group(node, below, &scope)?,
                tag if tag.ends_with("ThreadGroup") => {
                    self.imported.lost.add(node.title(), "it is another kind of thread group than the plain one");
                }
                tag if is_of_scope(tag) || LEFT_ALONE.contains(&tag) => {}
                _ => self.unknown(node),
            }
        }
        Ok(())
    }

    /// What holds at a place: what holds around it, and the elements that stand here.
    fn scope(&mut self, tree: Option<&'x Node>, around: &Scope<'x>) -> Result<Scope<'x>, Problems> {
        let mut scope = around.clone();
        for (node, below) in pairs(tree) {
            match node.tag.as_str() {
                "ConfigTestElement" if node.attribute("guiclass").is_some_and(|gui| gui.contains("Http")) => scope.defaults.insert(0, node),
                "HeaderManager" => {
                    for header in node.property("HeaderManager.headers").into_iter().flat_map(|all| &all.children) {
                        let (name, value) = (header.said("Header.name").to_owned(), header.said("Header.value").to_owned());
                        scope.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
                        scope.headers.push((name, value));
                    }
                }
                "Arguments" => {
                    for argument in arguments(node, "") {
                        self.texts.define(argument.said("Argument.name"), argument.said("Argument.value"));
                    }
                }
                "CSVDataSet" => self.table(node)?,
                "CounterConfig" => self.counter(node),
                "RandomVariableConfig" => self.random(node),
                tag if checks::is_one(tag) => scope.checks.push(node),
                tag if timers::is_one(tag) => scope.timers.push(node),
                _ => continue,
            }
            if pairs(below).next().is_some() {
                self.imported.lost.add(format!("what hangs below {}", node.title()), "nothing does as a rule");
            }
        }
        Ok(scope)
    }

    fn unknown(&mut self, node: &Node) {
        let why = match node.tag.as_str() {
            "CookieManager" => "a workload keeps no cookies: take them with captures, and send them as a header",
            "CacheManager" => "every request is made",
            "AuthManager" => "write the header `authorization`",
            tag if tag.starts_with("JSR223") || tag.starts_with("BeanShell") => "scripts are not run",
            tag if tag.ends_with("Controller") => "which of its requests are made is not known beforehand",
            tag if tag.ends_with("Sampler") || tag.ends_with("SamplerProxy") => "it makes no HTTP request",
            tag if tag.ends_with("Extractor") || tag.ends_with("PostProcessor") => "captures are JSON pointers, headers and patterns",
            tag if tag.ends_with("Assertion") => "answers are checked by status, headers, bytes, JSON and patterns",
            _ => "a workload has nothing like it",
        };
        self.imported.lost.add(node.title(), why);
    }

    /// A thread group: users, and what they ask.
    fn group(&mut self, node: &'x Node, below: Option<&'x Node>, around: &Scope<'x>) -> Result<(), Problems> {
        let (data, tables) = (self.data.clone(), self.tables.clone());
        let mut group = Group::default();
        self.texts.forget();
        self.requests(below, around, &mut group)?;
        self.data.append(&mut self.texts.made);
        let (all_data, all_tables) = (std::mem::replace(&mut self.data, data), std::mem::replace(&mut self.tables, tables));
        let (server, steps) = one_server(std::mem::take(&mut group.steps), &mut self.imported.lost);
        if steps.is_empty() {
            self.imported.lost.add(node.title(), "it makes no HTTP request that can be carried over");
            return Ok(());
        }
        let pause = timers::pause(&group.pauses, &mut self.imported);
        let inner = node.property("ThreadGroup.main_controller");
        let loops = inner.map_or("1", |inner| inner.said("LoopController.loops"));
        let users = self.texts.number(node.said("ThreadGroup.num_threads"), "the number of threads", 1.0..=1e6, &mut self.imported);
        let ramp = self.texts.number(node.said("ThreadGroup.ramp_time"), "the ramp-up", 0.0..=1e6, &mut self.imported);
        let forever = inner.is_some_and(|inner| inner.flag("LoopController.continue_forever")) && loops.trim().is_empty();
        let rounds = match loops.trim() {
            "-1" => None,
            _ if forever => None,
            loops => Some(self.texts.number(loops, "the number of loops", 1.0..=1e15, &mut self.imported).unwrap_or(1.0) as u64),
        };
        let seconds = |s: f64| Duration::from_millis((s * 1e3) as u64);
        let load = Load::Users { users: users.unwrap_or(1.0) as u32, ramp: seconds(ramp.unwrap_or(0.0)), pause, rounds, pooled: None };
        let mut part = Part::new(steps, load);
        if node.flag("ThreadGroup.scheduler") {
            part.duration =
                self.texts.number(node.said("ThreadGroup.duration"), "the duration", 0.001..=1e6, &mut self.imported).map(seconds);
            let delay = node.said("ThreadGroup.delay").trim();
            if !delay.is_empty() && delay != "0" {
                self.imported.lost.add(format!("the start-up delay of {}", node.title()), "a load begins at once");
            }
        }
        if let "stopthread" | "stoptest" | "stoptestnow" = node.said("ThreadGroup.on_sample_error") {
            self.imported.lost.add(format!("that an error ends users of {}", node.title()), "users go on");
        }
        part.server = server.filter(|server| !server.is_empty());
        part.timeout = if group.unbounded { Some(TIMEOUT) } else { group.timeout };
        if group.unbounded {
            self.imported.taken.add("the timeout", "JMeter waits for an answer without end where the plan says nothing; here it is 5 min");
        }
        part.flags.extend(group.closes.then_some("--close"));
        if group.closes {
            self.imported.taken.add(
                "a connection for each request",
                "an experiment has that as a property of the system's protocol; `faceoff load` has --close",
            );
        }
        part.parameters = group.parameters;
        part.workload.summary = format!(
            "what {} of a JMeter plan asks",
            node.attribute("testname").filter(|name| !name.is_empty()).unwrap_or("a thread group")
        );
        let used: BTreeSet<String> = used(&part.workload.steps);
        part.workload.data = all_data.into_iter().filter(|data| data.names().iter().any(|name| used.contains(name))).collect();
        part.tables = all_tables.into_iter().filter(|(name, _)| part.workload.data.iter().any(|data| data.name == *name)).collect();
        self.imported.parts.push(part);
        Ok(())
    }

    /// The requests of a group or a controller, in order.
    fn requests(&mut self, tree: Option<&'x Node>, around: &Scope<'x>, group: &mut Group) -> Result<(), Problems> {
        if self.left == 0 || group.steps.len() > super::MOST_STEPS {
            self.imported.lost.add("some rounds of loops", "they are more than a workload is given steps");
            return Ok(());
        }
        self.left -= 1;
        let scope = self.scope(tree, around)?;
        for (node, below) in pairs(tree) {
            match node.tag.as_str() {
                "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => {
                    let mut own = self.scope(below, &scope)?;
                    for (inner, _) in
                        pairs(below).filter(|(inner, _)| !is_of_scope(&inner.tag) && !LEFT_ALONE.contains(&inner.tag.as_str()))
                    {
                        self.unknown(inner);
                    }
                    let pause = self.timers(&std::mem::take(&mut own.timers));
                    if self.sampler(node, &own, group) {
                        group.pauses.push(pause);
                    }
                }
                "LoopController" => {
                    let rounds = self.texts.number(
                        node.said("LoopController.loops"),
                        "the rounds of a loop",
                        1.0..=MOST_ROUNDS as f64,
                        &mut self.imported,
                    );
                    for _ in 0..rounds.unwrap_or(1.0) as u64 {
                        self.requests(below, &scope, group)?;
                    }
                }
                tag if IN_ORDER.contains(&tag) => self.requests(below, &scope, group)?,
                tag if is_of_scope(tag) || LEFT_ALONE.contains(&tag) => {}
                _ => self.unknown(node),
            }
        }
        Ok(())
    }

    /// A table of values beside the plan.
    fn table(&mut self, node: &'x Node) -> Result<(), Problems> {
        let name = self.texts.fixed(node.said("filename"), &mut self.imported).unwrap_or_default();
        let unreadable = |why: String| {
            Problems::plain(
                format!("the table `{name}` of the plan cannot be read: {why}"),
                "put it beside the plan, as a CSV file in UTF-8",
            )
        };
        // Somebody else's plan is not to have a file of this machine copied into what is written.
        let (path, folder) = (self.folder.join(&name).canonicalize(), self.folder.canonicalize());
        let (path, folder) = path.and_then(|path| Ok((path, folder?))).map_err(|e| unreadable(e.to_string()))?;
        if !path.starts_with(&folder) {
            return Err(unreadable("it is not beside the plan, nor below".into()));
        }
        let text = text_of(&path).map_err(|e| unreadable(e.to_string()))?;
        let delimiter = match self.texts.fixed(node.said("delimiter"), &mut self.imported).as_deref() {
            Some("\\t" | "\t") => b'\t',
            Some(text) if text.len() == 1 => text.as_bytes()[0],
            _ => b',',
        };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .quoting(node.flag("quotedData"))
            .from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for row in reader.records().take(MOST_ROWS + 1) {
            rows.push(row.map_err(|e| unreadable(e.to_string()))?.iter().map(str::to_owned).collect::<Vec<_>>());
        }
        let named = node.said("variableNames").trim();
        let columns: Vec<String> = match named {
            "" if rows.is_empty() => Vec::new(),
            "" => rows.remove(0),
            named => named.split(',').map(|column| column.trim().to_owned()).collect(),
        };
        if !named.is_empty() && node.flag("ignoreFirstLine") && !rows.is_empty() {
            rows.remove(0);
        }
        if rows.len() > MOST_ROWS {
            rows.truncate(MOST_ROWS);
            self.imported.lost.add(format!("what follows {MOST_ROWS} rows of {name}"), "a table is not taken longer");
        }
        if columns.is_empty() || rows.is_empty() {
            return Err(unreadable("it has no rows".into()));
        }
        if node.said("recycle") == "false" {
            self.imported.lost.add(format!("that the rows of {name} end"), "rows come anew from the first");
        }
        let stem = Path::new(&name).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let value = self.names.new_name(&stem);
        let mut unique = Names::default();
        let safe: Vec<String> = columns.iter().map(|column| unique.new_name(column)).collect();
        for (column, safe) in columns.iter().zip(&safe) {
            self.texts.value(column.trim(), &format!("{value}.{safe}"));
        }
        for row in &mut rows {
            row.resize(safe.len(), String::new());
        }
        let mut writer = csv::Writer::from_writer(Vec::new());
        let wrote = std::iter::once(&safe).chain(&rows).try_for_each(|row| writer.write_record(row));
        let bytes =
            wrote.map_err(|e| unreadable(e.to_string())).and_then(|()| writer.into_inner().map_err(|e| unreadable(e.to_string())))?;
        self.tables.insert(value.clone(), String::from_utf8_lossy(&bytes).into_owned());
        self.data.push(Data { name: value, values: Values::Rows { columns: safe, rows, at_random: false } });
        Ok(())
    }

    fn counter(&mut self, node: &Node) {
        let wish = node.said("CounterConfig.name").trim().to_owned();
        let from =
            self.texts.number(node.said("CounterConfig.start"), "the start of a counter", 0.0..=1e15, &mut self.imported).unwrap_or(0.0);
        let step =
            self.texts.number(node.said("CounterConfig.incr"), "the step of a counter", 1.0..=1e9, &mut self.imported).unwrap_or(1.0);
        if !node.said("CounterConfig.end").trim().is_empty() {
            self.imported.lost.add(format!("the end of the counter {wish}"), "a counter goes on");
        }
        if node.flag("CounterConfig.per_user") {
            self.imported.lost.add(format!("that each user has the counter {wish}"), "one counts for all; `${round}` counts for each");
        }
        let values = Values::Counter { from: from as u64, step: step as u64 };
        self.drawn(&wish, values);
    }

    fn random(&mut self, node: &Node) {
        let wish = node.said("variableName").trim().to_owned();
        let from =
            self.texts.number(node.said("minimumValue"), "the least of a random number", 0.0..=1e15, &mut self.imported).unwrap_or(0.0);
        let to = self
            .texts
            .number(node.said("maximumValue"), "the greatest of a random number", from..=1e15, &mut self.imported)
            .unwrap_or(from);
        if !node.said("outputFormat").trim().is_empty() {
            self.imported.lost.add(format!("the format of {wish}"), "a number is written plainly");
        }
        self.drawn(&wish, Values::Number { from: from as u64, to: to as u64 });
    }

    fn drawn(&mut self, wish: &str, values: Values) {
        let name = self.names.new_name(wish);
        self.texts.value(wish, &name);
        self.data.push(Data { name, values });
    }
}

/// Whether an element holds for others, and makes no request.
fn is_of_scope(tag: &str) -> bool {
    ["ConfigTestElement", "HeaderManager", "Arguments", "CSVDataSet", "CounterConfig", "RandomVariableConfig"].contains(&tag)
        || checks::is_one(tag)
        || timers::is_one(tag)
}

/// The names that steps use.
fn used(steps: &[Step]) -> BTreeSet<String> {
    use model::workload::{Body, BodyCheck, Wanted};
    let templates = steps.iter().flat_map(|step| {
        let body = if let Body::Text(text) = &step.body { Some(text) } else { None };
        let right = if let BodyCheck::Text(text) = &step.answer.body { Some(text) } else { None };
        let places =
            step.answer.pointers.iter().filter_map(|(_, wanted)| if let Wanted::Spelling(text) = wanted { Some(text) } else { None });
        std::iter::once(&step.path).chain(step.headers.iter().map(|(_, value)| value)).chain(body).chain(right).chain(places)
    });
    templates.flat_map(|template| template.names().map(str::to_owned)).collect()
}
