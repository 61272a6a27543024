//! Times. Only lower bounds are tested: any additional time depends on the machine.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use crate::support::{Control, PATIENCE, filler, get};

fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let outcome = act();
    (outcome, start.elapsed())
}

#[test]
fn a_response_is_never_early() {
    for flags in ["--delay 10ms", "--delay 10ms --no-exact"] {
        let control = Control::start(flags);
        let mut client = control.connect();
        for _ in 0..20 {
            let (answer, took) = timed(|| client.get("/"));
            assert_eq!(answer.body, filler(74));
            assert!(took >= Duration::from_millis(10), "{flags}: {took:?}");
        }
        assert_eq!(control.stat("delayed"), 20);
        assert!(
            control.stat("late_max_ns") * 20 >= control.stat("late_ns")
                && control.stat("late_ns") > 0
        );
    }
}

#[test]
fn a_path_can_set_the_delay() {
    let control = Control::start("--delay 60m --delay-from-path");
    let mut client = control.connect();
    for (path, least) in [("/20", 20), ("/0", 0), ("/20?delay=5ms", 5), ("/?delay=5ms", 5)] {
        let (answer, took) = timed(|| client.get(path));
        assert_eq!((answer.status, answer.body), (200, filler(74)), "{path}");
        assert!(took >= Duration::from_millis(least), "{path}: {took:?}");
    }
    // Without the flag, a path has no meaning.
    assert_eq!(Control::start("").get("/3600000").status, 200);
}

#[test]
fn delays_run_in_parallel() {
    let control = Control::start("--delay 50ms");
    let mut waiting = control.connect();
    waiting.send(get("/?delay=60m"));
    control.until("requests", 1);
    let mut clients: Vec<_> = (0..20).map(|_| control.connect()).collect();
    let ((), took) = timed(|| {
        for client in &mut clients {
            // On one connection the responses keep their order, with any delays.
            client.send(get("/") + &get("/?delay=1us&status=404"));
        }
        for client in &mut clients {
            assert_eq!((client.answer().status, client.answer().status), (200, 404));
        }
    });
    assert!(took >= Duration::from_millis(50), "{took:?}");
    assert_eq!((control.stat("requests"), control.stat("answers")), (41, 40));
}

#[test]
fn the_delay_counts_from_the_last_byte() {
    let control = Control::start("--delay 50ms");
    let mut client = control.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
    std::thread::sleep(Duration::from_millis(60));
    let (_, took) = timed(|| {
        client.send("b");
        client.answer()
    });
    assert!(took >= Duration::from_millis(50), "{took:?}");
}

#[test]
fn warming_up_costs_cpu_time_until_it_is_over() {
    let control = Control::start("--cpu 1ms --warm-over 60m --warm-factor 8");
    let mut client = control.connect();
    client.get("/");
    let first = control.stat("cpu_ns");
    assert!(first >= 7_900_000, "{first}");
    let control = Control::start("--cpu 10ms --warm-over 1ms --warm-factor 0.1");
    let mut client = control.connect();
    client.get("/?cpu=0us");
    std::thread::sleep(Duration::from_millis(2));
    client.get("/");
    assert!(control.stat("cpu_ns") >= 10_000_000);
}

#[test]
fn cpu_time_is_really_used() {
    let control = Control::start("--cpu 10ms --scale-cpu 1.5");
    let mut client = control.connect();
    for _ in 0..10 {
        let (_, took) = timed(|| client.get("/"));
        assert!(took >= Duration::from_millis(15), "{took:?}");
    }
    client.send(get("/").repeat(10));
    for _ in 0..10 {
        client.answer();
    }
    client.get("/?cpu=0us");
    let burnt = control.stat("cpu_ns");
    assert!(burnt >= 20 * 15_000_000, "{burnt}");
    // The kernel's accounting, in ticks of 10 ms: user and system time are the 14th and 15th
    // fields.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", control.id())).unwrap();
    let ticks: u64 = stat
        .rsplit(") ")
        .next()
        .unwrap()
        .split(' ')
        .skip(11)
        .take(2)
        .map(|field| field.parse::<u64>().unwrap())
        .sum();
    assert!(ticks + 2 >= 30, "{ticks} ticks");
}

#[test]
fn each_response_is_sent_after_its_own_work() {
    let control = Control::start("--cpu 1ms");
    let mut client = control.connect();
    // The second keeps the server busy for longer than the test waits.
    client.send(get("/") + &get("/?cpu=60m"));
    assert_eq!(client.answer().status, 200);
}

#[test]
fn everything_stalls_on_schedule() {
    let control = Control::start("--stall-every 600ms --stall-for 300ms");
    let mut client = control.connect();
    let before = Instant::now();
    client.get("/");
    let after = Instant::now();
    // The schedule started in between. From `after + n * 600 ms` on, for as long as it is not yet
    // `before + n * 600 ms + 300 ms`, the server certainly stalls. A slow machine may miss
    // that time, so there are many.
    for stall in 1.. {
        assert!(before.elapsed() < PATIENCE, "never hit a stall");
        let (begins, ends) = (
            after + Duration::from_millis(600) * stall,
            before + Duration::from_millis(600) * stall,
        );
        let ends = ends + Duration::from_millis(300);
        std::thread::sleep(begins.saturating_duration_since(Instant::now()));
        let mut other = control.connect();
        let old = (client.send(get("/")), Instant::now()).1;
        let new = (other.send(get("/")), Instant::now()).1;
        client.answer();
        let client_answered = Instant::now();
        other.answer();
        let other_answered = Instant::now();
        if old.max(new) < ends {
            assert!(
                client_answered >= ends && other_answered >= ends,
                "answered while standing still"
            );
            assert!(control.stat("stalls") >= u64::from(stall));
            return;
        }
    }
}

#[test]
fn a_body_is_sent_byte_by_byte() {
    for flags in [
        "--drip 5ms --body-size 20",
        "--drip 5ms --body-size 20 --chunked",
        "--drip 5ms --body-size 20 --no-length",
    ] {
        let control = Control::start(flags);
        let mut client = control.connect();
        let (answer, took) = timed(|| client.get("/"));
        assert_eq!(answer.body, filler(20), "{flags}");
        assert!(took >= Duration::from_millis(5 * 18), "{flags}: {took:?}");
        if flags.ends_with("chunked") {
            assert_eq!(answer.chunks.len(), 21, "a byte a chunk, and the last");
        }
    }
}

#[test]
fn it_is_ready_late() {
    let start = Instant::now();
    let control = Control::start("--ready-after 400ms");
    while let Err(error) = control.try_connect() {
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert!(start.elapsed() < PATIENCE, "never ready");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(start.elapsed() >= Duration::from_millis(400), "ready early");
    assert_eq!(control.get("/").status, 200);
}

#[test]
fn a_pool_limits_concurrent_delays() {
    for flags in ["--delay 20ms --pool 3", "--delay 20ms --pool 3 --threads 2"] {
        let control = Control::start(flags);
        let mut clients: Vec<_> = (0..12).map(|_| control.connect()).collect();
        let ((), took) = timed(|| {
            clients.iter_mut().for_each(|client| client.send(get("/")));
            clients.iter_mut().for_each(|client| assert_eq!(client.answer().status, 200));
        });
        assert!(took >= Duration::from_millis(80), "four rounds of three: {took:?}");
        // A request without a delay needs no slot.
        clients[0].send(get("/?delay=60m"));
        clients[1].send(get("/?delay=60m") + &get("/?delay=60m"));
        control.until("requests", 15);
        assert_eq!(clients[2].get("/?delay=0ms").status, 200);
        clients[3].send(get("/?delay=1us"));
        assert!(clients[3].is_silent(), "every place is taken");
    }
}

/// Tests the kernel's rule, not the machine's speed: the second write waits for a delayed
/// acknowledgement.
#[test]
fn split_writes_meet_delayed_acknowledgements() {
    let slow = |flags: &str| {
        let control = Control::start(flags);
        let mut client = control.connect();
        let took = (0..60).map(|_| timed(|| assert_eq!(client.get("/").body, filler(74))).1);
        took.filter(|took| *took >= Duration::from_millis(36)).count()
    };
    let split = slow("--split-writes");
    assert!(split >= 10, "{split} of 60");
    assert_eq!(Control::start("--split-writes --chunked=7").get("/").body, filler(74));
    assert_eq!(Control::start("--split-writes").connect().head("/").status, 200);
}
