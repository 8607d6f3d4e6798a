//! Any range of anything: within, once, and never more than the whole.
#![no_main]

#[path = "../../crates/http-rules/src/exercise/range.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
