//! What variants set, so that contradictions are found before anything starts.
//!
//! Two variants may both set an environment variable, an option or a JVM flag. [`settings_of`]
//! reads the options of a variant in every usual notation; `contender.rs` compares them.

use super::Variant;
use std::collections::BTreeMap;

/// JVM options that are directly followed by their value.
const SIZES: [&str; 4] = ["-Xmx", "-Xms", "-Xmn", "-Xss"];

/// Returns what a variant sets, with its values. The same thing may occur several times.
pub(crate) fn settings_of(variant: &Variant) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut set = |name: String, value: &str| all.entry(name).or_default().push(value.to_owned());
    for (key, value) in &variant.env {
        set(format!("env.{key}"), value);
    }
    for list in [&variant.args, &variant.jvm] {
        for (at, argument) in list.iter().enumerate() {
            if let Some((name, value)) = setting(argument, list.get(at + 1).map(String::as_str)) {
                set(name.to_owned(), value);
            }
        }
    }
    if let Some(descriptors) = variant.descriptors {
        set("limits.descriptors".into(), &descriptors.to_string());
    }
    if let Some(most) = variant.jdk_at_most {
        set("jdk_at_most".into(), &most.to_string());
    }
    if let Some(build) = &variant.build {
        set("build".into(), &format!("{build:?}"));
    }
    if let Some(protocol) = variant.protocol {
        set("protocol".into(), &format!("{protocol:?}"));
    }
    for (what, list) in [("run", &variant.run), ("answers", &variant.answers)] {
        if !list.is_empty() {
            set(what.into(), &list.join(" "));
        }
    }
    all
}

/// Reads an argument as an option with its value: `--a=1`, `-Da=1`, `--a 1`, `-XX:+A`, `-Xmx64m`,
/// `-set a=1`. Returns `None` for other arguments, and for options that a program accepts any
/// number of times.
fn setting<'a>(argument: &'a str, next: Option<&'a str>) -> Option<(&'a str, &'a str)> {
    if !argument.starts_with('-') || argument.starts_with("--add-") {
        return None;
    }
    if matches!(argument, "-set" | "--set")
        && let Some(set) = next.and_then(|next| next.split_once('='))
    {
        return Some(set);
    }
    if argument.starts_with("-XX:+Use") && argument.ends_with("GC") {
        return Some(("the garbage collector", argument));
    }
    if let Some(name) = argument.strip_prefix("-XX:").and_then(|flag| flag.strip_prefix(['+', '-']))
    {
        return Some((name, &argument[4..5]));
    }
    if let Some(size) = SIZES.iter().find(|size| argument.starts_with(**size)) {
        return Some(argument.split_at(size.len()));
    }
    argument.split_once('=').or_else(|| {
        Some((argument, next.filter(|value| !value.starts_with('-')).unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_every_notation() {
        let read = |argument, next| setting(argument, next).unwrap_or_default();
        assert_eq!(read("--server.port=1", None), ("--server.port", "1"));
        assert_eq!(read("-Da=b=c", Some("-x")), ("-Da", "b=c"));
        assert_eq!(
            [read("--delay", Some("10ms")), read("--log", Some("--x"))],
            [("--delay", "10ms"), ("--log", "")]
        );
        assert_eq!(
            [read("-XX:+UseCompactObjectHeaders", None), read("-XX:-Inline", None)],
            [("UseCompactObjectHeaders", "+"), ("Inline", "-")]
        );
        assert_eq!(
            [read("-Xmx64m", None), read("-XX:MaxRAM=1g", None)],
            [("-Xmx", "64m"), ("-XX:MaxRAM", "1g")]
        );
        assert_eq!(read("-XX:+UseZGC", None), ("the garbage collector", "-XX:+UseZGC"));
        assert_eq!(
            [read("-set", Some("a.b=c=d")), read("--set", Some("a"))],
            [("a.b", "c=d"), ("--set", "a")]
        );
        assert_eq!([setting("10ms", None), setting("--add-opens=a=b", None)], [None, None]);
    }
}
