//! `faceoff build --images`, without an engine.

use crate::folder::{Folder, Ran, control};
use crate::needs::need;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

fn made(ran: &Ran) -> Vec<Value> {
    let all: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}\n{}\n{}", ran.out, ran.err));
    all.as_array().unwrap().clone()
}

fn image_of(folder: &Folder, system: &str) -> Value {
    made(&folder.run(&["build", system, "--images", "--format", "json"]).expect(0))[0]["image"]
        .clone()
}

/// Returns the archive's files by their paths.
fn unpacked(folder: &Folder, archive: &str) -> PathBuf {
    let to = folder.path().join("unpacked");
    std::fs::create_dir_all(&to).unwrap();
    tar::Archive::new(std::fs::File::open(folder.path().join(archive)).unwrap())
        .unpack(&to)
        .unwrap();
    to
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn same_files_give_same_image_in_any_folder() {
    let (one, other) = (Folder::new(), Folder::new());
    for folder in [&one, &other] {
        folder.system("a", &["{variant.args}"]);
        let own = folder.path().join("systems/a/system.toml");
        let text = std::fs::read_to_string(&own).unwrap();
        std::fs::write(own, format!("{text}[variants.slow]\nargs = [\"--delay\", \"1ms\"]\n"))
            .unwrap();
    }
    let first = image_of(&one, "a");
    assert_eq!(first, image_of(&one, "a"), "made again");
    assert_eq!(first, image_of(&other, "a"), "made elsewhere");
    assert_eq!(first["reference"], "faceoff/a:latest");
    let slow = image_of(&one, "a:slow");
    assert_eq!(
        (&slow["reference"], &slow["layers"]),
        (&"faceoff/a:slow".into(), &first["layers"]),
        "the same files"
    );
    assert_ne!(slow["digest"], first["digest"], "another command");
    let layers = first["layers"].as_array().unwrap();
    assert_eq!(
        first["bytes"].as_u64().unwrap(),
        layers.iter().map(|layer| layer["bytes"].as_u64().unwrap()).sum::<u64>()
    );

    one.write("workloads/hello.txt", "other words");
    let changed = image_of(&one, "a");
    let differ: Vec<bool> =
        layers.iter().zip(changed["layers"].as_array().unwrap()).map(|(a, b)| a != b).collect();
    assert_eq!(
        differ.iter().filter(|differs| **differs).count(),
        1,
        "one layer holds the file: {differ:?}"
    );

    // Unused blobs are gone, used ones are there, and each matches the digest in its name.
    let blobs = one.path().join(".faceoff/images/blobs/sha256");
    let index = json_of(&one.path().join(".faceoff/images/index.json"));
    assert_eq!(index["manifests"].as_array().unwrap().len(), 2);
    let mut named = Vec::new();
    for entry in index["manifests"].as_array().unwrap() {
        let digest = entry["digest"].as_str().unwrap();
        let manifest = json_of(&blobs.join(&digest[7..]));
        let parts = manifest["layers"].as_array().unwrap().iter().chain([&manifest["config"]]);
        named.extend(parts.map(|part| {
            (part["digest"].as_str().unwrap().to_owned(), part["size"].as_u64().unwrap())
        }));
        named.push((digest.to_owned(), entry["size"].as_u64().unwrap()));
    }
    named.sort();
    named.dedup();
    for (digest, size) in &named {
        let path = blobs.join(&digest[7..]);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), *size);
        let summed = Command::new("sha256sum").arg(&path).output().unwrap();
        assert_eq!(&String::from_utf8_lossy(&summed.stdout)[..64], &digest[7..]);
    }
    assert_eq!(std::fs::read_dir(&blobs).unwrap().count(), named.len());
}

/// Unpacks its files to `root` in the folder, and returns its configuration.
fn unpacked_whole(folder: &Folder) -> Value {
    folder.system("a", &[]);
    folder
        .run(&["build", "a", "--images", "--save", "saved"])
        .expect(0)
        .says("faceoff/a:latest")
        .says("1 ready, 0 skipped, 0 failed");
    let to = unpacked(folder, "saved/a.tar");
    let manifest = json_of(&to.join("manifest.json"))[0].clone();
    assert_eq!(manifest["RepoTags"][0], "faceoff/a:latest");
    let config = json_of(&to.join(manifest["Config"].as_str().unwrap()));
    let root = folder.path().join("root");
    let mut digests = Vec::new();
    for layer in manifest["Layers"].as_array().unwrap() {
        let path = layer.as_str().unwrap();
        tar::Archive::new(std::fs::File::open(to.join(path)).unwrap()).unpack(&root).unwrap();
        digests.push(format!("sha256:{}", path.trim_start_matches("blobs/sha256/")));
    }
    assert_eq!(config["rootfs"]["diff_ids"], serde_json::json!(digests));
    assert_eq!(config["config"]["WorkingDir"], "/app/systems/a");
    assert!(root.join("app/workloads/hello.txt").is_file() && root.join("tmp").is_dir());
    config
}

#[test]
fn image_has_everything_its_program_needs() {
    let folder = Folder::new();
    let config = unpacked_whole(&folder);
    let program = config["config"]["Cmd"][0].as_str().unwrap();
    assert!(
        folder.path().join("root").join(program.trim_start_matches('/')).is_file(),
        "{program}"
    );
}

#[test]
#[ignore = "needs user namespaces"]
fn image_command_responds_in_empty_environment() {
    need("user namespaces");
    let folder = Folder::new();
    let config = unpacked_whole(&folder);
    let root = folder.path().join("root");
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let words: Vec<String> = config["config"]["Cmd"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w.as_str().unwrap().replace("8080", &port.to_string()))
        .collect();
    assert_eq!(words[0], control().to_string_lossy());
    let mut inside = Command::new("unshare");
    inside
        .args(["--user", "--map-root-user", "--root"])
        .arg(&root)
        .args(["--wd", "/app/systems/a"])
        .args(&words)
        .env_clear();
    let mut running =
        inside.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let answered = (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        let mut asked = TcpStream::connect(("127.0.0.1", port)).ok()?;
        asked.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").ok()?;
        let mut text = String::new();
        asked.read_to_string(&mut text).ok()?;
        Some(text)
    });
    let _ = running.kill();
    let output = running.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        answered.as_deref().is_some_and(|text| text.ends_with(&"hello ".repeat(12))),
        "{answered:?}\n{said}"
    );
}

/// Writes the system `s`, whose manifest ends with a text.
fn write_system(folder: &Folder, more: &str) {
    folder.write(
            "systems/s/system.toml",
            &format!(
                "name = \"s\"\nsummary = \"s\"\nkind = \"service\"\n[build]\nrun = [[\"sh\", \"make.sh\"]]\ninputs = [\"make.sh\"]\noutputs = [\"out\"]\n[start]\nrun = [\"out/bin/run\", \"-Dconfig=conf/a\", \"--own={{work}}/b\", \"..\", \"none\", \"{{port.http}}\"]\nenv = {{ LIST = \"one.txt:two.txt\", UP = \"{{upstream.http}}\" }}\nports = [\"http\"]\n{more}"
            ),
        );
}

#[test]
fn image_content_follows_manifest() {
    let folder = Folder::new();
    write_system(&folder, "[image]\nfiles = [\"more/**\"]\n");
    folder.write(
        "systems/s/make.sh",
        &format!(
            "mkdir -p out/bin && cp {} out/bin/run && ln -sf run out/bin/link\n",
            control().display()
        ),
    );
    for file in ["conf/a/x", "conf/b", "one.txt", "two.txt", "three.txt", "more/deep/y"] {
        folder.write(&format!("systems/s/{file}"), file);
    }
    folder.run(&["build", "s", "--images", "--save", "saved"]).expect(0);
    let to = unpacked(&folder, "saved/s.tar");
    let manifest = json_of(&to.join("manifest.json"))[0].clone();
    let mut seen = BTreeMap::new();
    for layer in manifest["Layers"].as_array().unwrap() {
        for entry in
            tar::Archive::new(std::fs::File::open(to.join(layer.as_str().unwrap())).unwrap())
                .entries()
                .unwrap()
        {
            let entry = entry.unwrap();
            seen.insert(
                entry.path().unwrap().to_string_lossy().into_owned(),
                entry.header().mode().unwrap(),
            );
        }
    }
    for path in [
        "app/out/bin/run",
        "app/out/bin/link",
        "app/conf/a/x",
        "app/one.txt",
        "app/two.txt",
        "app/more/deep/y",
        "etc/passwd",
    ] {
        assert!(seen.contains_key(path), "{path} of {seen:?}");
    }
    for path in ["app/conf/b", "app/three.txt", "app/make.sh", "app/system.toml"] {
        assert!(!seen.contains_key(path), "{path} of {seen:?}");
    }
    let config = json_of(&to.join(manifest["Config"].as_str().unwrap()));
    assert_eq!(
        (&config["config"]["WorkingDir"], &config["config"]["Cmd"]),
        (&"/app".into(), &Value::Null),
        "no command without an upstream"
    );

    check_refused_images(&folder);
}

/// Checks that invalid `[image]` tables are refused.
fn check_refused_images(folder: &Folder) {
    write_system(folder, "[image]\nfiles = [\"nowhere/*\"]\n");
    folder
        .run(&["build", "s", "--images"])
        .expect(1)
        .says("`nowhere/*` matches no file")
        .says("0 ready, 0 skipped, 1 failed");
    write_system(folder, "[image]\ndockerfile = \"Dockerfile\"\n");
    folder.run(&["build", "s", "--images"]).expect(1).says("there is no Dockerfile");
    write_system(
        folder,
        "[image]\ndockerfile = \"Dockerfile\"\nfiles = [\"x\"]\nmodules = [\"java.base\", \"--help\"]\n",
    );
    let ran = folder.run(&["build", "s", "--images"]).expect(2);
    ran.says("`files` has no effect with a Dockerfile").says("`--help` cannot name a module");
    folder.run(&["build", "--save", "x"]).expect(2).says("--images");
}

#[test]
fn system_without_image_says_why() {
    let folder = Folder::new();
    folder.write("systems/script/run.sh", "#!/bin/sh\n");
    let system = |name: &str, run: &str, more: &str| {
        folder.write(
            &format!("systems/{name}/system.toml"),
            &format!("name = \"{name}\"\nsummary = \"s\"\nkind = \"service\"\n{more}[start]\nrun = [{run}]\nports = [\"http\"]\n"),
        );
    };
    system("script", "\"./run.sh\"", "");
    system("nowhere", "\"no-such-program-here\"", "");
    system("cached", "\"{java}\", \"-XX:AOTCache=app.aot\"", "jdk = 17\n");
    folder.write(
        "systems/there/system.toml",
        "name = \"there\"\nsummary = \"s\"\nkind = \"service\"\n[reached]\nurl = \"http://127.0.0.1:1\"\n",
    );
    folder.write(
        "systems/data/system.toml",
        "name = \"data\"\nsummary = \"s\"\nkind = \"database\"\n[data]\nmake = [\"true\"]\n[start]\nrun = [\"data\"]\nports = [\"sql\"]\n",
    );
    let ran = folder.run(&["build", "--images", "--format", "json"]).expect(1);
    let said: BTreeMap<String, String> = made(&ran)
        .iter()
        .map(|one| {
            (
                one["system"].as_str().unwrap().into(),
                format!("{} {}", one["outcome"], one["reason"]),
            )
        })
        .collect();
    for (name, outcome, reason) in [
        ("script", "failed", "is no program of 64 bits"),
        ("nowhere", "failed", "`no-such-program-here` is not on the PATH"),
        ("there", "skipped", "already runs"),
        ("data", "skipped", "it is a database"),
    ] {
        assert!(
            said[name].contains(outcome) && said[name].contains(reason),
            "{name}: {}",
            said[name]
        );
    }
    // Without a JDK it is skipped for that reason.
    assert!(
        said["cached"].contains("works only with the JDK") || said["cached"].contains("needs JDK"),
        "{}",
        said["cached"]
    );
}

#[test]
fn image_size_is_recorded_without_starting_it() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    let own = folder.path().join("systems/a/system.toml");
    let text = std::fs::read_to_string(&own).unwrap();
    let build = "[build]\nrun = [[\"cp\", \"source.txt\", \"made.txt\"]]\ninputs = [\"source.txt\"]\noutputs = [\"made.txt\"]\n";
    std::fs::write(own, text + build).unwrap();
    folder.write("systems/a/source.txt", "one");
    folder.experiment(&["a", "b"], "");
    let container_images = |record: &str| {
        folder.run(&["run", "x", "--blocks", "1", "--out", record]);
        let contenders = folder.record(record).header.contenders;
        contenders.into_iter().map(|p| p.facts.get("container image").cloned()).collect::<Vec<_>>()
    };
    assert_eq!(container_images("before"), [None, None]);
    let image = image_of(&folder, "a");
    let after = container_images("after");
    let [Some(said), None] = after.as_slice() else {
        panic!("only of the one that has an image: {after:?}")
    };
    assert!(
        said.contains("faceoff/a:latest") && said.contains(image["digest"].as_str().unwrap()),
        "{said}"
    );
    folder.write("systems/a/source.txt", "other");
    assert_eq!(container_images("changed"), [None, None], "it was made of other files");
}
