//! Tests that write `docs/reference/experiment.md` and `system.md`, and check them against the
//! code.
//!
//! `make reference` writes the pages: `FACEOFF_WRITE_REFERENCE=1 cargo test -p spec reference`.
//! Without the variable, a test fails if a page differs from what the code reads.

use crate::keys::{KeyTable, Otherwise, Page, value_of};
use std::collections::BTreeSet;
use std::path::Path;

/// Every page.
const PAGES: [&Page; 2] = [&crate::experiment::KEYS, &crate::system::KEYS];

#[test]
fn pages_match_code() {
    for page in PAGES {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../docs/reference")
            .join(page.name)
            .with_extension("md");
        let text = page.text();
        if std::env::var_os("FACEOFF_WRITE_REFERENCE").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(there == text, "{} differs from the code: run `make reference`", file.display());
    }
}

#[test]
fn pages_have_every_key_and_no_other() {
    for (page, table) in PAGES.iter().flat_map(|page| page.tables.iter().map(move |t| (page, t))) {
        let described: BTreeSet<String> =
            table.keys.iter().map(|key| key.name.to_owned()).collect();
        assert_eq!(table.accepted(page.read), described, "{} of {}", table.title, page.name);
    }
}

#[test]
fn every_table_within_a_table_is_described() {
    for page in PAGES {
        for (table, key) in page.tables.iter().flat_map(|t| t.keys.iter().map(move |key| (t, key)))
        {
            let value = value_of(table, key.name, page.read);
            let is_of_keys = value == "table"
                || value.starts_with("list of tables")
                || value == "table of tables"
                || value == "list of texts or tables";
            let path = match table.path {
                "" => key.name.to_owned(),
                path => format!("{path}.{}", key.name),
            };
            // Tables with names of their own have these in their path: `variants.v`. A table that
            // is the same in several places is described once.
            let is_of = |t: &KeyTable| {
                t.path.starts_with(&format!("{path}."))
                    || t.path.rsplit('.').next() == Some(key.name)
            };
            assert!(
                !is_of_keys || FREE.contains(&path.as_str()) || page.tables.iter().any(is_of),
                "`{path}` of {} is a {value}",
                page.name
            );
        }
    }
}

/// Tables whose keys are names of the person who writes them.
const FREE: [&str; 1] = ["cell.with"];

#[test]
fn required_keys_and_defaults_are_those_of_the_reader() {
    for (page, table) in PAGES.iter().flat_map(|page| page.tables.iter().map(move |t| (page, t))) {
        let plain = (page.read)(&table.text("", None));
        let plain = plain.unwrap_or_else(|problems| panic!("{}: {problems:?}", table.title));
        for key in table.keys {
            match key.otherwise {
                Otherwise::Required(_) => {
                    let problems = (page.read)(&table.text(key.name, None)).unwrap_err();
                    assert!(!problems.is_empty(), "{} of {}", key.name, table.title);
                }
                Otherwise::Default(default) => {
                    let line = format!("{} = {default}", key.name);
                    let written = (page.read)(&table.text("", Some(&line)));
                    assert_eq!(written.as_ref(), Ok(&plain), "{} of {}", key.name, table.title);
                }
                Otherwise::Means(_) | Otherwise::Either(..) => {}
            }
        }
    }
}
