//! Any requests of a client, cut anywhere: refused, or read in one way.
#![no_main]

#[path = "../../crates/http1-wire/src/exercise/request.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
