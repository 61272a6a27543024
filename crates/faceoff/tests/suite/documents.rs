//! Finds the commands in the documents, for the tests that parse them (`src/reference.rs`) and
//! those that run them (`docs.rs`). Also checks the files of `docs` that are generated.

use std::path::{Path, PathBuf};

/// A command line of a document.
#[derive(Clone, Debug)]
pub struct Said {
    /// The document, relative to the repository.
    pub file: String,
    /// Its line, from 1.
    pub number: usize,
    /// Its text, joined if it continues after a backslash.
    pub text: String,
    /// Whether it is part of a sentence, where it may only name a command.
    pub in_sentence: bool,
}

impl Said {
    /// Returns document and line, for messages.
    pub fn place(&self) -> String {
        format!("{}:{}: {}", self.file, self.number, self.text)
    }
}

/// Returns the repository's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Fails if a generated file of `docs` differs from the text. Writes it instead if the variable
/// `FACEOFF_WRITE_REFERENCE` is set, as `make reference` does.
#[track_caller]
pub fn check_generated_file(name: &str, text: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os("FACEOFF_WRITE_REFERENCE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "docs/{name} differs from the code: write it again with `make reference`"
    );
}

/// Returns every command of every document: shell blocks, and texts in sentences that begin with
/// `faceoff`.
pub fn commands() -> Vec<Said> {
    let mut files: Vec<String> = [
        "README.md",
        "CONTRIBUTING.md",
        "METHOD.md",
        "ARCHITECTURE.md",
        "catalog/workloads/README.md",
    ]
    .map(str::to_owned)
    .into();
    for folder in ["docs", "docs/evidence", "docs/guide", "docs/method", "docs/reference"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        files.extend(
            names
                .filter(|name| name.ends_with(".md") || name.ends_with(".yml"))
                .map(|name| format!("{folder}/{name}")),
        );
    }
    files.sort_unstable();
    files
        .iter()
        .flat_map(|file| of(file, &std::fs::read_to_string(root().join(file)).unwrap()))
        .collect()
}

fn of(file: &str, text: &str) -> Vec<Said> {
    let (mut found, mut joined, mut fence, mut here) = (Vec::new(), String::new(), None, false);
    for (number, line) in (1..).zip(text.lines()) {
        let mut add = |text: String, in_sentence| {
            found.push(Said { file: file.to_owned(), number, text, in_sentence })
        };
        let trimmed = line.trim_start();
        if let Some(kind) = trimmed.strip_prefix("```") {
            fence = if fence.is_none() { Some(kind.trim() == "sh") } else { None };
        } else if file.ends_with(".yml") {
            if trimmed.starts_with("faceoff ") {
                add(trimmed.to_owned(), false);
            }
        } else if here {
            here = trimmed != "EOF";
        } else if fence == Some(true) {
            match line.strip_suffix('\\') {
                Some(begun) => joined += begun,
                None => {
                    joined += line;
                    here = joined.contains("<<'EOF'");
                    let text = std::mem::take(&mut joined).trim().to_owned();
                    if !text.is_empty() && !text.starts_with('#') {
                        add(text, false);
                    }
                }
            }
        } else if fence.is_none() {
            let spans = line.split('`').skip(1).step_by(2);
            let is_ours =
                |span: &&str| span.split(' ').next().is_some_and(is_faceoff) && span.contains(' ');
            spans.filter(is_ours).for_each(|span| add(span.to_owned(), true));
        }
    }
    found
}

/// Whether a word runs faceoff.
pub fn is_faceoff(word: &str) -> bool {
    word == "faceoff" || word.ends_with("/faceoff")
}

#[test]
fn commands_are_found_in_blocks_and_sentences() {
    let text = "Say `faceoff list` or `faceoff`.\n```sh\nexport A=1\nfaceoff run x \\\n  --plan   # why\ncat > f <<'EOF'\nfaceoff no\nEOF\n```\n```\nfaceoff no\n```\n";
    let found: Vec<(usize, String, bool)> = of("a.md", text)
        .into_iter()
        .map(|said| (said.number, said.text, said.in_sentence))
        .collect();
    let wanted = [
        (1, "faceoff list", true),
        (3, "export A=1", false),
        (5, "faceoff run x   --plan   # why", false),
        (6, "cat > f <<'EOF'", false),
    ];
    assert_eq!(
        found,
        wanted.map(|(number, text, in_sentence)| (number, text.to_owned(), in_sentence))
    );
    assert!(commands().len() > 60);
}
