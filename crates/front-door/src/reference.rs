//! The door's part of the generated reference.

use kernel::reference::Tables;

use crate::{door, h1, h2, pulse};

/// What every door brings into the node.
pub static TABLES: Tables = Tables {
    queues: &[],
    tasks: &[],
    locks: &[
        &pulse::PULSES,
        &pulse::OWNER,
        &h2::INFLOW,
        &h1::MAIL,
        &h1::UPGRADE,
    ],
    metrics: &[&door::CUT, &door::HANDSHAKES, &door::FAILURES],
};
