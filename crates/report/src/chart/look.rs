//! The look of each name in a picture: a colour, a mark and a dash, so that names differ without
//! colour as well. The report uses the same (`web/src/identity.tsx`).

use super::canvas::{INK, MUTED};
use std::collections::BTreeMap;

const COLOURS: [&str; 7] =
    ["#2660d8", "#e0713a", "#04604c", "#b5348b", "#756708", "#2495d4", "#5b0382"];
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];
/// Marks, each of which fits a circle of radius 5; the first is the baseline's.
const SHAPES: [&str; 6] = [
    "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z",
    "M-4,-4h8v8h-8z",
    "M0,-5L5,4H-5z",
    "M0,-5.5L5.5,0L0,5.5L-5.5,0z",
    "M0,5L5,-4H-5z",
    "M-1.6,-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
];

/// The look of one name everywhere in a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    /// The colour of lines and marks.
    pub colour: &'static str,
    /// The path of its marks.
    pub shape: &'static str,
    /// The dashes of its lines; empty for none.
    pub dash: &'static str,
    /// The width of its lines.
    pub width: f64,
}

const BASELINE: Look = Look { colour: INK, shape: SHAPES[0], dash: "", width: 2.6 };
const UNKNOWN: Look = Look { colour: MUTED, shape: SHAPES[0], dash: "2 2", width: 1.9 };

/// The look of every name.
pub(crate) struct Looks(BTreeMap<String, Look>);

impl Looks {
    /// Gives the baseline the colour of ink, and the other names the colours in their order.
    pub(crate) fn of_names(names: impl Iterator<Item = String>, baseline: Option<&str>) -> Looks {
        let mut looks = BTreeMap::new();
        let mut place = 0;
        for name in names {
            if looks.contains_key(&name) {
                continue;
            }
            let look = if Some(name.as_str()) == baseline {
                BASELINE
            } else {
                place += 1;
                let at = place - 1;
                let dash = DASHES[at / COLOURS.len() % DASHES.len()];
                Look {
                    colour: COLOURS[at % COLOURS.len()],
                    shape: SHAPES[at % (SHAPES.len() - 1) + 1],
                    dash,
                    width: 1.9,
                }
            };
            looks.insert(name, look);
        }
        Looks(looks)
    }

    /// Gives each name the look that is given for it.
    pub(crate) fn chosen(looks: impl Iterator<Item = (String, Look)>) -> Looks {
        Looks(looks.collect())
    }

    /// Returns the look of a name; of an unknown one a dashed grey.
    pub(crate) fn get(&self, name: &str) -> Look {
        self.0.get(name).copied().unwrap_or(UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_own_look_also_without_colour() {
        let names = || (0..20).map(|i| format!("c{i:02}"));
        let looks = Looks::of_names(names().chain(names()), Some("c03"));
        assert_eq!(
            (looks.0.len(), looks.get("c03"), looks.get("unknown")),
            (20, BASELINE, UNKNOWN)
        );
        let all: Vec<Look> = names().map(|name| looks.get(&name)).collect();
        let seen = |tells: fn(&Look) -> (&str, &str)| {
            all.iter().map(tells).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!(seen(|look| (look.colour, look.shape)), 20);
        // Five shapes, and a dash for every seven.
        assert!(seen(|look| (look.shape, look.dash)) >= 14);
    }
}
