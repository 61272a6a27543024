//! The sentences that explain the difference between two contenders.
//!
//! `proxy-gin uses 3.1 µs more CPU per request than gateway (2.8 µs to 3.4 µs): 1.2 µs in
//! kernel TCP/IP, 0.8 µs in garbage collection (runtime.gcDrain); 1.1 µs is spread over the rest.`
//! Figures are rounded first and then subtracted, so that a reader who adds them up gets the whole.
//! Where responses take longer and CPU time does not explain it, further sentences name the waits.
//! Start with [`sentence`].

use super::costs::BLOCKS_MIN;
use record::judgement::{CauseLine, CpuDifference, WaitsDifference};
use stats::Interval;

/// The most causes that a sentence names.
const CAUSES_MAX: usize = 4;
/// The most functions of a cause that a sentence names.
const FUNCTIONS_MAX: usize = 2;
/// A cause is named if it is at least this part of the largest one.
const PART_MIN: f64 = 0.05;

/// Numbers of a sentence, which have the same number of decimals.
#[derive(Clone, Copy)]
struct Scale {
    decimals: usize,
}

impl Scale {
    /// Shows the largest of some values with two significant digits or more.
    fn for_values(values: impl Iterator<Item = f64>) -> Scale {
        let largest = values.map(f64::abs).fold(0.0, f64::max);
        Scale {
            decimals: match largest {
                v if v >= 100.0 => 0,
                v if v >= 1.0 => 1,
                v if v >= 0.1 => 2,
                _ => 3,
            },
        }
    }

    fn round(self, value: f64) -> f64 {
        let factor = 10f64.powi(self.decimals as i32);
        (value * factor).round() / factor
    }

    /// Shows a size without its sign: `3.1 µs`.
    fn show(self, value: f64) -> String {
        format!("{:.*} µs", self.decimals, self.round(value).abs())
    }

    /// Shows an interval by its ends, the nearer one first, as ratios are shown.
    fn show_interval(self, us: f64, interval: Interval) -> String {
        let Interval { low, high } = interval;
        let (near, far) = if us < 0.0 { (high, low) } else { (low, high) };
        match (near < 0.0) == (far < 0.0) {
            true => format!("{} to {}", self.show(near), self.show(far)),
            false => format!(
                "{} {} to {} {}",
                self.show(near),
                direction(near),
                self.show(far),
                direction(far)
            ),
        }
    }
}

fn direction(us: f64) -> &'static str {
    if us < 0.0 { "less" } else { "more" }
}

/// Explains the difference in plain English.
pub(super) fn sentence(of: &CpuDifference) -> String {
    let waits = of.waits.as_ref().filter(|waits| waits.beyond_cpu);
    let waits = waits.map_or(String::new(), |waits| format!(" {}", sentence_of_waits(of, waits)));
    format!("{}{waits}", sentence_of_cpu(of))
}

/// `proxy-gin takes 900 µs longer to respond than gateway (850 µs to 950 µs), which CPU time does
/// not explain. Per request, its threads wait 700 µs longer for a CPU, 100 µs longer in fsync.`
fn sentence_of_waits(of: &CpuDifference, waits: &WaitsDifference) -> String {
    let CpuDifference { contender, baseline, .. } = of;
    let response = &waits.response;
    let is_along = |line: &&CauseLine| line.holds && (line.us < 0.0) == (response.us < 0.0);
    let least = PART_MIN * response.us.abs();
    let lines = waits.lines.iter().filter(is_along).filter(|line| line.us.abs() >= least);
    let lines: Vec<&CauseLine> = lines.take(CAUSES_MAX).collect();
    let values = lines.iter().map(|line| line.us).chain([response.us]);
    let scale = Scale::for_values(values);
    let longer = if response.us < 0.0 { "less" } else { "longer" };
    let interval = response.interval.map_or(String::new(), |interval| {
        format!(" ({})", scale.show_interval(response.us, interval))
    });
    let size = scale.show(response.us);
    let beginning = format!(
        "{contender} takes {size} {longer} to respond than {baseline}{interval}, which CPU time \
         does not explain."
    );
    let parts: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {longer} {}", scale.show(line.us), line.name))
        .collect();
    match parts.is_empty() {
        true => format!("{beginning} No wait that was measured differs along with it."),
        false => format!("{beginning} Per request, its threads wait {}.", parts.join(", ")),
    }
}

fn sentence_of_cpu(of: &CpuDifference) -> String {
    let causes = named_causes(of);
    let total = &of.total;
    let values = causes.iter().map(|cause| cause.us).chain([total.us]);
    let scale = Scale::for_values(values);
    let beginning = beginning(of, scale);
    if (of.blocks as usize) < BLOCKS_MIN {
        return format!(
            "{beginning}. No cause is named from {}: {BLOCKS_MIN} are needed.",
            blocks(of.blocks)
        );
    }
    if causes.is_empty() {
        return format!("{beginning}. No single category or function differs beyond chance.");
    }
    let parts: Vec<String> = causes.iter().map(|cause| part(of, cause, scale)).collect();
    let parts = parts.join(", ");
    if !total.holds {
        return format!("{beginning}. Beyond chance are {parts}.");
    }
    let named: f64 = causes.iter().map(|cause| scale.round(cause.us)).sum();
    let rest = scale.round(scale.round(total.us) - named);
    let rest = match () {
        () if rest == 0.0 => String::new(),
        () if (rest < 0.0) == (total.us < 0.0) => {
            format!("; {} is spread over the rest", scale.show(rest))
        }
        () => format!("; the rest uses {} {}", scale.show(rest), direction(rest)),
    };
    format!("{beginning}: {parts}{rest}.")
}

fn blocks(n: u32) -> String {
    match n {
        1 => "1 profiled block".into(),
        n => format!("{n} profiled blocks"),
    }
}

/// The part of the sentence before its causes, which compares the wholes.
fn beginning(of: &CpuDifference, scale: Scale) -> String {
    let CpuDifference { contender, baseline, total, .. } = of;
    let interval = total.interval.map_or(String::new(), |interval| {
        format!(" ({})", scale.show_interval(total.us, interval))
    });
    if total.holds {
        return format!(
            "{contender} uses {} {} CPU per request than {baseline}{interval}",
            scale.show(total.us),
            direction(total.us)
        );
    }
    if scale.round(total.us) == 0.0 {
        return format!(
            "No difference in CPU per request shows between {contender} and {baseline}{interval}"
        );
    }
    format!(
        "{contender} seems to use {} {} CPU per request than {baseline}{interval}",
        scale.show(total.us),
        direction(total.us)
    )
}

/// The causes that are named: categories that hold, then functions that hold in other categories.
/// No two overlap, because each function line is within one category.
fn named_causes(of: &CpuDifference) -> Vec<&CauseLine> {
    let holding = || of.categories.iter().filter(|line| line.holds);
    let is_apart = |line: &&CauseLine| !holding().any(|category| category.name == line.category);
    let functions = of.functions.iter().filter(|line| line.holds).filter(is_apart);
    let mut causes: Vec<&CauseLine> = holding().chain(functions).collect();
    causes.sort_by(|a, b| b.us.abs().total_cmp(&a.us.abs()));
    let largest = causes.first().map_or(0.0, |cause| cause.us.abs());
    causes.retain(|cause| cause.us.abs() >= PART_MIN * largest);
    causes.truncate(CAUSES_MAX);
    causes
}

/// `1.2 µs in kernel TCP/IP`, `0.8 µs less in allocation (runtime.mallocgc)`. The direction is left
/// out where it is that of the whole.
fn part(of: &CpuDifference, cause: &CauseLine, scale: Scale) -> String {
    let is_usual = of.total.holds && (cause.us < 0.0) == (of.total.us < 0.0);
    let direction = if is_usual { String::new() } else { format!(" {}", direction(cause.us)) };
    let size = scale.show(cause.us);
    if !cause.category.is_empty() {
        return format!("{size}{direction} in {} ({})", cause.name, cause.category);
    }
    let functions: Vec<&str> = of
        .functions
        .iter()
        .filter(|line| {
            line.holds && line.category == cause.name && (line.us < 0.0) == (cause.us < 0.0)
        })
        .take(FUNCTIONS_MAX)
        .map(|line| line.name.as_str())
        .collect();
    let functions = match functions.is_empty() {
        true => String::new(),
        false => format!(" ({})", functions.join(", ")),
    };
    format!("{size}{direction} in {}{functions}", cause.name)
}
