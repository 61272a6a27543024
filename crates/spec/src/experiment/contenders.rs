//! Reads which contenders an experiment compares.
//!
//! An entry of `contenders` is a name, or a table with a system and lists of variants. A table
//! becomes one contender for each combination of its variants. Start with [`parse_contenders`].

use crate::name::{ContenderName, NAME_HINT, is_name};
use crate::reader::Table;

/// Reads contenders: names, and tables that each become every combination of variants. The baseline
/// is left out of these combinations.
pub(super) fn parse_contenders(
    table: &Table<'_>,
    baseline: Option<&ContenderName>,
) -> Vec<ContenderName> {
    let named = |text: &str| -> Vec<ContenderName> {
        let say = |message: String| {
            table.problem(
                "contenders",
                message,
                "write `system`, `system:variant` or `system:one+another`",
            )
        };
        text.parse().map_err(say).into_iter().collect()
    };
    let combined = |t: &Table<'_>| -> Vec<ContenderName> {
        parse_combinations(t).into_iter().filter(|name| Some(name) != baseline).collect()
    };
    table.texts_or_tables("contenders", named, combined).into_iter().flatten().collect()
}

/// The most contenders that one table may become.
const MOST_COMBINATIONS: usize = 100;

/// Combines a system with one variant of each list, in every way. An empty text means no variant.
fn parse_combinations(table: &Table<'_>) -> Vec<ContenderName> {
    let (system, lists) = (table.required_string("system"), table.lists("variants"));
    if lists.is_empty() || lists.iter().any(Vec::is_empty) {
        let hint = "write `variants = [[\"g1\", \"zgc\"], [\"\", \"quiet\"]]`: one of each list, \"\" for none";
        table.problem(
            "variants",
            "`contenders.variants` needs one list or more, each with a variant or more",
            hint,
        );
        return Vec::new();
    }
    for (key, name) in [("system", &system)]
        .into_iter()
        .chain(lists.iter().flatten().map(|variant| ("variants", variant)))
    {
        if !name.is_empty() && !is_name(name) {
            table.problem(key, format!("`{name}` is not a name"), NAME_HINT);
        }
    }
    let count = lists.iter().try_fold(1usize, |count, list| count.checked_mul(list.len()));
    if count.is_none_or(|count| count > MOST_COMBINATIONS) {
        table.problem(
            "variants",
            format!("these are more than {MOST_COMBINATIONS} combinations"),
            "leave some out",
        );
        return Vec::new();
    }
    let with = |name: &ContenderName, variant: &String| {
        let mut name = name.clone();
        name.variants.extend(Some(variant).filter(|variant| !variant.is_empty()).cloned());
        name
    };
    let alone = vec![ContenderName { system, variants: Vec::new() }];
    lists.iter().fold(alone, |names, list| {
        names.iter().flat_map(|name| list.iter().map(move |variant| with(name, variant))).collect()
    })
}
