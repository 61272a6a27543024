//! The processed format of the Firefox Profiler, version 48, which <https://profiler.firefox.com>
//! reads and converts to its newest version.
//!
//! Each contender and cell is a process, and each thread name one of its threads. The record has
//! the number of samples of each stack and not their instants, so equal samples lie together on the
//! time axis. Start with [`firefox`].

use super::chosen;
use crate::export::source::Source;
use crate::stacks::{Merged, MergedStack};
use record::FrameKind;
use serde_json::{Value, json};
use spec::problem::Problems;
use std::collections::{BTreeMap, HashMap};

/// The version of the processed format.
const VERSION: u32 = 48;
/// Kinds of code with their colours, in the order of [`category`].
const CATEGORIES: [(&str, &str); 4] =
    [("Kernel", "orange"), ("Native", "blue"), ("Compiled", "green"), ("Interpreted", "yellow")];

fn category(kind: FrameKind) -> usize {
    match kind {
        FrameKind::Kernel => 0,
        FrameKind::Native => 1,
        FrameKind::Compiled => 2,
        FrameKind::Interpreted => 3,
    }
}

/// Writes the stacks as JSON for the Firefox Profiler.
///
/// # Errors
/// There is no profile.
pub fn firefox(source: &Source<'_>) -> Result<String, Problems> {
    let all = chosen(source)?;
    let mut threads = Vec::new();
    for (process, merged) in all.iter().enumerate() {
        let mut by_thread: BTreeMap<&str, Vec<&MergedStack>> = BTreeMap::new();
        for stack in merged.stacks.iter().filter(|stack| stack.samples > 0) {
            by_thread.entry(&stack.thread).or_default().push(stack);
        }
        for (number, (name, stacks)) in by_thread.into_iter().enumerate() {
            threads.push(thread(merged, process + 1, number, name, &stacks));
        }
    }
    let header = &source.record.header;
    let categories: Vec<Value> = CATEGORIES
        .iter()
        .map(|(name, color)| json!({ "name": name, "color": color, "subcategories": ["Other"] }))
        .collect();
    let file = json!({
        "meta": {
            "interval": all.first().map_or(1.0, |merged| merged.period_ns as f64 / 1e6),
            "startTime": 0,
            "processType": 0,
            "product": format!("faceoff {}", header.experiment.name),
            "importedFrom": format!("faceoff {}", header.faceoff),
            "stackwalk": 1,
            "debug": false,
            "version": 27,
            "preprocessedProfileVersion": VERSION,
            "symbolicated": true,
            "categories": categories,
            "markerSchema": [],
            "extensions": { "length": 0, "id": [], "name": [], "baseURL": [] },
            "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns" },
        },
        "libs": [],
        "pages": [],
        "threads": threads,
    });
    Ok(file.to_string() + "\n")
}

/// The tables of one thread, which are columns of equal length.
#[derive(Default)]
struct Tables {
    strings: Vec<String>,
    string_places: HashMap<String, usize>,
    /// For each function, its name and module as strings, and its category.
    functions: Vec<(usize, usize, usize)>,
    function_places: HashMap<u32, usize>,
    /// For each stack, the one that it extends, and its function.
    stacks: Vec<(Option<usize>, usize)>,
    stack_places: HashMap<(Option<usize>, usize), usize>,
}

impl Tables {
    fn string(&mut self, text: &str) -> usize {
        if let Some(known) = self.string_places.get(text) {
            return *known;
        }
        self.strings.push(text.to_owned());
        self.string_places.insert(text.to_owned(), self.strings.len() - 1);
        self.strings.len() - 1
    }

    fn function(&mut self, merged: &Merged<'_>, at: u32) -> usize {
        if let Some(known) = self.function_places.get(&at) {
            return *known;
        }
        let frame = &merged.frames[at as usize];
        let function = (self.string(&frame.name), self.string(&frame.module), category(frame.kind));
        self.functions.push(function);
        self.function_places.insert(at, self.functions.len() - 1);
        self.functions.len() - 1
    }

    /// Returns the stack that extends another one by a function.
    fn stack(&mut self, prefix: Option<usize>, function: usize) -> usize {
        let places = self.stacks.len();
        let place = *self.stack_places.entry((prefix, function)).or_insert(places);
        if place == places {
            self.stacks.push((prefix, function));
        }
        place
    }

    /// Returns the tables as objects of columns.
    fn into_columns(self) -> [(&'static str, Value); 4] {
        let functions = self.functions.len();
        let nothing = vec![Value::Null; functions];
        let of_functions = |part: fn(&(usize, usize, usize)) -> usize| -> Vec<usize> {
            self.functions.iter().map(part).collect()
        };
        let of_stack = |(_, function): &(Option<usize>, usize)| self.functions[*function].2;
        let stacks = json!({
            "length": self.stacks.len(),
            "prefix": self.stacks.iter().map(|(prefix, _)| *prefix).collect::<Vec<_>>(),
            "frame": self.stacks.iter().map(|(_, function)| *function).collect::<Vec<_>>(),
            "category": self.stacks.iter().map(of_stack).collect::<Vec<_>>(),
            "subcategory": vec![0; self.stacks.len()],
        });
        let frames = json!({
            "length": functions,
            "address": vec![-1; functions],
            "inlineDepth": vec![0; functions],
            "category": of_functions(|function| function.2),
            "subcategory": vec![0; functions],
            "func": (0..functions).collect::<Vec<_>>(),
            "nativeSymbol": nothing,
            "innerWindowID": nothing,
            "implementation": nothing,
            "line": nothing,
            "column": nothing,
        });
        let names = json!({
            "length": functions,
            "name": of_functions(|function| function.0),
            "isJS": vec![false; functions],
            "relevantForJS": vec![false; functions],
            "resource": vec![-1; functions],
            "fileName": of_functions(|function| function.1),
            "lineNumber": nothing,
            "columnNumber": nothing,
        });
        [
            ("stackTable", stacks),
            ("frameTable", frames),
            ("funcTable", names),
            ("stringArray", json!(self.strings)),
        ]
    }
}

/// A thread with its samples. Functions and frames are the same here, one for each name.
fn thread(
    merged: &Merged<'_>,
    process: usize,
    number: usize,
    name: &str,
    stacks: &[&MergedStack],
) -> Value {
    let mut tables = Tables::default();
    let (mut stack_of, mut times, mut weights, mut now_ns) = (vec![], vec![], vec![], 0u64);
    for stack in stacks {
        let mut place = None;
        for at in &stack.frames {
            let function = tables.function(merged, *at);
            place = Some(tables.stack(place, function));
        }
        stack_of.push(place);
        times.push(now_ns as f64 / 1e6);
        weights.push(stack.samples);
        now_ns = now_ns.saturating_add(stack.ns);
    }
    let mut thread = json!({
        "name": name,
        "processName": merged.title(),
        "processType": "default",
        "isMainThread": number == 0,
        "pid": process.to_string(),
        "tid": format!("{process}.{number}"),
        "processStartupTime": 0,
        "processShutdownTime": null,
        "registerTime": 0,
        "unregisterTime": null,
        "pausedRanges": [],
        "samples": {
            "length": stack_of.len(),
            "stack": stack_of,
            "time": times,
            "weight": weights,
            "weightType": "samples",
        },
        "resourceTable": { "length": 0, "lib": [], "name": [], "host": [], "type": [] },
        "nativeSymbols": {
            "length": 0, "libIndex": [], "address": [], "name": [], "functionSize": [],
        },
        "markers": {
            "length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [],
            "startTime": [],
        },
    });
    for (name, table) in tables.into_columns() {
        thread[name] = table;
    }
    thread
}
