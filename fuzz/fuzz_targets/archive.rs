#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fixpoint::digest::fuzz::archive(data));
