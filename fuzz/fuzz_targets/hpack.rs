//! Any blocks of a connection: broken, or unpacked into fields of which the unfit are called so.
#![no_main]

#[path = "../../crates/http2-wire/src/exercise/hpack.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
