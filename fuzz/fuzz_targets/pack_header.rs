//! Any header before a pack that is otherwise good.
#![no_main]

#[path = "../../crates/tile-pack/src/exercise/header.rs"]
mod exercise;
#[path = "../../crates/tile-pack/src/exercise/whole.rs"]
mod whole;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
