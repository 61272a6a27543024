//! Tests of what is reported of a file that is no valid TOML.
//!
//! One wrong line is one problem, and the rest of the file is still checked.

use super::*;

fn problems(text: &str) -> Vec<String> {
    let read = read_text(Path::new("x.toml"), text, |table| {
        (table.string("name"), table.string("summary"))
    });
    read.map_err(|found| found.list().iter().map(|problem| problem.message.clone()).collect())
        .err()
        .unwrap_or_default()
}

#[test]
fn an_unquoted_text_is_one_problem_and_others_are_kept() {
    assert_eq!(problems("name = twelve\n"), ["`twelve` is not a value"]);
    assert_eq!(
        problems("name = fast\nsummary = 3\n"),
        ["`fast` is not a value", "`summary` must be text in quotes, not integer"]
    );
    assert_eq!(problems("name = 12x\n").len(), 1, "{:?}", problems("name = 12x\n"));
    assert_eq!(problems("name = \"a\"\nsummary = 'b'\n"), [""; 0]);
}
