//! The plans of this repository's experiments.

use crate::folder::Folder;
use spec::catalog::Catalog;
use spec::experiment::{Experiment, FEWEST_BLOCKS, Load};
use std::path::Path;

/// Parses the end of a plan, such as `about 4 min 10 s`, into seconds.
fn lasts(plan: &str) -> f64 {
    let about = plan
        .rsplit("about ")
        .next()
        .and_then(|rest| rest.split(" once").next())
        .unwrap_or_default();
    let words: Vec<&str> = about.split(' ').collect();
    let pairs = words.chunks(2).map(|pair| {
        let unit = match pair[1] {
            "h" => 3600.0,
            "min" => 60.0,
            "s" => 1.0,
            other => panic!("{other}: {plan}"),
        };
        unit * pair[0].parse::<f64>().unwrap()
    });
    pairs.sum()
}

/// On two CPUs a contender has one, and JVMs need the longest warm-up.
#[test]
fn article_experiments_plan_enough_blocks_and_short_quick_form() {
    assert_eq!(
        [
            lasts("at most about 4 min 10 s once"),
            lasts("about 1 h 05 min once"),
            lasts("about 5 min once")
        ],
        [250.0, 3900.0, 300.0]
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let catalog = Catalog::open(root).unwrap();
    let folder = Folder::new();
    let mut tried = 0;
    for name in catalog.experiment_names() {
        let experiment = catalog.experiment(&name).unwrap();
        let plan = |more: &[&str]| {
            let mut arguments = vec!["--dir", root.to_str().unwrap(), "run", &name, "--plan"];
            arguments.extend(more);
            folder.run(&arguments).expect(0).err
        };
        // Not of an article: the command of a document, whose plan only this test checks.
        if name == "generators" {
            let quick = plan(&["--quick"]);
            assert!(quick.contains("by jmeter") && lasts(&quick) <= 300.0, "{quick}");
        }
        if experiment.article().is_none() {
            continue;
        }
        tried += 1;
        let starts = experiment.design.blocks as usize * experiment.all_contenders().count();
        let is_enough = match experiment.factors.len() {
            // Each start measures every factor.
            2.. if starts >= 64 => true,
            // There is no ranking.
            0 if experiment.claims.is_empty() => true,
            _ => experiment.design.blocks >= FEWEST_BLOCKS,
        };
        assert!(is_enough, "{name}: {} blocks", experiment.design.blocks);
        let whole = plan(&[]);
        assert!(
            !whole.contains("may end the run earlier"),
            "{name} does not fit its budget\n{whole}"
        );
        // Six blocks of a search, or of users who start over a minute, take more than five minutes.
        if ["bank-capacity", "bank-capacity-pools", "bank-fair"].contains(&name.as_str()) {
            assert!(experiment.quick.is_none());
            continue;
        }
        check_quick_form(&name, &experiment, &plan(&["--quick"]));
    }
    assert!(tried >= 20, "{tried} experiments");
}

/// Checks that the quick form of an article's experiment is short, can decide, and is announced.
fn check_quick_form(name: &str, experiment: &Experiment, quick: &str) {
    // `make demo` needs time for its three proxies.
    let within = if name == "reverse-proxy" { 420.0 } else { 300.0 };
    assert!(experiment.quick.is_some() && lasts(quick) <= within, "{name}\n{quick}");
    let less = experiment.clone().quickened();
    can_decide(name, &less);
    let sizes = |of: &Experiment| (of.contenders.len(), of.cells.len(), of.claims.len());
    assert_eq!(
        quick.contains("the quick form leaves out "),
        sizes(&less) != sizes(experiment),
        "{name}\n{quick}"
    );
    if name == "bank" {
        let cells = "published-users-1000, published-users-4000, published-users-10000";
        assert!(
            quick.contains(&format!("leaves out the cells {cells}; 6 of 8 claims\n")),
            "{quick}"
        );
    }
}

/// Checks that a quick form has enough starts for a verdict, and that all users of its loads begin
/// before it ends.
fn can_decide(name: &str, quick: &Experiment) {
    let starts_per_level = quick.design.blocks as usize * quick.all_contenders().count() / 2;
    let needed = FEWEST_BLOCKS as usize;
    let has_enough = if quick.factors.is_empty() {
        quick.design.blocks as usize >= needed
    } else {
        starts_per_level >= needed
    };
    assert!(quick.claims.is_empty() || has_enough, "{name}: {} blocks", quick.design.blocks);
    for cell in &quick.cells {
        if let Load::Users { ramp, .. } = &cell.load {
            assert!(
                quick.design.measure >= *ramp,
                "{name}: the users of {} begin over {ramp:?}",
                cell.name
            );
        }
    }
}

/// Two requests a round and three rounds each: five pauses, of 2 s on average.
#[test]
fn plan_of_users_with_rounds_ends_within_the_time() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    let step = "[[step]]\npath = \"/\"\n[step.answer]\nbody_file = \"hello.txt\"\n";
    folder
        .write("workloads/twice.toml", &format!("name = \"twice\"\nsummary = \"s\"\n{step}{step}"));
    let plan = |load: &str, measure: &str| {
        let cell = format!(
            "[[cell]]\nname = \"c\"\nworkload = \"twice\"\nload = {{ kind = \"users\", users = 50, ramp = \"20s\"{load} }}\n"
        );
        let design = format!("[design]\nblocks = 6\nwarmup = \"0s\"\nmeasure = \"{measure}\"\n");
        folder.write(
            "experiments/u.toml",
            &format!("name = \"u\"\nquestion = \"Which?\"\nbaseline = \"a\"\ncontenders = [\"b\"]\n{cell}{design}"),
        );
        folder.run(&["run", "u", "--plan"]).expect(0).err
    };
    let [rounds, endless] = [", pause = \"1s..3s\", rounds = 3", ", pause = \"1s..3s\""];
    let long = plan(rounds, "5m");
    assert!(
        long.contains("workload twice, done after an estimated 30 s if responses are fast\n")
            && long.contains("5 min per cell"),
        "{long}"
    );
    // 12 trials of half a minute, and the overhead of each.
    assert!((360.0..420.0).contains(&lasts(&long)), "{long}");
    for (load, measure) in [(endless, "60s"), (rounds, "25s"), (", rounds = 1", "20s")] {
        let whole = plan(load, measure);
        let seconds: f64 = measure.trim_end_matches('s').parse().unwrap();
        assert!(
            !whole.contains("estimated")
                && (12.0 * seconds..12.0 * seconds + 60.0).contains(&lasts(&whole)),
            "{whole}"
        );
    }
}

#[test]
fn contender_may_share_cpus_with_upstream() {
    let folder = Folder::new();
    ["a", "b"].iter().for_each(|name| folder.system(name, &[]));
    let places = |place: &str| {
        folder.experiment(&["a", "b"], place);
        let plan = folder.run(&["run", "x", "--plan"]).expect(0).err;
        let line = plan.lines().find(|line| line.contains("contender on ")).unwrap();
        ["contender on ", "generator on ", "upstream on "].map(|who| {
            let rest = line.split(who).nth(1).unwrap();
            rest.split([',', ';']).next().unwrap().trim().to_owned()
        })
    };
    let [contender, generator, upstream] = places("[place]\nshare_cpus = true\n");
    assert_eq!(contender, upstream);
    let is_alone = runner::cpus::usable().len() == 1;
    assert_eq!(contender == generator, is_alone, "{contender}, {generator}");
    let [contender, _, upstream] = places("");
    assert_eq!(contender == upstream, is_alone, "{contender}, {upstream}");

    folder.experiment(
        &["a", "b"],
        "[place]\nshare_cpus = true\ncpus = { contender = [0], generator = [0], upstream = [0] }\n",
    );
    folder
        .run(&["run", "x", "--plan"])
        .expect(2)
        .says("x.toml:6")
        .says("both choose CPUs")
        .says("leave one of them out");
}
