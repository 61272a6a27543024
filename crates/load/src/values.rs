//! Values that vary from request to request, and texts that contain them.
//!
//! [`Names`] gives each value of a workload an index. [`Vars`] holds the current values of one
//! user. A [`Text`] is a list of fixed pieces and indexes. [`Draws`] fills in new values for each
//! pass over the steps.

use crate::schedule::uniform;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use spec::data::{Data, Values};
use spec::template::{Part, Template};
use spec::workload::{BUILT_IN, Body, BodyCheck, Step, Wanted, Workload};
use std::io::Write;

/// The characters of generated texts. There are 64, so six random bits choose one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The values of one user in the current pass over the steps.
#[derive(Clone, Debug, Default)]
pub struct Vars {
    values: Vec<Vec<u8>>,
    rounds: u64,
}

impl Vars {
    pub(crate) fn set(&mut self, at: usize, value: &[u8]) {
        self.values[at].clear();
        self.values[at].extend_from_slice(value);
    }
}

/// The names of the values that a workload uses. Each has an index in [`Vars`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Vec<String>);

impl Names {
    /// Collects the names that the steps use or capture.
    pub fn of_steps(steps: &[Step]) -> Names {
        let mut names = Names::default();
        for step in steps {
            let answer = &step.answer;
            let in_headers =
                step.headers.iter().chain(&answer.headers).map(|(_, template)| template);
            let in_bodies = match (&step.body, &answer.body) {
                (Body::Text(sent), BodyCheck::Text(expected)) => vec![sent, expected],
                (Body::Text(text), _) | (_, BodyCheck::Text(text)) => vec![text],
                _ => vec![],
            };
            let in_pointers = answer.pointers.iter().filter_map(|(_, wanted)| match wanted {
                Wanted::Spelling(template) => Some(template),
                Wanted::Value(_) | Wanted::Present => None,
            });
            let templates =
                std::iter::once(&step.path).chain(in_headers).chain(in_bodies).chain(in_pointers);
            let captured = step.captures.iter().map(|capture| capture.name.as_str());
            for name in templates.flat_map(Template::names).chain(captured) {
                if names.find(name).is_none() {
                    names.0.push(name.to_owned());
                }
            }
        }
        names
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|known| known == name)
    }

    /// Returns the index of a name that the workload uses.
    pub fn place(&self, name: &str) -> usize {
        self.find(name).expect("every name of the workload was collected")
    }
}

/// A text that may contain values of [`Vars`].
#[derive(Clone, Debug)]
pub(crate) struct Text(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Fixed(Vec<u8>),
    Value(usize),
}

impl Text {
    pub fn new(template: &Template, names: &Names) -> Text {
        let piece = |part: &Part| match part {
            Part::Text(text) => Piece::Fixed(text.clone().into_bytes()),
            Part::Value(name) => Piece::Value(names.place(name)),
        };
        Text(template.parts.iter().map(piece).collect())
    }

    pub fn varies(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Value(_)))
    }

    fn pieces<'a>(&'a self, vars: &'a Vars) -> impl Iterator<Item = (&'a [u8], bool)> {
        self.0.iter().map(|piece| match piece {
            Piece::Fixed(bytes) => (&bytes[..], false),
            Piece::Value(at) => (&vars.values[*at][..], true),
        })
    }

    /// Returns the length in bytes, without any escaping.
    pub fn len(&self, vars: &Vars) -> usize {
        self.pieces(vars).map(|(bytes, _)| bytes.len()).sum()
    }

    pub fn write(&self, vars: &Vars, out: &mut Vec<u8>) {
        self.pieces(vars).for_each(|(bytes, _)| out.extend_from_slice(bytes));
    }

    /// Writes the text as part of a path. Characters of values that a path cannot contain are
    /// percent-encoded.
    pub fn write_in_path(&self, vars: &Vars, out: &mut Vec<u8>) {
        for (bytes, is_value) in self.pieces(vars) {
            for &byte in bytes {
                if is_value && !byte.is_ascii_graphic() {
                    let hex = |digit: u8| b"0123456789ABCDEF"[usize::from(digit)];
                    out.extend_from_slice(&[b'%', hex(byte >> 4), hex(byte & 15)]);
                } else {
                    out.push(byte);
                }
            }
        }
    }

    /// Writes the text as the value of a header. Control characters of values become spaces.
    pub fn write_in_header(&self, vars: &Vars, out: &mut Vec<u8>) {
        for (bytes, is_value) in self.pieces(vars) {
            out.extend(
                bytes
                    .iter()
                    .map(|&byte| if is_value && byte.is_ascii_control() { b' ' } else { byte }),
            );
        }
    }

    /// Whether the text contains these bytes at a position.
    pub fn has_at(&self, vars: &Vars, mut at: usize, mut bytes: &[u8]) -> bool {
        for (piece, _) in self.pieces(vars) {
            if let Some(rest) = piece.get(at..).filter(|rest| !rest.is_empty()) {
                let length = rest.len().min(bytes.len());
                if rest[..length] != bytes[..length] {
                    return false;
                }
                (at, bytes) = (0, &bytes[length..]);
            } else {
                at -= piece.len();
            }
            if bytes.is_empty() {
                return true;
            }
        }
        bytes.is_empty()
    }
}

/// The sources of the values that a pass over the steps draws.
pub(crate) struct Draws {
    names: Names,
    built_in: [Option<usize>; BUILT_IN.len()],
    draws: Vec<(Draw, Values)>,
    random: ChaCha8Rng,
    /// Passes started by this thread. It takes the numbers `thread`, `thread + threads`, and so on.
    passes: u64,
    thread: u64,
    threads: u64,
}

/// The indexes of values that are drawn together. Rows have one for each column.
type Draw = Vec<Option<usize>>;

impl Draws {
    pub fn new(workload: &Workload, names: &Names, seed: u64, thread: u32, threads: u32) -> Draws {
        let places =
            |data: &Data| data.names().iter().map(|name| names.find(name)).collect::<Draw>();
        let used = workload
            .data
            .iter()
            .map(|data| (places(data), data))
            .filter(|(places, _)| places.iter().any(Option::is_some));
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // Each thread has its own random stream, separate from those of schedules and pauses.
        random.set_stream(2 << 32 | u64::from(thread));
        Draws {
            built_in: BUILT_IN.map(|name| names.find(name)),
            draws: used.map(|(places, data)| (places, data.values.clone())).collect(),
            names: names.clone(),
            random,
            passes: 0,
            thread: thread.into(),
            threads: threads.into(),
        }
    }

    /// Returns the variables of a new user.
    pub fn vars(&self) -> Vars {
        Vars { values: vec![Vec::new(); self.names.0.len()], rounds: 0 }
    }

    /// Draws the values for one pass over the steps.
    pub fn draw(&mut self, vars: &mut Vars, user: u32) {
        if vars.values.is_empty() {
            return;
        }
        for (place, number) in self.built_in.iter().zip([u64::from(user), vars.rounds]) {
            if let Some(place) = *place {
                spell(number, &mut vars.values[place]);
            }
        }
        vars.rounds += 1;
        let number = self.thread + self.passes * self.threads;
        self.passes += 1;
        for (places, values) in &self.draws {
            let random = &mut self.random;
            let mut among = |count: u64| (uniform(random) * count as f64) as u64;
            if let Values::Rows { rows, at_random, .. } = values {
                let count = rows.len() as u64;
                let row = &rows[if *at_random { among(count) } else { number % count } as usize];
                for (place, value) in places.iter().zip(row) {
                    if let Some(place) = *place {
                        vars.set(place, value.as_bytes());
                    }
                }
                continue;
            }
            let value = &mut vars.values[places[0].expect("only what is used is drawn")];
            match values {
                Values::Counter { from, step } => {
                    spell(from.wrapping_add(step.wrapping_mul(number)), value)
                }
                Values::Number { from, to } => {
                    let choice = among((to - from).saturating_add(1));
                    spell(from + choice.min(to - from), value);
                }
                Values::Choice(texts) => {
                    value.clear();
                    value.extend_from_slice(texts[among(texts.len() as u64) as usize].as_bytes());
                }
                Values::Text(size) => {
                    value.resize(*size, 0);
                    random.fill_bytes(value);
                    value.iter_mut().for_each(|byte| *byte = LETTERS[usize::from(*byte & 63)]);
                }
                Values::Rows { .. } => {}
            }
        }
    }
}

fn spell(number: u64, value: &mut Vec<u8>) {
    value.clear();
    // Writing to memory does not fail.
    let _ = write!(value, "{number}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn workload(data: Vec<Data>, path: &str) -> Workload {
        let step = Step { path: Template::parse(path).unwrap(), ..Step::default() };
        Workload { data, steps: vec![step], ..Workload::default() }
    }

    fn drawn(workload: &Workload, seed: u64, threads: u32, passes: u32) -> Vec<String> {
        let names = Names::of_steps(&workload.steps);
        let text = Text::new(&workload.steps[0].path, &names);
        let mut all = Vec::new();
        for thread in 0..threads {
            let mut draws = Draws::new(workload, &names, seed, thread, threads);
            let mut vars = draws.vars();
            for _ in 0..passes {
                draws.draw(&mut vars, thread);
                let mut out = Vec::new();
                text.write_in_path(&vars, &mut out);
                all.push(String::from_utf8(out).unwrap());
            }
        }
        all
    }

    fn named(values: Values) -> Vec<Data> {
        vec![Data { name: "x".into(), values }]
    }

    #[test]
    fn threads_share_counters_and_rows_in_order() {
        let counter = workload(named(Values::Counter { from: 10, step: 5 }), "/${x}");
        let all: BTreeSet<String> = drawn(&counter, 1, 3, 4).into_iter().collect();
        assert_eq!(all, (0..12).map(|n| format!("/{}", 10 + 5 * n)).collect());
        let table = Values::Rows {
            columns: vec!["a".into(), "b".into()],
            rows: (0..4).map(|n| vec![format!("a {n}"), format!("b{n}")]).collect(),
            at_random: false,
        };
        let all = drawn(&workload(named(table), "/${x.a}-${x.b}?${user}.${round}"), 1, 2, 2);
        assert_eq!(all, ["/a%200-b0?0.0", "/a%202-b2?0.1", "/a%201-b1?1.0", "/a%203-b3?1.1"]);
    }

    #[test]
    fn random_values_depend_on_the_seed() {
        let sources = [
            Values::Number { from: 3, to: 5 },
            Values::Choice(vec!["red".into(), "green".into()]),
            Values::Text(5),
            Values::Rows {
                columns: vec!["c".into()],
                rows: vec![vec!["1".into()], vec!["2".into()]],
                at_random: true,
            },
        ];
        for source in sources {
            let name = if matches!(source, Values::Rows { .. }) { "/${x.c}" } else { "/${x}" };
            let of = |seed| drawn(&workload(named(source.clone()), name), seed, 2, 50);
            assert_eq!(of(7), of(7));
            assert_ne!(of(7), of(8));
            let found: BTreeSet<String> = of(7).into_iter().collect();
            match &source {
                Values::Number { .. } => {
                    assert_eq!(found, ["/3", "/4", "/5"].map(String::from).into())
                }
                Values::Text(_) => {
                    assert!(found.len() == 100 && found.iter().all(|t| t.len() == 6), "{found:?}")
                }
                _ => assert_eq!(found.len(), 2),
            }
        }
    }

    proptest! {
        #[test]
        fn text_comparison_equals_comparing_its_bytes(
            parts in prop::collection::vec(("[ab]{0,4}", any::<bool>()), 0..6), other in "[ab]{0,12}", cut in 0usize..12,
        ) {
            let names = Names((0..parts.len()).map(|n| n.to_string()).collect());
            let piece = |(n, (text, varies)): (usize, &(String, bool))| match varies {
                true => Piece::Value(n),
                false => Piece::Fixed(text.clone().into_bytes()),
            };
            let text = Text(parts.iter().enumerate().map(piece).collect());
            let vars = Vars { values: parts.iter().map(|(text, _)| text.clone().into_bytes()).collect(), rounds: 0 };
            let mut whole = Vec::new();
            text.write(&vars, &mut whole);
            prop_assert_eq!(whole.len(), text.len(&vars));
            prop_assert_eq!(names.0.len(), parts.len());
            for candidate in [&whole[..], other.as_bytes()] {
                let cut = cut.min(candidate.len());
                let same = text.has_at(&vars, 0, &candidate[..cut]) && text.has_at(&vars, cut, &candidate[cut..]);
                prop_assert_eq!(same, whole.starts_with(candidate));
            }
        }
    }
}
