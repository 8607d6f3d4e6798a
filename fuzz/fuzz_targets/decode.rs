//! Any bytes as a coded body: bounded, and the same however they are split.
#![no_main]

#[path = "../../crates/http-rules/src/exercise/decode.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
