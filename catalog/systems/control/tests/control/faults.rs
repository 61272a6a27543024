//! Faulty responses: exactly the requested ones, and counted exactly.

use std::io::ErrorKind;

use crate::support::{Control, filler, get};

#[test]
fn every_nth_body_has_one_wrong_byte() {
    let control = Control::start("--wrong-every 3");
    // Counted over the process, not the connection.
    let mut clients = [control.connect(), control.connect()];
    for number in 1..=300_usize {
        let answer = clients[number % 2].get("/");
        let mut right = filler(74);
        if number % 3 == 0 {
            // Another byte each time, so every byte is wrong once.
            right[(number / 3 - 1) % 74] ^= 1;
        }
        assert_eq!((answer.status, answer.body), (200, right), "{number}");
    }
    assert_eq!(
        (control.stat("wrong"), control.stat("answers"), control.stat("requests")),
        (100, 300, 300)
    );
}

#[test]
fn wrong_bodies_in_chunks_and_pipelines() {
    let control = Control::start("--wrong-every 10 --chunked=7");
    let mut client = control.connect();
    client.send(get("/").repeat(1000));
    let wrong = (0..1000).filter(|_| client.answer().body != filler(74)).count();
    assert_eq!((wrong, control.stat("wrong")), (100, 100));
}

#[test]
fn every_response_can_be_wrong() {
    let control = Control::start("--wrong-every 1");
    let mut client = control.connect();
    assert!((0..200).all(|_| client.get("/").body != filler(74)));
    assert_eq!(client.head("/").status, 200);
    assert_eq!(
        (control.stat("wrong"), control.stat("answers")),
        (200, 201),
        "without a body nothing can be wrong"
    );
}

#[test]
fn every_nth_response_has_the_status() {
    let control = Control::start("--status-every 7:429");
    let mut client = control.connect();
    for number in 1..=100 {
        assert_eq!(client.get("/").status, if number % 7 == 0 { 429 } else { 200 });
    }
    assert_eq!(control.stat("statuses"), 14);
}

#[test]
fn the_first_responses_have_status_503() {
    let control = Control::start("--warm-after 5");
    let mut client = control.connect();
    let statuses: Vec<u16> = (0..8).map(|_| client.get("/").status).collect();
    assert_eq!(statuses, [503, 503, 503, 503, 503, 200, 200, 200]);
    assert_eq!(control.stat("warming"), 5);
}

#[test]
fn every_nth_connection_is_reset() {
    let control = Control::start("--reset-every 4");
    for round in 1..=5 {
        let mut client = control.connect();
        client.send(get("/").repeat(6));
        for _ in 0..3 {
            assert_eq!(client.answer().status, 200, "those before it are whole");
        }
        assert_eq!(client.rest(), (vec![], true));
        control.until("resets", round);
    }
    control.until("dropped", 10);
    assert_eq!((control.stat("answers"), control.stat("requests")), (15, 30));
}

#[test]
fn connections_close_without_an_announcement() {
    let control = Control::start("--close-every 3");
    for _ in 0..4 {
        let mut client = control.connect();
        client.send(get("/").repeat(5));
        for _ in 0..3 {
            let answer = client.answer();
            assert_eq!((answer.header("connection"), &answer.body), (None, &filler(74)));
        }
        assert_eq!(client.rest(), (vec![], false), "closed, not reset");
    }
    assert_eq!(
        (control.stat("closes"), control.stat("answers"), control.stat("dropped")),
        (4, 12, 8)
    );
}

#[test]
fn every_nth_body_is_cut() {
    let control = Control::start("--cut-every 2");
    for _ in 0..3 {
        let mut client = control.connect();
        assert_eq!(client.get("/").status, 200);
        client.send(get("/"));
        let (bytes, reset) = client.rest();
        let text = String::from_utf8(bytes).unwrap();
        assert!(
            text.contains("content-length: 74\r\n")
                && text.ends_with(std::str::from_utf8(&filler(37)).unwrap()),
            "{text}"
        );
        assert!(!reset);
    }
    assert_eq!((control.stat("cuts"), control.stat("answers")), (3, 3));

    let control = Control::start("--cut-every 1 --chunked=10");
    let mut client = control.connect();
    client.send(get("/"));
    assert_eq!(client.try_answer().unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn every_nth_response_is_garbage() {
    let control = Control::start("--garbage-every 2");
    for _ in 0..3 {
        let mut client = control.connect();
        assert_eq!(client.get("/").status, 200);
        client.send(get("/"));
        let (bytes, reset) = client.rest();
        assert!(!bytes.is_empty() && !bytes.starts_with(b"HTTP") && !reset);
    }
    assert_eq!((control.stat("garbage"), control.stat("answers")), (3, 3));
}

#[test]
fn counts_add_up_over_threads() {
    let control = Control::start("--threads 3 --wrong-every 10 --reset-every 7 --close-every 11");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..250 {
                    // A connection for each request, so no fault affects another request.
                    let mut client = control.connect();
                    client.send(get("/"));
                    // Resets are counted below.
                    let _ = client.try_answer();
                }
            });
        }
    });
    control.until("requests", 1000);
    // Every 7th is reset; of the others every 10th is wrong and every 11th is closed.
    control.until("resets", 142);
    control.until("answers", 858);
    let wrong = (1..=1000).filter(|number| number % 10 == 0 && number % 7 != 0).count() as u64;
    let closes = (1..=1000).filter(|number| number % 11 == 0 && number % 7 != 0).count() as u64;
    assert_eq!(
        (control.stat("wrong"), control.stat("closes"), control.stat("dropped")),
        (wrong, closes, 0)
    );
}
