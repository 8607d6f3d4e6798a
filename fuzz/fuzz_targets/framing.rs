//! Any head and any path: refused, or clean by every law there is for them.
#![no_main]

#[path = "../../crates/http-rules/src/exercise/framing.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
