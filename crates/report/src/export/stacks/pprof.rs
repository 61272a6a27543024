//! pprof's format, `profile.proto` compressed with gzip:
//! <https://github.com/google/pprof/blob/main/proto/profile.proto>.
//!
//! All contenders and cells are in one profile. Each sample has the labels `contender`, `cell` and
//! `thread`, so that `pprof -tagfocus=contender=NAME` shows one of them. Start with [`pprof`].

use super::chosen;
use super::protobuf::Message;
use crate::export::source::Source;
use crate::stacks::{Merged, MergedStack, NamedFrame};
use flate2::Compression;
use flate2::write::GzEncoder;
use spec::problem::Problems;
use std::collections::HashMap;
use std::io::Write;

/// Writes the stacks for pprof.
///
/// # Errors
/// There is no profile.
pub fn pprof(source: &Source<'_>) -> Result<Vec<u8>, Problems> {
    let all = chosen(source)?;
    let mut writer = Writer::default();
    let samples = writer.value_type("samples", "count");
    let cpu = writer.value_type("cpu", "nanoseconds");
    writer.profile.message(1, samples);
    writer.profile.message(1, cpu);
    for merged in &all {
        for stack in merged.stacks.iter().filter(|stack| stack.samples > 0) {
            writer.sample(merged, stack);
        }
    }
    let header = &source.record.header;
    let comment = format!(
        "faceoff {}, experiment {}, record {}",
        header.faceoff, header.experiment.name, header.id
    );
    let period_ns = all.first().map_or(0, |merged| merged.period_ns);
    let bytes = writer.finish(period_ns, &comment);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&bytes).expect("memory can be written");
    Ok(gzip.finish().expect("memory can be written"))
}

/// A profile that is being written. Numbers of mappings, functions and locations begin at 1.
#[derive(Default)]
struct Writer<'a> {
    profile: Message,
    texts: Texts,
    mappings: HashMap<&'a str, u64>,
    locations: HashMap<&'a NamedFrame, u64>,
}

impl<'a> Writer<'a> {
    /// `ValueType`: what a number of a sample is.
    fn value_type(&mut self, kind: &str, unit: &str) -> Message {
        let mut message = Message::default();
        message.number(1, self.texts.index(kind));
        message.number(2, self.texts.index(unit));
        message
    }

    /// `Sample`: its locations from the innermost outwards, its values and labels.
    fn sample(&mut self, merged: &'a Merged<'_>, stack: &MergedStack) {
        let inwards = stack.frames.iter().rev();
        let locations: Vec<u64> =
            inwards.map(|at| self.location(&merged.frames[*at as usize])).collect();
        let mut sample = Message::default();
        sample.numbers(1, locations);
        sample.numbers(2, [stack.samples, stack.ns].map(|value| value.min(i64::MAX as u64)));
        let contender = merged.contender.to_string();
        for (key, value) in
            [("contender", &contender as &str), ("cell", merged.cell), ("thread", &stack.thread)]
        {
            let mut label = Message::default();
            label.number(1, self.texts.index(key));
            label.number(2, self.texts.index(value));
            sample.message(3, label);
        }
        self.profile.message(2, sample);
    }

    /// Returns the number of a frame's location. Writes it with its function when it is new.
    fn location(&mut self, frame: &'a NamedFrame) -> u64 {
        if let Some(known) = self.locations.get(frame) {
            return *known;
        }
        let mapping = self.mapping(&frame.module);
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(frame, id);
        let name = self.texts.index(&frame.name);
        let mut function = Message::default();
        function.number(1, id);
        function.number(2, name);
        function.number(3, name);
        function.number(4, self.texts.index(&frame.module));
        let mut line = Message::default();
        line.number(1, id);
        let mut location = Message::default();
        location.number(1, id);
        location.number(2, mapping);
        location.message(4, line);
        self.profile.message(5, function);
        self.profile.message(4, location);
        id
    }

    /// Returns the number of a module's mapping. Writes it when it is new.
    fn mapping(&mut self, module: &'a str) -> u64 {
        if let Some(known) = self.mappings.get(module) {
            return *known;
        }
        let id = self.mappings.len() as u64 + 1;
        self.mappings.insert(module, id);
        let mut mapping = Message::default();
        mapping.number(1, id);
        mapping.number(5, self.texts.index(module));
        // Functions are known: pprof need not look for symbols.
        mapping.number(7, 1);
        self.profile.message(3, mapping);
        id
    }

    fn finish(mut self, period_ns: u64, comment: &str) -> Vec<u8> {
        let period_type = self.value_type("cpu", "nanoseconds");
        self.profile.message(11, period_type);
        self.profile.number(12, period_ns.min(i64::MAX as u64));
        self.profile.numbers(13, [self.texts.index(comment)]);
        self.profile.number(14, self.texts.index("cpu"));
        for text in &self.texts.list {
            self.profile.text(6, text);
        }
        self.profile.into_bytes()
    }
}

/// The texts of a profile, each once. The first one is empty.
struct Texts {
    list: Vec<String>,
    places: HashMap<String, u64>,
}

impl Default for Texts {
    fn default() -> Texts {
        Texts { list: vec![String::new()], places: HashMap::from([(String::new(), 0)]) }
    }
}

impl Texts {
    fn index(&mut self, text: &str) -> u64 {
        if let Some(known) = self.places.get(text) {
            return *known;
        }
        let at = self.list.len() as u64;
        self.list.push(text.to_owned());
        self.places.insert(text.to_owned(), at);
        at
    }
}
