//! The manifests of native images, with scripts in place of GraalVM.

use crate::folder::{Folder, Ran, control, nothing_is_left};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn script(folder: &Folder, name: &str, text: &str) {
    folder.write(name, &format!("#!/bin/sh\n{text}"));
    std::fs::set_permissions(folder.path().join(name), std::fs::Permissions::from_mode(0o755))
        .unwrap();
}

/// Uses the system's manifest with other workloads, and `control` in place of the image.
fn system(folder: &Folder, name: &str) {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap()
        .join("catalog/systems")
        .join(name);
    let manifest = std::fs::read_to_string(own.join("system.toml")).unwrap();
    let (before, after) = manifest.split_once("\nanswers").unwrap();
    let (_, after) = after.split_once("]\n").unwrap();
    folder.write(
        &format!("systems/{name}/system.toml"),
        &format!("{before}\nanswers = [\"hello\"]\n{after}"),
    );
    for input in ["pom.xml", "src/main/java/Program.java"] {
        folder.write(&format!("systems/{name}/{input}"), "");
    }
}

#[test]
fn native_image_is_built_and_gets_variant_settings() {
    let folder = Folder::new();
    folder.write("jdk/release", "JAVA_VERSION=\"99\"\n");
    folder.write("jdk/bin/java", "");
    folder.write("jdk/bin/javac", "");
    script(
        &folder,
        "maven/mvn",
        "case \"$*\" in -v) echo Apache Maven 3.9.9 ;; *' -Pnative-image') ;; *' -Pnative') ;; *) exit 3 ;; esac\n[ \"$1\" = -v ] || exec \"$GRAALVM_HOME/bin/native-image\" \"$JAVA_HOME\" \"$*\"\n",
    );
    script(
        &folder,
        "graalvm/bin/native-image",
        "[ \"$1\" = --version ] && { echo native-image 25.0.1; exit; }\n[ -f \"$1/release\" ] || exit 3\ncase \"$2\" in *-image) to=target/app ;; *) to=target/native/app ;; esac\nmkdir -p ${to%/*} && cp \"${0%/*}/image\" $to\n",
    );
    script(
        &folder,
        "graalvm/bin/image",
        &format!(
            "echo \"$@\" > asked\nfor word; do case $word in *server.port=*) port=${{word#*=}} ;; esac; done\nexec {} --port \"$port\" --body-file ../../workloads/hello.txt\n",
            control().display()
        ),
    );
    let check = |contender: &str, tools: &[&str]| {
        let tools: Vec<String> =
            tools.iter().map(|tool| folder.path().join(tool).display().to_string()).collect();
        let mut command = folder.faceoff(&["check", contender]);
        command
            .env("PATH", format!("{}:/usr/bin:/bin", tools.join(":")))
            .env("JAVA_HOME", folder.path().join("jdk"));
        Ran::from(command.output().unwrap())
    };
    let helidon = [
        ("", ""),
        ("+quiet", "-Drequest-log=false"),
        (
            "+logged-async",
            "-Drequest-log=true -Djava.util.logging.config.file=logging-async.properties",
        ),
    ];
    let spring = [("", ""), ("+quiet", "--strings.request-log=false")];
    for (name, variants) in [
        ("strings-helidon-se", &helidon[..]),
        ("strings-helidon-mp", &helidon[..]),
        ("strings-spring", &spring[..]),
    ] {
        system(&folder, name);
        check(&format!("{name}:native"), &["maven"]).says("install GraalVM for JDK 2");
        for (variant, expected) in variants {
            check(&format!("{name}:native{variant}"), &["maven", "graalvm/bin"])
                .expect(0)
                .says("1 correct");
            let asked =
                std::fs::read_to_string(folder.path().join("systems").join(name).join("asked"))
                    .unwrap();
            let is_place = |word: &&str| {
                ["server.port=", "server.host=", "server.address="]
                    .iter()
                    .any(|place| word.contains(place))
            };
            let other: Vec<&str> =
                asked.split_whitespace().filter(|word| !is_place(word)).collect();
            assert_eq!(other.join(" "), *expected, "{name}:native{variant}");
        }
    }
    nothing_is_left(&folder);
}
