//! Loom models of the gate, and the bugs they must catch.

use std::time::Duration;

use model_kit::explore;
use model_kit::hand::poll_once;

use crate::bug::{self, Bug};
use crate::{Gate, GateConfig, KeyHandle, Limit};

mod breaker;
mod eviction;
mod handover;
mod limits;

const NOW: Duration = Duration::from_secs(1_000);

fn catches(seed: Bug, test: &str) {
    model_kit::catches(bug::SWITCH, seed, test);
}

fn gate(limit: Limit) -> Gate<u8> {
    Gate::new(GateConfig::new(limit)).expect("the limit makes sense")
}

fn door(limit: Limit) -> KeyHandle<u8> {
    gate(limit).handle(&0, NOW)
}
