//! Checks that every variable of a variant is read. A misspelled one would be ignored, and the
//! variant would seem to change nothing.

use spec::catalog::Catalog;
use std::path::Path;

/// Variables that Go itself reads, in any program.
const OF_GO: [&str; 4] = ["GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT"];

/// Systems whose variables a framework reads, and why that is certain.
const ELSEWHERE: [(&str, &str); 2] = [
    ("light-proxy", "its VariantsTest asks light-4j what each variable changes"),
    (
        "pets-light4j",
        "without them it answers neither over TLS nor as `pets-refused` asks, which `faceoff check` sees",
    ),
];

/// Whether a file of the system, other than its manifest and its documents, has the name.
fn is_named(folder: &Path, name: &str) -> bool {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| {
            !path.ends_with("target")
                && !path.ends_with("system.toml")
                && path.extension() != Some("md".as_ref())
        })
        .any(|path| {
            if path.is_dir() {
                is_named(&path, name)
            } else {
                String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(name)
            }
        })
}

#[test]
fn every_variable_of_a_variant_is_read() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let catalog = Catalog::open(root).unwrap();
    let mut looked_at = 0;
    for system in catalog.system_names().iter().map(|name| catalog.system(name).unwrap()) {
        if ELSEWHERE.iter().any(|(name, _)| *name == system.name) {
            continue;
        }
        for (variant, what) in &system.variants {
            for name in what.env.keys().filter(|name| !OF_GO.contains(&name.as_str())) {
                assert!(
                    is_named(&system.folder, name),
                    "{}:{variant} sets {name}, which nothing in its folder has",
                    system.name
                );
                looked_at += 1;
            }
        }
    }
    assert!(looked_at >= 3, "{looked_at} variables");
}
