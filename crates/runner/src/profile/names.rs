//! Turns the names of symbols, of compiled code and of threads into names that people write.
//!
//! Rust and C++ names are demangled, and C++ names lose their parameters. Virtual machines write
//! names with marks of their own: `void com.example.Foo.bar(int)` becomes `com.example.Foo.bar`,
//! `LazyCompile:*handle app.js:5` becomes `handle app.js:5`. Numbers that differ from run to run
//! are removed, so that names can be compared between runs.

use cpp_demangle::{DemangleOptions, DemangleWrite, Symbol};
use record::FrameKind;
use std::fmt;

/// No name is longer, in bytes.
const LENGTH_MAX: usize = 1_000;

/// The name of a function in an executable or a library.
pub(super) fn function(symbol: &[u8]) -> String {
    let symbol = String::from_utf8_lossy(&symbol[..symbol.len().min(16 * LENGTH_MAX)]);
    // The version of a library follows the name.
    let symbol = symbol.split('@').next().filter(|name| !name.is_empty()).unwrap_or(&symbol);
    // What a compiler adds to functions that it has split or copied.
    let is_clone = |part: &str| matches!(part, "cold" | "llvm" | "part" | "constprop" | "isra");
    let plain = match symbol.split_once('.') {
        Some((name, rest)) if rest.split('.').next().is_some_and(is_clone) => name,
        _ => symbol,
    };
    let demangled = match plain {
        name if name.starts_with("_R") || name.contains("17h") => rust(name).or_else(|| cpp(name)),
        name if name.starts_with("_Z") => cpp(name),
        _ => None,
    };
    shortened(demangled.unwrap_or_else(|| plain.to_owned()))
}

fn rust(name: &str) -> Option<String> {
    Some(format!("{:#}", rustc_demangle::try_demangle(name).ok()?))
}

fn cpp(name: &str) -> Option<String> {
    let options = DemangleOptions::new().no_params().no_return_type();
    let mut text = Bounded(String::new());
    Symbol::new(name.as_bytes()).ok()?.structured_demangle(&mut text, &options).ok()?;
    Some(text.0)
}

/// Text that refuses to grow too long: nested templates repeat each other.
struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LENGTH_MAX {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

/// The name of code that a virtual machine has compiled, and whether it is interpreted.
pub(super) fn compiled(name: &str) -> (String, FrameKind) {
    if name == "Interpreter" {
        return (name.to_owned(), FrameKind::Interpreted);
    }
    if let Some(python) = name.strip_prefix("py::") {
        return (shortened(python.to_owned()), FrameKind::Interpreted);
    }
    let javascript = ["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    if let Some(function) = javascript {
        let kind = match function.starts_with('~') {
            true => FrameKind::Interpreted,
            false => FrameKind::Compiled,
        };
        let function = function.trim_start_matches(['*', '~', '^', '+']);
        return (shortened(function.trim_start().to_owned()), kind);
    }
    let function = java(name).unwrap_or_else(|| name.to_owned());
    (shortened(function), FrameKind::Compiled)
}

/// `com.example.Foo.bar` of `void com.example.Foo.bar(int, long)`.
fn java(name: &str) -> Option<String> {
    let (method, _) = name.split_once('(')?;
    let (_, method) = method.rsplit_once(' ')?;
    method.contains('.').then(|| without_addresses(method))
}

/// Removes what differs from run to run in names of hidden classes: `Foo$$Lambda$14/0x0000700` is
/// `Foo$$Lambda`.
fn without_addresses(method: &str) -> String {
    let mut kept = String::new();
    let mut rest = method;
    while let Some(at) = rest.find("/0x") {
        kept.push_str(&rest[..at]);
        rest = rest[at + 3..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
        let plain = kept.trim_end_matches(|c: char| c.is_ascii_digit());
        if let Some(plain) = plain.strip_suffix('$').filter(|p| p.ends_with("$$Lambda")) {
            kept.truncate(plain.len());
        }
    }
    kept + rest
}

/// A thread's name without a number at its end: `GC Thread` of `GC Thread#0`.
pub(super) fn thread(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let plain = match plain.len() < name.len() {
        true => plain.trim_end_matches(['#', '-', '_', ':', '/', '.', ' ', '[', '(']),
        false => plain,
    };
    let chosen = if plain.is_empty() { &*name } else { plain };
    chosen.trim_end().to_owned()
}

fn shortened(mut name: String) -> String {
    if name.len() > LENGTH_MAX {
        let end = (0..=LENGTH_MAX).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        name.truncate(end);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rust_and_cpp_names_are_demangled() {
        let cases = [
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_ZN10PSYoungGen8allocateEm", "PSYoungGen::allocate"),
            ("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size"),
            ("ngx_http_parse_request_line.cold", "ngx_http_parse_request_line"),
            ("net/http.(*conn).serve", "net/http.(*conn).serve"),
            ("_Zbroken", "_Zbroken"),
            ("__libc_start_main@@GLIBC_2.34", "__libc_start_main"),
            ("encoding/json.Marshal", "encoding/json.Marshal"),
        ];
        for (symbol, name) in cases {
            assert_eq!(function(symbol.as_bytes()), name);
        }
    }

    #[test]
    fn names_of_compiled_code_have_no_marks() {
        use FrameKind::{Compiled, Interpreted};
        let cases = [
            ("void com.example.Foo.bar(java.lang.String, int)", "com.example.Foo.bar", Compiled),
            ("int a.Foo$$Lambda$14/0x0000000800066840.apply(int)", "a.Foo$$Lambda.apply", Compiled),
            ("int a.Foo$$Lambda/0x00007f2c1.apply(int)", "a.Foo$$Lambda.apply", Compiled),
            ("Interpreter", "Interpreter", Interpreted),
            ("StubRoutines (initial stubs)", "StubRoutines (initial stubs)", Compiled),
            ("vtable stub", "vtable stub", Compiled),
            ("LazyCompile:*handle /app/a.js:5:2", "handle /app/a.js:5:2", Compiled),
            ("JS:~handle a.js:5:2", "handle a.js:5:2", Interpreted),
            ("py::work:/app/a.py", "work:/app/a.py", Interpreted),
        ];
        for (name, expected, kind) in cases {
            assert_eq!(compiled(name), (expected.to_owned(), kind));
        }
    }

    #[test]
    fn workers_of_a_pool_have_one_name() {
        let names = ["GC Thread#0", "G1 Conc#12", "worker-3", "C2 CompilerThre", "123", "java"]
            .map(|name| thread(name.as_bytes()));
        assert_eq!(names, ["GC Thread", "G1 Conc", "worker", "C2 CompilerThre", "123", "java"]);
    }

    proptest! {
        #[test]
        fn any_name_is_accepted_and_bounded(name in "(_Z|_R|void |JS:)?[ -~\u{e0}-\u{ff}]{0,60}") {
            prop_assert!(function(name.as_bytes()).len() <= LENGTH_MAX);
            prop_assert!(compiled(&name).0.len() <= LENGTH_MAX);
            thread(name.as_bytes());
        }
    }
}
