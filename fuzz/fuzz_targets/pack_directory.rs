//! Any bytes as root and leaf directories.
#![no_main]

#[path = "../../crates/tile-pack/src/exercise/directory.rs"]
mod exercise;
#[path = "../../crates/tile-pack/src/exercise/whole.rs"]
mod whole;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
