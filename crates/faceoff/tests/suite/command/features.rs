//! A build without a feature answers with the feature's name and how to get it.

use crate::folder::Folder;

/// Runs a command that lacks a feature, and checks what it answers.
#[track_caller]
fn names(feature: &str, arguments: &[&str], ability: &str) {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    folder.experiment(&["a", "b"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    folder.write("api.yaml", "openapi: 3.0.0\npaths: {}\n");
    let ran = folder.run(arguments).expect(2).says(ability);
    assert!(ran.err.contains(&format!("compiled without the feature `{feature}`")), "{}", ran.err);
    assert!(ran.err.contains("hint: install a released faceoff"), "{}", ran.err);
    assert!(ran.out.is_empty(), "{}", ran.out);
}

#[test]
#[cfg_attr(feature = "parquet", ignore = "needs a build without parquet")]
fn parquet_is_named() {
    names("parquet", &["export", "r", "--to", "parquet", "--out", "t.parquet"], "cannot write Parquet");
}

#[test]
#[cfg_attr(feature = "serve", ignore = "needs a build without serve")]
fn serve_is_named() {
    names("serve", &["serve", "."], "cannot serve records");
}

#[test]
#[cfg_attr(feature = "agent", ignore = "needs a build without agent")]
fn agent_is_named() {
    names("agent", &["agent"], "cannot make loads for other machines");
}

#[test]
#[cfg_attr(feature = "generate", ignore = "needs a build without generate")]
fn generate_is_named() {
    names("generate", &["generate", "."], "cannot write completions and manual pages");
}

#[test]
#[cfg_attr(feature = "openapi-yaml", ignore = "needs a build without openapi-yaml")]
fn yaml_is_named_where_it_is_a_description_and_nowhere_else() {
    names("openapi-yaml", &["import", "api.yaml"], "cannot read YAML");
    let folder = Folder::new();
    folder.write("other.yaml", "title: nothing that is known\n");
    folder.run(&["import", "other.yaml"]).expect(2).says("nothing that can be imported");
}
