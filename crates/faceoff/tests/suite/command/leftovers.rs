//! What a killed run left in an engine, a cluster or a database is found by its note, even from
//! another environment.

use crate::folder::Folder;
use std::fs::{self, DirBuilder, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

/// Writes a note as a killed run leaves it.
fn note(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let notes = folder.path().join("state/faceoff/notes");
    DirBuilder::new().recursive(true).mode(0o700).create(&notes).unwrap();
    let path = notes.join(format!("{name}.json"));
    fs::write(&path, text).unwrap();
    path
}

/// Runs `faceoff clean` without variables for an engine, a cluster or a database.
fn clean(folder: &Folder, env: &[(&str, &str)]) -> crate::folder::Ran {
    let mut command = folder.faceoff(&["clean"]);
    command
        .env("DOCKER_HOST", "unix:///nowhere/engine.sock")
        .env_remove("KUBECONFIG")
        .env_remove("FACEOFF_DATABASE");
    command.envs(env.iter().copied());
    crate::folder::Ran::from(command.output().unwrap())
}

/// A fake engine with one container, which records its requests.
fn an_engine(socket: &PathBuf) -> Receiver<String> {
    let listener = UnixListener::bind(socket).unwrap();
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let line = BufReader::new(&client).lines().next().unwrap().unwrap();
            let _ = sender.send(line);
            let _ = client.write_all(b"HTTP/1.0 200 OK\r\n\r\n[{\"Id\":\"0123abcd\"}]");
        }
    });
    asked
}

#[test]
fn containers_are_removed_from_their_engine() {
    let folder = Folder::new();
    let socket = folder.path().join("engine.sock");
    let noted = note(&folder, "one", &format!("{{\"containers\":{{\"engine\":{socket:?}}}}}"));
    let hint = format!("remove {}", noted.display());
    clean(&folder, &[])
        .expect(1)
        .says(&format!("containers may be left in the engine at {}", socket.display()))
        .says(&hint);
    let asked = an_engine(&socket);
    clean(&folder, &[]).expect(0).says("removed 1 containers that a killed run left behind");
    let asked: Vec<String> = asked.try_iter().collect();
    assert!(
        asked[0].starts_with("GET /containers/json?all=1&")
            && asked[0].contains("faceoff.note%3Done"),
        "{asked:?}"
    );
    assert_eq!(asked[1..], ["DELETE /containers/0123abcd?force=1&v=1 HTTP/1.0"]);
    assert!(folder.notes().is_empty());
}

#[test]
fn namespace_is_removed_from_its_cluster() {
    let folder = Folder::new();
    let noted = note(
        &folder,
        "one",
        r#"{"namespace":{"name":"faceoff-x-1","kubeconfig":"/a/config","context":"mine"}}"#,
    );
    let others =
        note(&folder, "two", r#"{"namespace":{"name":"default","kubeconfig":null,"context":""}}"#);
    folder.write("bin/kubectl", "#!/bin/sh\necho \"$KUBECONFIG $*\" >> asked; exit $(cat exit)\n");
    fs::set_permissions(folder.path().join("bin/kubectl"), fs::Permissions::from_mode(0o755))
        .unwrap();
    let path =
        format!("{}:{}", folder.path().join("bin").display(), std::env::var("PATH").unwrap());
    folder.write("exit", "1");
    clean(&folder, &[("PATH", &path)])
        .expect(1)
        .says("the namespace faceoff-x-1 is left")
        .says("the namespace default is left");
    folder.write("exit", "0");
    fs::remove_file(&others).unwrap();
    clean(&folder, &[("PATH", &path)])
        .expect(0)
        .says("removed the namespace faceoff-x-1 that a killed run left behind");
    let asked = fs::read_to_string(folder.path().join("asked")).unwrap();
    let once = "/a/config delete namespace faceoff-x-1 --ignore-not-found --wait=false --request-timeout=15s --context=mine\n";
    assert_eq!(asked, once.repeat(2));
    assert!(!noted.exists());
}

#[test]
fn schema_is_removed_with_password_from_environment() {
    let folder = Folder::new();
    let schema = r#"{"schema":{"name":"faceoff_1","server":{"host":"127.0.0.1","port":1,"user":"ana","name":"work"},"password":true}}"#;
    note(&folder, "one", schema);
    let other = ("FACEOFF_DATABASE", "postgres://ana:secret-enough@127.0.0.1:2/work");
    clean(&folder, &[other])
        .expect(1)
        .says("the schema faceoff_1 is left in postgres://ana@127.0.0.1:1/work")
        .says("FACEOFF_DATABASE");
    let same = ("FACEOFF_DATABASE", "postgres://ana:secret-enough@127.0.0.1:1/work");
    clean(&folder, &[same]).expect(1).says("Connection refused");
}

#[test]
fn notes_of_running_processes_are_left_alone() {
    let folder = Folder::new();
    let noted = note(&folder, "one", r#"{"containers":{"engine":"/nowhere/engine.sock"}}"#);
    let cut = note(&folder, "two", r#"{"containers":{"eng"#);
    let held = File::options().write(true).open(&noted).unwrap();
    held.lock().unwrap();
    clean(&folder, &[]).expect(0);
    assert!(noted.exists() && !cut.exists());
    drop(held);
    let odd = note(&folder, "three", r#"{"moons":{"name":"faceoff-1"}}"#);
    clean(&folder, &[])
        .expect(1)
        .says("a note that cannot be parsed")
        .says(&format!("remove {}", odd.display()));
    assert!(odd.exists());
    clean(&folder, &[])
        .expect(1)
        .says("containers may be left in the engine at /nowhere/engine.sock");
}
