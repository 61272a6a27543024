//! Fuzzes HTTP/1.1 connections. The property is in `crates/load/src/fuzzing.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| load::fuzzing::http1(data));
