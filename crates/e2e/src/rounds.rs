//! Many rounds of one test, each from a seed that a failure prints, a few at a time.

use testkit::sim::{self, Rng};
use tokio::runtime::Handle;

/// Rounds at a time: the whole stays short, and the machine is never idle.
const LANES: u64 = 4;

/// Plays `count` rounds.
///
/// # Panics
/// If one of them does; its seed has been printed then.
pub async fn rounds<F, R>(name: &'static str, count: u64, round: F)
where
    F: Fn(Rng) -> R + Clone + Send + 'static,
    R: Future<Output = ()>,
{
    let lane = |lane: u64| {
        let (round, runtime) = (round.clone(), Handle::current());
        let share = count / LANES + u64::from(lane < count % LANES);
        tokio::task::spawn_blocking(move || {
            sim::run(&format!("{name}, lane {lane}"), share, |rng| {
                runtime.block_on(round(rng.fork()));
            });
        })
    };
    let lanes: Vec<_> = (0..LANES.min(count)).map(lane).collect();
    // All end before one may fail the test: else the others fail as well, for want of a runtime.
    let mut ended = Vec::new();
    for lane in lanes {
        ended.push(lane.await);
    }
    for lane in ended {
        lane.expect("every round of the lane passes");
    }
}
