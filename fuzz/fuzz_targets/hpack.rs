//! Fuzzes HPACK header blocks. The property is in `crates/load/src/fuzzing.rs`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| load::fuzzing::hpack(data));
