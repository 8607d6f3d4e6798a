//! Any answer at any time: kept only where it may be, fresh only while it is.
#![no_main]

#[path = "../../crates/http-rules/src/exercise/cache.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
