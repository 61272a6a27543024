//! What a killed run left in a cluster is found by its note, wherever it is now asked from.

use crate::folder::Folder;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;

/// A note as a killed run leaves it.
fn note(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let notes = folder.path().join("state/faceoff/notes");
    DirBuilder::new().recursive(true).mode(0o700).create(&notes).unwrap();
    let path = notes.join(format!("{name}.json"));
    fs::write(&path, text).unwrap();
    path
}

/// `faceoff clean` where the environment names no engine and no cluster.
fn clean(folder: &Folder, env: &[(&str, &str)]) -> crate::folder::Ran {
    let mut command = folder.faceoff(&["clean"]);
    command.env("DOCKER_HOST", "unix:///nowhere/engine.sock").env_remove("KUBECONFIG");
    command.envs(env.iter().copied());
    crate::folder::Ran::from(command.output().unwrap())
}

#[test]
fn a_namespace_is_removed_from_the_cluster_that_it_is_in() {
    let folder = Folder::new();
    let noted = note(&folder, "one", r#"{"namespace":{"name":"faceoff-x-1","kubeconfig":"/a/config","context":"mine"}}"#);
    let others = note(&folder, "two", r#"{"namespace":{"name":"default","kubeconfig":null,"context":""}}"#);
    folder.write("bin/kubectl", "#!/bin/sh\necho \"$KUBECONFIG $*\" >> asked; exit $(cat exit)\n");
    fs::set_permissions(folder.path().join("bin/kubectl"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH").unwrap());
    folder.write("exit", "1");
    clean(&folder, &[("PATH", &path)]).expect(1).says("the namespace faceoff-x-1 is left").says("the namespace default is left");
    folder.write("exit", "0");
    fs::remove_file(&others).unwrap();
    clean(&folder, &[("PATH", &path)]).expect(0).says("removed the namespace faceoff-x-1 that a killed run had left");
    let asked = fs::read_to_string(folder.path().join("asked")).unwrap();
    let once = "/a/config delete namespace faceoff-x-1 --ignore-not-found --wait=false --request-timeout=15s --context=mine\n";
    assert_eq!(asked, once.repeat(2));
    assert!(!noted.exists());
}
