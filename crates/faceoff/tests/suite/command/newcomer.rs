//! Follows CONTRIBUTING.md literally, in a copy of this repository.

use crate::folder::{Folder, nothing_is_left};
use crate::needs::need;
use std::path::Path;
use std::process::Command;

#[test]
#[ignore = "needs go"]
fn contender_is_added_by_copying_one_folder() {
    need("go");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let folder = Folder::new();
    let files = Command::new("git").args(["ls-files", "-z", "catalog"]).current_dir(root).output();
    for file in String::from_utf8(files.unwrap().stdout).unwrap().split_terminator('\0') {
        let to = folder.path().join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        // A removed file that is not yet committed does not belong to the repository.
        let _ = std::fs::copy(root.join(file), to);
    }
    let text = std::fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let recipe = text
        .split("## Add a contender")
        .nth(1)
        .and_then(|t| t.split("```sh\n").nth(1))
        .and_then(|t| t.split("```").next());
    let commands = Path::new(env!("CARGO_BIN_EXE_faceoff")).parent().unwrap();
    let path = format!("{}:{}", commands.display(), std::env::var("PATH").unwrap());
    let shell = format!("set -ex\n{}", recipe.expect("the recipe is there"));
    let ran = Command::new("sh")
        .args(["-c", &shell])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("TMPDIR", folder.path())
        .output();
    let ran = ran.unwrap();
    let said = format!(
        "{}\n{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(ran.status.success(), "{said}");
    assert!(
        said.contains("correct  strings-mine") && said.contains("contender  strings-mine\n"),
        "{said}"
    );
    nothing_is_left(&folder);
}
