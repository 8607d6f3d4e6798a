//! What a build is watched at: some of every load the lab measures, so that the compiler sees what is done often.
//!
//! Nothing is measured. Whatever is left out here is taken for what hardly ever happens, so refusals belong here as
//! much as answers do.

use std::time::Duration;

use crate::cores;
use crate::peers::OTHER_CORE;
use crate::turns::Turns;
use crate::{edge, fairness, kill, proxy};

/// What it is called by.
pub const NAME: &str = "train";

const LENGTH: Duration = Duration::from_secs(2);

/// Loads the node with one thing after another.
pub fn train() -> Result<(), String> {
    cores::pin(OTHER_CORE);
    let turns = Turns {
        rounds: 1,
        length: LENGTH,
    };
    let tell = |what: &str| println!("{NAME}: {what}");
    tell("requests passed on");
    proxy::train(turns)?;
    tell("tiles");
    edge::train(turns)?;
    tell("more tenants than there is room for");
    fairness::train(LENGTH)?;
    tell("requests handed to workers, over HTTP and in frames");
    kill::train(LENGTH)
}
