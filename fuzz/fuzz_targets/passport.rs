//! Any bytes as `Authorization` and as a key set: answered, the same twice, never wider than before.
#![no_main]

#[path = "../../crates/passport/src/exercise.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    exercise::exercise(data);
});
