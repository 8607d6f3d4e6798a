//! Any conditions on any method: a verdict that fits.
#![no_main]

#[path = "../../crates/http-rules/src/exercise/conditional.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
