//! The plans of the experiments that are here.

use crate::folder::Folder;
use model::experiment::FEWEST_BLOCKS;
use std::path::Path;

/// The seconds of `about 4 min 10 s`, the end of a plan.
fn lasts(plan: &str) -> f64 {
    let about = plan.rsplit("about ").next().and_then(|rest| rest.split(" once").next()).unwrap_or_default();
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

/// On two CPUs, of which a contender has one, JVMs take longest to get warm.
#[test]
fn every_experiment_of_an_article_plans_enough_blocks_and_a_quick_form_of_five_minutes() {
    assert_eq!([lasts("at most about 4 min 10 s once"), lasts("about 1 h 05 min once"), lasts("about 5 min once")], [250.0, 3900.0, 300.0]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let catalog = model::catalog::Catalog::open(root).unwrap();
    let folder = Folder::new();
    let mut tried = 0;
    for name in catalog.experiment_names() {
        let experiment = catalog.experiment(&name).unwrap();
        let plan = |more: &[&str]| {
            let mut arguments = vec!["--dir", root.to_str().unwrap(), "run", &name, "--plan"];
            arguments.extend(more);
            folder.run(&arguments).expect(0).err
        };
        // Of no article, but a document's command whose plan is looked at here alone.
        if name == "generators" {
            let quick = plan(&["--quick"]);
            assert!(quick.contains("by jmeter") && lasts(&quick) <= 300.0, "{quick}");
        }
        if experiment.article().is_none() {
            continue;
        }
        tried += 1;
        let starts = experiment.design.blocks as usize * experiment.everybody().count();
        let is_enough = match experiment.factors.len() {
            // Each start tells of every factor.
            2.. if starts >= 64 => true,
            // Nobody is ranked.
            0 if experiment.claims.is_empty() => true,
            _ => experiment.design.blocks >= FEWEST_BLOCKS,
        };
        assert!(is_enough, "{name}: {} blocks", experiment.design.blocks);
        // A single verdict is often settled at the first look.
        let may_end_before = name == "go-or-spring";
        let whole = plan(&[]);
        assert!(may_end_before || !whole.contains("may end it before"), "{name} does not fit its budget\n{whole}");
        let quick = plan(&["--quick"]);
        // `make demo` takes the time that its three proxies need.
        let within = if name == "reverse-proxy" { 420.0 } else { 300.0 };
        assert!(experiment.quick.is_some() && lasts(&quick) <= within, "{name}\n{quick}");
        let less = experiment.clone().quickened();
        let sizes = |of: &model::experiment::Experiment| (of.contenders.len(), of.cells.len(), of.claims.len());
        assert_eq!(quick.contains("the quick form leaves out "), sizes(&less) != sizes(&experiment), "{name}\n{quick}");
        if name == "bank" {
            let cells = "published-users-1000, published-users-10000, fair-users-1000, fair-users-4000, fair-users-10000";
            assert!(quick.contains(&format!("leaves out the cells {cells}; 3 of 7 claims\n")), "{quick}");
        }
    }
    assert!(tried >= 20, "{tried} experiments");
}

/// Two requests a round and three rounds each: five pauses, of 2 s on average.
#[test]
fn users_who_make_their_rounds_are_planned_to_be_done_before_the_time_is_over() {
    let folder = Folder::new();
    folder.system("a", &[]);
    folder.system("b", &[]);
    let step = "[[step]]\npath = \"/\"\n[step.answer]\nbody_file = \"hello.txt\"\n";
    folder.write("workloads/twice.toml", &format!("name = \"twice\"\nsummary = \"s\"\n{step}{step}"));
    let plan = |load: &str, measure: &str| {
        let cell =
            format!("[[cell]]\nname = \"c\"\nworkload = \"twice\"\nload = {{ kind = \"users\", users = 50, ramp = \"20s\"{load} }}\n");
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
        long.contains("workload twice, done after an estimated 30 s where answers are short\n") && long.contains("5 min per cell"),
        "{long}"
    );
    // 12 trials of half a minute, and what each needs besides.
    assert!((360.0..420.0).contains(&lasts(&long)), "{long}");
    for (load, measure) in [(endless, "60s"), (rounds, "25s"), (", rounds = 1", "20s")] {
        let whole = plan(load, measure);
        let seconds: f64 = measure.trim_end_matches('s').parse().unwrap();
        assert!(!whole.contains("estimated") && (12.0 * seconds..12.0 * seconds + 60.0).contains(&lasts(&whole)), "{whole}");
    }
}

#[test]
fn the_contender_may_share_its_cpus_with_what_stands_behind_it() {
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

    folder.experiment(&["a", "b"], "[place]\nshare_cpus = true\ncpus = { contender = [0], generator = [0], upstream = [0] }\n");
    folder.run(&["run", "x", "--plan"]).expect(2).says("x.toml:6").says("both say who works where").says("leave one of them out");
}
