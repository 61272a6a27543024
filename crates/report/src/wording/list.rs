//! Lists of names in a sentence.

/// Joins parts as in a sentence: `a, b and c`. `None` if there are none.
pub(crate) fn sentence_list(parts: &[String]) -> Option<String> {
    let (last, before) = parts.split_last()?;
    Some(if before.is_empty() { last.clone() } else { format!("{} and {last}", before.join(", ")) })
}
