//! A test service with known costs, in Rust: it answers `GET /` after ten functions have each
//! burned a known amount of CPU time.
//!
//! `make why-truth` compares two processes of it. One runs with `--function NAME --factor 1.3`,
//! which repeats the work of that function 1.3 times. `faceoff why` must name it.
//! The services in Go and Java do the same work with the same names. Each function calls nothing,
//! so that all of its CPU time is its own. Start with `PARTS`.

use std::fmt::Display;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::exit;

/// What the functions read and write.
struct Work {
    text: [u8; 256],
    numbers: [u64; 24],
    out: [u8; 512],
    sum: u64,
}

type Part = (&'static str, fn(&mut Work, u32), u32);

/// Each function with its name and how often a request repeats its work. The first five are hot:
/// each costs about 60 µs, and the others 12 µs.
const PARTS: [Part; 10] = [
    ("hash_bytes", hash_bytes, 930),
    ("check_sum", check_sum, 1200),
    ("sort_numbers", sort_numbers, 270),
    ("parse_digits", parse_digits, 610),
    ("encode_base64", encode_base64, 2700),
    ("format_digits", format_digits, 680),
    ("count_words", count_words, 60),
    ("multiply_matrix", multiply_matrix, 330),
    ("find_pattern", find_pattern, 125),
    ("compress_runs", compress_runs, 75),
];

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
    Content-Length: 32\r\n\r\n{\"service\":\"why\",\"functions\":10}";

impl Work {
    fn new() -> Work {
        let mut text = [0; 256];
        for (at, byte) in text.iter_mut().enumerate() {
            *byte = b"1702,44 aab9,, 305 zz81"[at % 23];
        }
        Work { text, numbers: [0; 24], out: [0; 512], sum: 1 }
    }
}

#[inline(never)]
fn hash_bytes(work: &mut Work, rounds: u32) {
    for _ in 0..rounds {
        let mut hash = 0xcbf2_9ce4_8422_2325 ^ work.sum;
        for byte in &work.text[..64] {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        work.sum = work.sum.wrapping_add(hash);
    }
}

#[inline(never)]
fn check_sum(work: &mut Work, rounds: u32) {
    for _ in 0..rounds {
        let mut check = work.sum as u32;
        for byte in &work.text[..12] {
            check ^= u32::from(*byte);
            for _ in 0..8 {
                check = (check >> 1) ^ (0xedb8_8320 & 0u32.wrapping_sub(check & 1));
            }
        }
        work.sum = work.sum.wrapping_add(u64::from(check));
    }
}

#[inline(never)]
fn sort_numbers(work: &mut Work, rounds: u32) {
    for _ in 0..rounds {
        let mut seed = work.sum;
        for number in &mut work.numbers {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
            *number = seed >> 33;
        }
        for at in 1..work.numbers.len() {
            let number = work.numbers[at];
            let mut place = at;
            while place > 0 && work.numbers[place - 1] > number {
                work.numbers[place] = work.numbers[place - 1];
                place -= 1;
            }
            work.numbers[place] = number;
        }
        work.sum = work.sum.wrapping_add(work.numbers[11]);
    }
}

#[inline(never)]
fn parse_digits(work: &mut Work, rounds: u32) {
    for round in 0..rounds {
        work.text[round as usize & 127] ^= 1;
        let mut value = work.sum & 7;
        for byte in &work.text[..128] {
            match byte {
                b'0'..=b'9' => value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')),
                _ => value = value >> 3 ^ 5,
            }
        }
        work.sum = work.sum.wrapping_add(value);
    }
}

#[inline(never)]
fn encode_base64(work: &mut Work, rounds: u32) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for round in 0..rounds {
        work.text[round as usize & 63] ^= 1;
        for group in 0..20 {
            let at = 3 * group;
            let bits = u32::from(work.text[at]) << 16
                | u32::from(work.text[at + 1]) << 8
                | u32::from(work.text[at + 2]);
            for place in 0..4 {
                let letter = bits >> (18 - 6 * place) & 63;
                work.out[4 * group + place as usize] = LETTERS[letter as usize];
            }
        }
        work.sum = work.sum.wrapping_add(u64::from(work.out[round as usize & 63]));
    }
}

#[inline(never)]
fn format_digits(work: &mut Work, rounds: u32) {
    for _ in 0..rounds {
        let mut value = work.sum | 1 << 63;
        let mut at = 0;
        while value > 0 {
            work.out[at & 511] = b'0' + (value % 10) as u8;
            value /= 10;
            at += 1;
        }
        work.sum = work.sum.wrapping_add(u64::from(work.out[3]));
    }
}

#[inline(never)]
fn count_words(work: &mut Work, rounds: u32) {
    for round in 0..rounds {
        work.text[round as usize & 255] ^= 1;
        let (mut words, mut is_in_word) = (0, false);
        for byte in &work.text {
            let is_letter = *byte > b',';
            if is_letter && !is_in_word {
                words += work.sum & 3 | 1;
            }
            is_in_word = is_letter;
        }
        work.sum = work.sum.wrapping_add(words);
    }
}

#[inline(never)]
fn multiply_matrix(work: &mut Work, rounds: u32) {
    for _ in 0..rounds {
        let mut total = work.sum;
        for row in 0..4 {
            for column in 0..4 {
                for at in 0..4 {
                    let product =
                        work.numbers[4 * row + at].wrapping_mul(work.numbers[4 * at + column]);
                    total = total.rotate_left(1).wrapping_add(product);
                }
            }
        }
        work.sum = total;
    }
}

#[inline(never)]
fn find_pattern(work: &mut Work, rounds: u32) {
    for round in 0..rounds {
        work.text[round as usize & 255] ^= 1;
        let mut found = 0;
        for at in 0..254 {
            if work.text[at] == b'z' && work.text[at + 1] == b'z' && work.text[at + 2] == b'8' {
                found += at as u64 ^ work.sum;
            }
        }
        work.sum = work.sum.wrapping_add(found);
    }
}

#[inline(never)]
fn compress_runs(work: &mut Work, rounds: u32) {
    for round in 0..rounds {
        work.text[round as usize & 255] ^= 1;
        let (mut written, mut at) = (0, 0);
        while at < 256 {
            let byte = work.text[at];
            let mut run = 1;
            while at + run < 256 && work.text[at + run] == byte {
                run += 1;
            }
            work.out[written & 511] = run as u8;
            work.out[(written + 1) & 511] = byte;
            written += 2;
            at += run;
        }
        work.sum = work.sum.wrapping_add(written as u64);
    }
}

/// The options of the command line.
struct Options {
    port: u16,
    function: String,
    factor: f64,
    measure: bool,
}

impl Options {
    fn parse() -> Options {
        let mut options = Options { port: 0, function: String::new(), factor: 1.0, measure: false };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value =
                || words.next().unwrap_or_else(|| fail(format!("{word} needs a value")));
            match word.as_str() {
                "--port" => options.port = value().parse().unwrap_or_else(|e| fail(e)),
                "--function" => options.function = value(),
                "--factor" => options.factor = value().parse().unwrap_or_else(|e| fail(e)),
                "--measure" => options.measure = true,
                _ => fail(format!("unknown option {word}")),
            }
        }
        let is_known = PARTS.iter().any(|(name, ..)| *name == options.function);
        if !options.function.is_empty() && !is_known {
            fail(format!("unknown function {}", options.function));
        }
        options
    }

    /// Returns the functions with their repetitions.
    fn parts(&self) -> [Part; 10] {
        PARTS.map(|(name, run, rounds)| {
            let factor = if name == self.function { self.factor } else { 1.0 };
            (name, run, (f64::from(rounds) * factor).round() as u32)
        })
    }
}

fn fail(why: impl Display) -> ! {
    eprintln!("error: {why}");
    exit(2)
}

fn main() {
    let options = Options::parse();
    let parts = options.parts();
    if options.measure {
        return measure(&parts);
    }
    let listener =
        TcpListener::bind(("127.0.0.1", options.port)).unwrap_or_else(|error| fail(error));
    match listener.local_addr() {
        Ok(address) => println!("{}", address.port()),
        Err(error) => fail(error),
    }
    for connection in listener.incoming().flatten() {
        std::thread::spawn(move || serve(&connection, &parts));
    }
}

/// CPU time of this thread in nanoseconds, to a tick of the kernel: other programs may run too.
fn cpu_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat");
    let ns = text.ok().and_then(|text| text.split(' ').next()?.parse().ok());
    ns.unwrap_or_else(|| fail("the CPU time of this thread cannot be read"))
}

/// Prints each function with its repetitions and its nanoseconds of CPU time per request.
fn measure(parts: &[Part]) {
    const CALLS: u32 = 2_000;
    for (name, run, rounds) in parts {
        let mut work = Work::new();
        let mut begin = cpu_ns();
        for call in 0..2 * CALLS {
            if call == CALLS {
                begin = cpu_ns();
            }
            run(&mut work, *rounds);
        }
        let ns = (cpu_ns() - begin) / f64::from(CALLS);
        black_box(work.sum);
        println!("{name} {rounds} {ns:.1}");
    }
}

/// Answers the requests of a connection until its client closes it.
fn serve(connection: &TcpStream, parts: &[Part]) {
    let _ = connection.set_nodelay(true);
    let (mut reader, mut writer) = (BufReader::new(connection), connection);
    let mut line = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(length) if length > 0 => {}
            _ => return,
        }
        if line != "\r\n" {
            continue;
        }
        let mut work = Work::new();
        for (_, run, rounds) in parts {
            run(&mut work, *rounds);
        }
        black_box(work.sum);
        if writer.write_all(ANSWER.as_bytes()).is_err() {
            return;
        }
    }
}
