//! The door's part of the generated reference.

use kernel::reference::Tables;

use crate::{door, pulse};

/// What every door brings into the node.
pub static TABLES: Tables = Tables {
    queues: &[],
    tasks: &[],
    locks: &[&pulse::PULSES],
    metrics: &[&door::TURNED_AWAY],
};
