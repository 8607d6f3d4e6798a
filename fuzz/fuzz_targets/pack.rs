//! Any bytes as a pack, PMTiles or MBTiles.
#![no_main]

#[path = "../../crates/tile-pack/src/exercise/whole.rs"]
mod exercise;

libfuzzer_sys::fuzz_target!(|data: &[u8]| exercise::exercise(data));
