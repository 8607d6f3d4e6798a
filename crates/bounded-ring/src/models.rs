//! Loom models of the rings and slots, and the bugs they must catch.

use model_kit::explore;
use model_kit::hand::poll_once;

use crate::bug::{self, Bug};

mod brief_lock;
mod calls;
mod coalesce;
mod drop_oldest;
mod nudge;
mod reject_new;
mod slots;

fn catches(seed: Bug, test: &str) {
    model_kit::catches(bug::SWITCH, seed, test);
}
