//! Where CPU time goes, and what explains a difference, from made-up profiles.
//!
//! `profiled.rs` makes the profiles. The first tests sort samples into categories, the others
//! compare contenders.

use crate::made_up::name;
use crate::profiled::{CORRECT, PERIOD_NS, drawn, profile, profiled};
use judge::causes::{APPLICATION, Categories, OTHER_KERNEL, UNKNOWN, UNSAMPLED, all_causes};
use judge::judge;
use record::judgement::{Causes, CpuDifference};
use record::{Pauses, Profile, Record, SampledLoad, SystemCall, TracedLoad, Waits};
use spec::categories::parse_categories;
use spec::experiment::Profiling;
use stats::Random;
use std::path::Path;

fn causes(record: &Record) -> Causes {
    all_causes(record, &Categories::shipped()).remove(0)
}

fn difference(record: &Record) -> CpuDifference {
    causes(record).differences.remove(0)
}

/// The category that all samples of a stack are in.
fn category_of(stack: &str, categories: &Categories) -> String {
    let record = profiled(vec![profile("a", 1, &[(stack, 1)])]);
    let found = all_causes(&record, categories).remove(0).contenders.remove(0);
    let mut used = found.categories.into_iter().filter(|category| category.cost.us > 0.0);
    let category = used.next().expect("one category has the sample").name;
    assert!(used.next().is_none(), "{stack} is in two categories");
    category
}

#[test]
fn a_stack_has_the_category_of_the_first_row_that_matches() {
    for (stack, expected) in [
        ("k:copy_user_generic;k:tcp_sendmsg;k:sock_write_iter;write;main", "kernel TCP/IP"),
        ("k:_raw_spin_lock;k:ep_poll;k:do_epoll_wait;epoll_wait;main", "kernel epoll"),
        ("k:memcpy;k:ext4_file_write_iter;k:vfs_write;write;log", "kernel files"),
        ("k:__schedule;k:schedule;k:futex_wait_queue;futex;main", "kernel scheduler"),
        ("k:clear_page_erms;k:handle_mm_fault;k:exc_page_fault;main", "kernel memory"),
        ("k:syscall_return_via_sysret;main", OTHER_KERNEL),
        // Without names of the kernel, the function that called it decides.
        ("k:?;syscall.write;net.(*conn).Write;main", "kernel TCP/IP"),
        ("k:?;main", OTHER_KERNEL),
        // A thread of the collector belongs to it, also in the kernel.
        ("G1 Conc#|k:__schedule;k:schedule;libjvm.so!G1ConcurrentMark", "garbage collection"),
        ("GC Thread#|libjvm.so!PSPromotionManager::drain", "garbage collection"),
        ("C2 CompilerThre|libjvm.so!PhaseChaitin::Register_Allocate", "JIT compilation"),
        ("runtime.scanobject;runtime.gcDrain;runtime.gcBgMarkWorker", "garbage collection"),
        ("runtime.nextFreeFast;runtime.mallocgc;json.Marshal;main", "allocation"),
        ("libc.so.6!_int_malloc;libc.so.6!malloc;main", "allocation"),
        (
            "runtime.stealWork;runtime.findRunnable;runtime.schedule;runtime.mcall",
            "runtime scheduling",
        ),
        ("tokio::runtime::task::raw::poll;main", "runtime scheduling"),
        ("main.handler;tokio::runtime::task::raw::poll;main", APPLICATION),
        ("crypto/internal/aes;crypto/tls.(*Conn).Write;main", "TLS"),
        ("?libcrypto.so.3;main", "TLS"),
        ("net/textproto.(*Reader).ReadLine;net/http.readRequest;main", "HTTP parsing"),
        ("faceoff/gateway/wire.cutLine;faceoff/gateway/proxy.(*client).run", "HTTP parsing"),
        ("faceoff/gateway/h2.ParseFrame;faceoff/gateway/proxy.(*client).run", "HTTP parsing"),
        ("faceoff/gateway/proxy.(*client).run;main", APPLICATION),
        ("github.com/valyala/fasthttp.(*RequestHeader).parse;main", "HTTP parsing"),
        ("github.com/valyala/fasthttp.(*headerScanner).next;main", "HTTP parsing"),
        ("github.com/valyala/fasthttp.(*Server).serveConn;main", APPLICATION),
        ("encoding/json.Marshal;main.handler;net/http.(*conn).serve", "serialization"),
        ("ch.qos.logback.classic.Logger.info;com.example.Foo.bar", "logging"),
        // An application that a parser calls does not count as parsing.
        ("com.example.Foo.bar;io.netty.handler.codec.http.HttpServerCodec.read", APPLICATION),
        ("main.handler;main", APPLICATION),
        ("?;main", UNKNOWN),
        ("?libfoo.so", UNKNOWN),
        ("", UNKNOWN),
    ] {
        assert_eq!(category_of(stack, &Categories::shipped()), expected, "{stack}");
    }
}

#[test]
fn rows_of_ones_own_come_first_and_may_add_categories() {
    let rows = parse_categories(
        Path::new("mine.toml"),
        "[[category]]\nname = \"cache\"\nfunctions = [\"main.cache*\"]\n\
         [[category]]\nname = \"serialization\"\ninnermost = [\"main.render\"]\n",
    );
    let categories = Categories::with_rows(rows.unwrap());
    assert_eq!(category_of("runtime.mallocgc;main.cacheGet;main", &categories), "cache");
    assert_eq!(category_of("main.render;main", &categories), "serialization");
    assert_eq!(category_of("main.handler;main", &categories), APPLICATION);
}

#[test]
fn categories_of_the_experiment_come_after_those_of_ones_own() {
    let rows = |name: &str| {
        let text = format!("[[category]]\nname = \"{name}\"\ninnermost = [\"main.hash\"]\n");
        parse_categories(Path::new("x.toml"), &text).unwrap()
    };
    let mut record = profiled(vec![profile("a", 1, &[("main.hash", 5)])]);
    record.header.experiment.profile =
        Some(Profiling { categories: rows("digest"), ..Profiling::default() });
    let stack = "main.hash;main";
    assert_eq!(category_of(stack, &Categories::of_record(&record, vec![])), "digest");
    assert_eq!(category_of(stack, &Categories::of_record(&record, rows("mine"))), "mine");
    let judged = judge(&record).causes.remove(0).contenders.remove(0);
    assert!(judged.categories.iter().any(|of| of.name == "digest" && of.cost.us > 0.0));
}

#[test]
fn categories_sum_to_the_total_and_agree_with_the_clock() {
    let stacks = [("k:tcp_sendmsg;write", 300), ("main.handler;main", 150), ("?", 50)];
    let mut profiles: Vec<_> = (1..=3).map(|block| profile("a", block, &stacks)).collect();
    // Samples are missing, as they are of threads that are woken often.
    profiles.iter_mut().for_each(|profile| profile.period_ns = PERIOD_NS * 9 / 10);
    let found = causes(&profiled(profiles)).contenders.remove(0);
    assert_eq!((found.sampled_share, found.agrees), (Some(0.9), Some(true)));
    let us = |samples: u64| (samples * PERIOD_NS) as f64 / 1e3 / CORRECT as f64;
    assert_eq!((found.blocks, found.samples), (3, 1_500));
    assert!((found.total.us - us(500)).abs() < 1e-9, "the clock: {:?}", found.total);
    let sum: f64 = found.categories.iter().map(|category| category.cost.us).sum();
    assert!((sum - found.total.us).abs() < 1e-9, "{sum} {:?}", found.total);
    let of = |name: &str| {
        found.categories.iter().find(|category| category.name == name).unwrap().cost.us
    };
    assert!((of("kernel TCP/IP") - 0.9 * us(300)).abs() < 1e-9);
    assert!((of(UNKNOWN) - 0.9 * us(50)).abs() < 1e-9);
    assert!((of(UNSAMPLED) - 0.1 * us(500)).abs() < 1e-9);
    let functions: f64 = found.functions.iter().map(|function| function.cost.us).sum();
    let modules: f64 = found.modules.iter().map(|module| module.cost.us).sum();
    assert!((functions - 0.9 * found.total.us).abs() < 1e-9);
    assert!((modules - functions).abs() < 1e-9);
}

#[test]
fn samples_that_miss_much_of_the_clock_are_reported() {
    let blocks = |clock: f64| {
        let profiles = (1..=6).map(|block| {
            let mut profile = profile("a", block, &[("main", 5_000)]);
            profile.cpu_ns = (profile.cpu_ns as f64 * clock) as u64;
            profile
        });
        causes(&profiled(profiles.collect())).contenders.remove(0)
    };
    for (clock, agrees) in [(1.0, true), (1.25, true), (1.6, false), (0.7, false)] {
        let found = blocks(clock);
        assert_eq!(found.agrees, Some(agrees), "{clock}");
        let by_clock = clock * (5_000 * PERIOD_NS) as f64 / 1e3 / CORRECT as f64;
        assert!((found.total.us / by_clock - 1.0).abs() < 1e-6, "{clock}: {:?}", found.total);
        let is_noted = found.notes.iter().any(|note| note.contains("of the CPU time by the clock"));
        assert_eq!(is_noted, !agrees, "{:?}", found.notes);
    }
    assert!(blocks(1.6).notes[0].contains("stand for 62.5 %"));
    let mut unread = profile("a", 1, &[("main", 5)]);
    unread.cpu_ns = 0;
    let found = causes(&profiled(vec![unread])).contenders.remove(0);
    assert!(found.agrees.is_none() && found.total.us > 0.0);
}

#[test]
fn unsampled_time_explains_a_difference_if_it_holds() {
    let mut random = Random::new(5, 0);
    let means = [("k:tcp_sendmsg;write", 2_000.0), ("main.handler", 1_000.0)];
    let mut blocks = |unsampled: u64| {
        let profiles = (1..=6).flat_map(|block| {
            let mut woken = profile("b", block, &drawn(&mut random, &means));
            woken.cpu_ns += unsampled * PERIOD_NS;
            [profile("a", block, &drawn(&mut random, &means)), woken]
        });
        difference(&profiled(profiles.collect()))
    };
    let found = blocks(600);
    assert!(found.total.holds && found.categories[0].holds, "{found:?}");
    assert_eq!(found.categories[0].name, UNSAMPLED);
    assert!(found.sentence.contains("µs in unsampled time"), "{}", found.sentence);
    let named = |found: &CpuDifference| found.categories.iter().any(|line| line.holds);
    assert!(!named(&blocks(1)), "as little as chance");
}

/// Blocks of two contenders of one language. `b` spends `factor` times as much in `main.hash`.
fn two_builds(seed: u64, blocks: u32, factor: f64) -> Record {
    let mut random = Random::new(seed, 0);
    let mut means = vec![
        ("k:tcp_sendmsg;k:sock_write_iter;write;main.handler", 1_500.0),
        ("k:ep_poll;epoll_wait;main", 400.0),
        ("runtime.mallocgc;main.render;main.handler", 300.0),
        ("runtime.scanobject;runtime.gcDrain;runtime.gcBgMarkWorker", 200.0),
        ("main.hash;main.handler", 1_000.0),
        ("main.sort;main.handler", 700.0),
        ("encoding/json.Marshal;main.handler", 500.0),
        ("?;main.handler", 20.0),
    ];
    let rare = ["main.f0", "main.f1", "main.f2", "main.f3", "main.f4", "main.f5", "main.f6"];
    means.extend(rare.map(|stack| (stack, 3.0)));
    let mut changed = means.clone();
    changed[4].1 *= factor;
    let profiles = (1..=blocks).flat_map(|block| {
        let (a, b) = (drawn(&mut random, &means), drawn(&mut random, &changed));
        [profile("a", block, &a), profile("b", block, &b)]
    });
    profiled(profiles.collect())
}

#[test]
fn a_changed_function_is_named_first() {
    let named_first = (0..20)
        .filter(|seed| {
            let found = difference(&two_builds(*seed, 6, 1.5));
            found.functions.first().is_some_and(|line| line.holds && line.name == "main.hash")
        })
        .count();
    assert!(named_first >= 18, "{named_first} of 20");
    let found = difference(&two_builds(1, 6, 1.5));
    assert_eq!(found.categories[0].name, APPLICATION);
    assert!(found.total.holds && found.functions_compared && found.blocks == 6);
    assert_eq!(
        found.sentence,
        "b uses 10.1 µs more CPU per request than a (8.2 µs to 12.0 µs): 9.9 µs in application \
         (main.hash); 0.2 µs is spread over the rest."
    );
}

#[test]
fn equal_builds_have_nothing_to_name() {
    let named = (0..100)
        .filter(|seed| {
            let found = difference(&two_builds(*seed, 5, 1.0));
            found.categories.iter().chain(&found.functions).any(|line| line.holds)
        })
        .count();
    assert!(named <= 5, "{named} of 100");
}

#[test]
fn nothing_is_named_from_fewer_than_four_blocks() {
    let found = difference(&two_builds(1, 3, 3.0));
    assert!(!found.total.holds);
    assert!(found.categories.iter().chain(&found.functions).all(|line| !line.holds));
    assert!(found.sentence.contains("3 profiled blocks: 4 are needed"), "{}", found.sentence);
    let found = difference(&two_builds(1, 1, 3.0));
    assert_eq!((found.total.interval, found.total.p), (None, None));
    assert!(found.sentence.contains("1 profiled block:"), "{}", found.sentence);
}

#[test]
fn parts_with_opposite_directions_and_the_rest_add_up() {
    let mut random = Random::new(3, 0);
    let a = [
        ("k:tcp_sendmsg;write", 1_000.0),
        ("runtime.mallocgc;main", 1_000.0),
        ("main.handler", 500.0),
    ];
    let b = [
        ("k:tcp_sendmsg;write", 1_800.0),
        ("runtime.mallocgc;main", 600.0),
        ("main.handler", 500.0),
    ];
    let profiles = (1..=6).flat_map(|block| {
        let (a, b) = (drawn(&mut random, &a), drawn(&mut random, &b));
        [profile("a", block, &a), profile("b", block, &b)]
    });
    let found = difference(&profiled(profiles.collect()));
    assert!(found.sentence.contains("in kernel TCP/IP (tcp_sendmsg)"), "{}", found.sentence);
    assert!(
        found.sentence.contains("µs less in allocation (runtime.mallocgc)"),
        "{}",
        found.sentence
    );
    let sum: f64 = found.categories.iter().map(|line| line.us).sum();
    assert!((sum - found.total.us).abs() < 1e-9);
}

#[test]
fn programs_in_different_languages_compare_by_category_only() {
    let a = [("k:tcp_sendmsg;write", 500), ("runtime.mallocgc;main", 500), ("main.serve", 500)];
    let b = [("k:tcp_sendmsg;write", 600), ("jit!java.lang.String.hash", 900), ("malloc", 200)];
    let profiles =
        (1..=4).flat_map(|block| [profile("a", block, &a), profile("b", block, &b)]).collect();
    let found = difference(&profiled(profiles));
    assert!(!found.functions_compared && found.functions.is_empty());
    assert!(!found.categories.is_empty());
}

#[test]
fn blocks_are_paired_by_number() {
    let block = |who, block, samples| profile(who, block, &[("main", samples)]);
    let record = profiled(vec![
        block("a", 1, 100),
        block("a", 2, 200),
        block("b", 2, 210),
        block("b", 3, 500),
        block("a", 4, 100),
        block("b", 4, 110),
    ]);
    let found = difference(&record);
    let us = (10 * PERIOD_NS) as f64 / 1e3 / CORRECT as f64;
    assert_eq!(found.blocks, 2);
    assert!((found.total.us - us).abs() < 1e-9, "{:?}", found.total);
}

#[test]
fn a_baseline_without_profiles_leaves_nothing_to_compare() {
    let found = causes(&profiled(vec![profile("b", 1, &[("main", 9)])]));
    assert_eq!((found.contenders.len(), found.differences.len()), (1, 0));
    assert_eq!(found.contenders[0].contender, name("b"));
    assert!(all_causes(&profiled(vec![]), &Categories::shipped()).is_empty());
}

#[test]
fn impossible_profiles_neither_panic_nor_vanish() {
    let mut lost_frames = profile("a", 1, &[("main", 7)]);
    lost_frames.frames.clear();
    let mut idle = profile("a", 2, &[("main", 7)]);
    idle.correct = 0;
    let mut huge = profile("a", 3, &[("main", 1), ("other", 1)]);
    huge.period_ns = u64::MAX;
    huge.stacks.iter_mut().for_each(|stack| stack.samples = u64::MAX);
    (huge.cpu_ns, huge.correct, huge.lost) = (u64::MAX, 1, u64::MAX);
    let mut empty = profile("b", 3, &[]);
    empty.period_ns = 0;
    let record = profiled(vec![lost_frames, idle, huge.clone(), huge, empty]);
    let found = causes(&record);
    let of_a = &found.contenders[0];
    assert_eq!(of_a.blocks, 2);
    assert!(of_a.notes.iter().any(|note| note.contains("block 2")), "{:?}", of_a.notes);
    assert!(of_a.categories.iter().any(|c| c.name == UNKNOWN && c.cost.us > 0.0));
    assert!(serde_json::to_string(&found).is_ok());
}

#[test]
fn notes_of_blocks_that_differ_in_a_number_are_joined() {
    let noted = |block, notes: &[&str]| {
        let mut of = profile("a", block, &[("main", 100)]);
        of.notes = notes.iter().map(|note| (*note).to_owned()).collect();
        of
    };
    let record = profiled(vec![
        noted(1, &["12 % of the samples are in x.", "Ended: 2 of 9.", "No symbols."]),
        noted(2, &["3 % of the samples are in x.", "Ended: 2 of 8.", "No symbols."]),
        noted(3, &["9 % of the samples are in x.", "perf-71.map lies.", "It took 1.5 s."]),
        noted(4, &["perf-72.map lies.", "It took 2.5 s.", "Threads: 5."]),
        noted(5, &["Threads: 4."]),
    ]);
    let found = &causes(&record).contenders[0];
    let expected = [
        "3 to 12 % of the samples are in x.",
        "Ended: 2 of 8.",
        "Ended: 2 of 9.",
        "It took 1.5 s.",
        "It took 2.5 s.",
        "No symbols.",
        "Threads: 4 to 5.",
        "perf-71.map lies.",
        "perf-72.map lies.",
    ];
    assert_eq!(found.notes, expected);
}

#[test]
fn functions_with_few_of_all_samples_are_not_compared() {
    let compared = |of_small| {
        let stacks = [("main.big;main", 4_980), ("main.small;main", of_small)];
        let blocks = (1..=4).flat_map(|block| ["a", "b"].map(|of| profile(of, block, &stacks)));
        let found = difference(&profiled(blocks.collect()));
        assert!(found.functions.iter().any(|line| line.name == "main.big"), "{found:?}");
        found.functions.iter().any(|line| line.name == "main.small")
    };
    assert!(!compared(20), "0.4 %");
    assert!(compared(30), "0.6 %");
}

#[test]
fn waits_are_shown_per_request() {
    let mut one = profile("a", 1, &[("main", 7)]);
    let call = |name: &str, calls| SystemCall { name: name.into(), calls, spent_ns: Some(CORRECT) };
    one.waits = Waits {
        run_queue_ns: Some(3_000 * CORRECT),
        voluntary_switches: 2 * CORRECT,
        system_calls: vec![call("read", CORRECT), call("write", 2 * CORRECT)],
        ..Waits::default()
    };
    let mut two = one.clone();
    two.block = 2;
    let waits = causes(&profiled(vec![one.clone(), two.clone()])).contenders.remove(0).waits;
    assert_eq!((waits.run_queue_us, waits.voluntary_switches), (Some(3.0), 2.0));
    assert_eq!((waits.system_calls[0].name.as_str(), waits.system_calls[0].calls), ("write", 2.0));
    two.waits.run_queue_ns = None;
    let waits = causes(&profiled(vec![one, two])).contenders.remove(0).waits;
    assert_eq!(waits.run_queue_us, None);
}

#[test]
fn calls_are_divided_by_the_responses_of_their_own_load() {
    let mut counted = profile("a", 1, &[("main", 7)]);
    counted.load = Some(SampledLoad { duration_ns: 3_000_000_000, response_ns: 600_000 });
    counted.waits = Waits {
        system_calls: vec![SystemCall { name: "write".into(), calls: 20, spent_ns: Some(40_000) }],
        traced: Some(TracedLoad { correct: CORRECT / 10_000, duration_ns: 1_000_000 }),
        pauses: Some(Pauses { count: 3, total_ns: 30_000_000, longest_ns: 20_000_000 }),
        ..Waits::default()
    };
    let mut refused = profile("a", 2, &[("main", 7)]);
    refused.load = counted.load;
    let found = causes(&profiled(vec![counted.clone(), refused])).contenders.remove(0);
    let call = found.waits.call("write").unwrap();
    assert_eq!((call.calls, call.spent_us), (2.0, Some(4.0)));
    assert_eq!(found.waits.pauses, None, "the second block has none");
    // 100,000 responses in 3 s, then 10 in 1 ms.
    let slow_down = found.waits.slow_down.unwrap();
    assert!((slow_down - 10.0 / 3.0).abs() < 1e-9, "{slow_down}");
    assert!(found.notes.iter().any(|note| note.contains("3.3× slower")), "{:?}", found.notes);
    let alone = causes(&profiled(vec![counted])).contenders.remove(0).waits.pauses.unwrap();
    assert!((alone.share - 0.01).abs() < 1e-9 && alone.count == 3.0, "{alone:?}");
    assert_eq!(alone.longest_us, 20_000.0);
}

/// Six blocks of two contenders that use the same CPU time. `b` takes `late_us` longer to respond,
/// and its waits are these.
fn waiting(late_us: u64, waits: &Waits) -> CpuDifference {
    let mut random = Random::new(5, 0);
    let mut of_block = |who, block: u64, response_us: u64, waits: &Waits| {
        let stacks = drawn(&mut random, &[("main.handler;main", 5_000.0)]);
        let scatter = 1_000 * (block % 3);
        let load =
            SampledLoad { duration_ns: 3_000_000_000, response_ns: 1_000 * response_us + scatter };
        let waits =
            Waits { run_queue_ns: waits.run_queue_ns.map(|ns| ns + scatter), ..waits.clone() };
        Profile { load: Some(load), waits, ..profile(who, block as u32, &stacks) }
    };
    let usual = Waits {
        run_queue_ns: Some(10_000 * CORRECT),
        pauses: Some(Pauses::default()),
        traced: Some(TracedLoad { correct: 100, duration_ns: 1_000_000 }),
        system_calls: vec![SystemCall {
            name: "write".into(),
            calls: 100,
            spent_ns: Some(400_000),
        }],
        ..Waits::default()
    };
    let waits = Waits { traced: usual.traced, ..waits.clone() };
    let profiles = (1..=6).flat_map(|block| {
        [of_block("a", block, 500, &usual), of_block("b", block, 500 + late_us, &waits)]
    });
    difference(&profiled(profiles.collect()))
}

#[test]
fn waits_are_named_where_cpu_time_does_not_explain_the_response() {
    let call = |name: &str, us: u64| SystemCall {
        name: name.into(),
        calls: 100,
        spent_ns: Some(100 * 1_000 * us),
    };
    let waits = Waits {
        run_queue_ns: Some(210_000 * CORRECT),
        pauses: Some(Pauses { count: 9, total_ns: 300_000_000, longest_ns: 90_000_000 }),
        system_calls: vec![call("write", 4), call("fsync", 104), call("epoll_wait", 9_000)],
        ..Waits::default()
    };
    let found = waiting(400, &waits);
    let of_waits = found.waits.as_ref().unwrap();
    assert!(of_waits.beyond_cpu && of_waits.response.holds, "{of_waits:?}");
    let names: Vec<&str> = of_waits.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["for a CPU", "in fsync", "for the garbage collector"]);
    assert!(
        found.sentence.ends_with(
            "b takes 400 µs longer to respond than a (400 µs to 400 µs), which CPU time does not \
             explain. Per request, its threads wait 200 µs longer for a CPU, 100 µs longer in \
             fsync, 90 µs longer for the garbage collector."
        ),
        "{}",
        found.sentence
    );
}

#[test]
fn late_responses_without_a_wait_are_reported_as_such() {
    let same = Waits { run_queue_ns: Some(10_000 * CORRECT), ..Waits::default() };
    let found = waiting(400, &same);
    assert!(found.sentence.ends_with("No wait that was measured differs along with it."));
    // 1 % is no difference to explain.
    let found = waiting(5, &Waits { run_queue_ns: Some(15_000 * CORRECT), ..Waits::default() });
    let of_waits = found.waits.unwrap();
    assert!(of_waits.response.holds && !of_waits.beyond_cpu);
    assert!(!found.sentence.contains("respond"), "{}", found.sentence);
}

#[test]
fn cpu_time_that_explains_the_response_leaves_no_wait_to_name() {
    let mut record = two_builds(1, 6, 3.0);
    for profile in &mut record.profiles {
        // A busy contender responds in proportion to its CPU time.
        let response_ns = 8 * profile.cpu_ns / CORRECT;
        profile.load = Some(SampledLoad { duration_ns: 3_000_000_000, response_ns });
        profile.waits.run_queue_ns = Some(7 * profile.cpu_ns);
    }
    let found = difference(&record);
    let waits = found.waits.unwrap();
    assert!(waits.response.holds && !waits.beyond_cpu && waits.lines[0].holds, "{waits:?}");
    assert!(!found.sentence.contains("respond"), "{}", found.sentence);
}

/// A profile explains a verdict and never decides it.
#[test]
fn verdicts_are_the_same_with_and_without_profiles() {
    let mut with = judge(&two_builds(1, 6, 2.0));
    let without = judge(&profiled(vec![]));
    assert!(!with.causes.is_empty() && without.causes.is_empty());
    with.causes.clear();
    let text = |judgement| serde_json::to_string(judgement).unwrap();
    assert_eq!(text(&with), text(&without));
}
