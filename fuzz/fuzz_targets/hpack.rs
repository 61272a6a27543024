#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| load::fuzzing::hpack(data));
