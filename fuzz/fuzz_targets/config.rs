//! Any text at all, as file, flags and environment: answered, the same twice, and stable when printed.
#![no_main]

#[path = "../../crates/strict-config/src/exercise.rs"]
mod exercise;
#[path = "../../crates/strict-config/src/sample.rs"]
mod sample;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
