//! Any bytes: the same frames wherever they are cut, and a server within its limits.
#![no_main]

#[path = "../../crates/oap/src/exercise/frames.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
