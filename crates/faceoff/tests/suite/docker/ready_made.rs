//! Systems that start from an existing image.

use super::{Engine, docker};
use record::Alternation;
use spec::system::System;

/// Loads the images `shop/orders:1.2` and `shop/orders:1.3` into the engine; the second takes more
/// CPU time per request.
fn load_images(engine: &Engine) {
    for (tag, cpu) in [("1.2", "10us"), ("1.3", "600us")] {
        engine.folder.system("a", &["--listen", "{listen}", "--cpu", cpu]);
        engine.folder.run(&["build", "a", "--images", "--save", "saved"]).expect(0);
        let archive = engine.folder.path().join("saved/a.tar");
        docker(&["load", "--input", &archive.to_string_lossy()]).unwrap();
        docker(&["tag", "faceoff/a:latest", &format!("shop/orders:{tag}")]).unwrap();
    }
}

fn remove_images() {
    docker(&["rmi", "shop/orders:1.2", "shop/orders:1.3"]).unwrap();
}

#[test]
#[ignore = "needs docker"]
fn vs_compares_two_images() {
    let engine = Engine::named();
    load_images(&engine);
    let folder = &engine.folder;
    let ran = folder.run(&[
        "vs",
        "image=shop/orders:1.2",
        "image=shop/orders:1.3",
        "--for",
        "20s",
        "--out",
        "r",
    ]);
    assert!([0, 4].contains(&ran.code), "{}\n{}", ran.out, ran.err);
    let record = folder.record("r");
    assert_eq!(record.header.alternation, Alternation::Slices);
    let seen: Vec<(String, &str)> = record
        .header
        .contenders
        .iter()
        .map(|contender| {
            (contender.name.to_string(), contender.image.as_ref().unwrap().reference.as_str())
        })
        .collect();
    assert_eq!(
        seen,
        [("orders-1.2".into(), "shop/orders:1.2"), ("orders-1.3".into(), "shop/orders:1.3")]
    );
    for trial in &record.trials {
        assert!(trial.failure.is_none(), "{:?}", trial.failure);
        assert!(
            trial
                .measurements
                .iter()
                .all(|m| m.counts.correct > 0 && m.usage.cpu_ns > 0 && m.usage.rss_max_bytes > 0)
        );
    }
    let cell = &record.header.experiment.cells.last().unwrap().name;
    let least = |name: &str| crate::folder::least_cpu_us(&record, name, cell);
    assert!(least("orders-1.3") > 600.0 && least("orders-1.3") > least("orders-1.2"));
    remove_images();
    engine.is_clean();
}

#[test]
#[ignore = "needs docker"]
fn image_runs_next_to_process_and_reports_problems() {
    let engine = Engine::named();
    load_images(&engine);
    let folder = &engine.folder;
    let write = |name: &str, image: &str, more: &str| {
        let head = format!(
            "name = \"{name}\"\nsummary = \"s\"\nkind = \"service\"\nimage = \"{image}\"\nanswers = [\"hello\"]\n"
        );
        folder.write(
            &format!("systems/{name}/system.toml"),
            &format!("{head}{more}\n[ready]\nwithin = \"9s\"\n"),
        );
    };
    write("orders", "shop/orders:1.2", "");
    assert!(System::read(&folder.path().join("systems/orders")).unwrap().start.run.is_empty());
    folder.run(&["check", "orders", "a"]).expect(0).says("2 correct");
    folder.experiment(&["a", "orders"], "");
    folder.run(&["run", "x", "--blocks", "1", "--out", "r"]);
    let record = folder.record("r");
    let has_image: Vec<bool> =
        record.header.contenders.iter().map(|contender| contender.image.is_some()).collect();
    assert_eq!((has_image, record.trials.len()), (vec![false, true], 2));
    assert!(record.trials.iter().all(|trial| trial.failure.is_none()));

    // Its own command, which gets the port of the container.
    let control = "/app/control";
    let run = format!("[start]\nrun = [\"{control}\", \"--no-such-flag\", \"{{port.http}}\"]\n");
    write("other", "shop/orders:1.3", &run);
    folder.run(&["check", "other"]).expect(1).says("other");
    write("elsewhere", "shop/orders:1.3", "[start]\ncontainer_port = 81\n");
    folder.run(&["check", "elsewhere"]).expect(1).says("no correct response within 9.0 s");
    write("missing", "localhost:1/no/such:9", "");
    folder
        .run(&["check", "missing"])
        .expect(1)
        .says("the image localhost:1/no/such:9 is not in the engine, and cannot be pulled");
    folder
        .run(&["check", "orders:as-process"])
        .expect(1)
        .says("starts from the image shop/orders:1.2, which runs in a Docker container");
    folder.run(&["check", "orders:in-docker"]).expect(1).says("name `orders:in-docker-bridge`");
    folder.run(&["build", "orders", "--images"]).says("it starts from an existing image");
    remove_images();
    engine.is_clean();
}
