//! A build without a feature names the feature and how to get it.

use crate::folder::Folder;

/// Runs a command that lacks a feature, and checks its error.
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
fn build_without_parquet_names_the_feature() {
    names(
        "parquet",
        &["export", "r", "--to", "parquet", "--out", "t.parquet"],
        "cannot write Parquet",
    );
}

#[test]
#[cfg_attr(feature = "serve", ignore = "needs a build without serve")]
fn build_without_serve_names_the_feature() {
    names("serve", &["serve", "."], "cannot serve records");
}

#[test]
#[cfg_attr(feature = "agent", ignore = "needs a build without agent")]
fn build_without_agent_names_the_feature() {
    names("agent", &["agent"], "cannot generate load for other machines");
}

#[test]
#[cfg_attr(feature = "generate", ignore = "needs a build without generate")]
fn build_without_generate_names_the_feature() {
    names("generate", &["generate", "."], "cannot write completions and manual pages");
}

#[test]
#[cfg_attr(feature = "openapi-yaml", ignore = "needs a build without openapi-yaml")]
fn build_without_yaml_names_the_feature_for_openapi_only() {
    names("openapi-yaml", &["import", "api.yaml"], "cannot read YAML");
    let folder = Folder::new();
    folder.write("other.yaml", "title: nothing that is known\n");
    folder.run(&["import", "other.yaml"]).expect(2).says("nothing that can be imported");
}
