//! A simulation from its seed to its report.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use kernel::drain::Outcome;
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::config::{self, ORIGINS};
use crate::crowd::{self, Season};
use crate::fault;
use crate::judge::{self, Rest};
use crate::network::Net;
use crate::operator;
use crate::origin;
use crate::world::World;

/// The end of each period, without faults and, after a while, without load.
const REST: Duration = Duration::from_secs(180);
/// How long connections may linger once nobody uses them.
const IDLE: Duration = Duration::from_secs(110);
/// Bytes that may be in use at a rest beyond those at the first ones.
const GROWTH_BYTES: usize = 256 * 1024;
/// Rests until everything that is kept once has been needed once.
const WARM: usize = 2;

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Decides everything.
    pub seed: u64,
    /// Each with load, faults, and a rest.
    pub periods: u64,
    /// How long one is.
    pub period: Duration,
    /// Requests a second at the peak of the day.
    pub rps: f64,
    /// Whether the node and its origins are not as they were promised, to see that it is seen.
    pub broken: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            seed: 1,
            periods: 24,
            period: Duration::from_secs(3600),
            rps: 12.0,
            broken: false,
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Report {
    text: String,
    /// Promises that were not kept.
    pub violations: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Simulates on a thread of its own runtime, in virtual time.
pub fn run(plan: Plan) -> Result<Report, String> {
    fastrand::seed(plan.seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    LocalSet::new().block_on(&runtime, simulate(plan))
}

async fn simulate(plan: Plan) -> Result<Report, String> {
    kernel::clock::set_unix_time(Duration::from_secs(1_800_000_000));
    let net = Net::new(plan.seed);
    let _installed = kernel::net::install(Arc::new(net.clone()));
    let config = match plan.broken {
        false => config::text(0),
        true => config::text(0).replace("weight = 3", "weight = 1"),
    };
    let config = Arc::new(ArcSwap::from_pointee(config));
    let node = macronode::simulation::node(config.clone())?;
    let world = World::new(net, node.kernel, config, plan.broken);
    for address in ORIGINS {
        origin::begin(&world, address).map_err(|error| format!("{address}: {error}"))?;
    }
    let mut life = tokio::task::spawn_local(node.life);
    judge::recovered(&world, "its start").await;
    let mut rests: Vec<Rest> = Vec::new();
    for number in 0..plan.periods {
        period(&world, plan, number).await;
        let rest = judge::resting(&world, rests.first());
        tell(&world, number, &rest);
        grown(&world, &rests, &rest);
        rests.push(rest);
        if life.is_finished() {
            return Err("the node ended before it was told to".to_owned());
        }
    }
    end(&world, plan, &mut life).await?;
    Ok(report(&world, plan, &rests))
}

async fn period(world: &Arc<World>, plan: Plan, number: u64) {
    let seed = plan.seed.wrapping_mul(1_000_003).wrapping_add(number * 101);
    let until = world.began + plan.period * (number + 1) as u32;
    let season = Season {
        seed,
        until: until - REST + Duration::from_secs(30),
        rps: plan.rps,
        day: plan.period * plan.periods as u32,
    };
    let faults = fault::befall(world, seed.wrapping_add(50), until - REST);
    tokio::join!(crowd::visit(world, season), faults);
    sleep_until(until.max(Instant::now() + IDLE)).await;
}

/// Memory at rest stays where it was.
fn grown(world: &World, rests: &[Rest], rest: &Rest) {
    let warm = rests.iter().take(WARM + 1).map(|rest| rest.bytes).max();
    if let (Some(warm), true) = (warm, rests.len() > WARM)
        && rest.bytes > warm + GROWTH_BYTES
    {
        let bytes = rest.bytes;
        world.violated(format!("{bytes} bytes in use at rest, {warm} when warm"));
    }
}

/// Told to end while everybody asks: what was accepted is answered, and nothing is left.
async fn end(world: &Arc<World>, plan: Plan, life: &mut JoinHandle<Outcome>) -> Result<(), String> {
    let season = Season {
        seed: plan.seed ^ 0xe4d,
        until: Instant::now() + Duration::from_secs(60),
        rps: plan.rps * 4.0,
        day: plan.period * plan.periods as u32,
    };
    let told = async {
        sleep(Duration::from_secs(20)).await;
        world.state().draining = true;
        let told = Instant::now();
        operator::drain(world).await;
        (timeout(Duration::from_secs(60), life).await, told.elapsed())
    };
    let ((), (ended, took)) = tokio::join!(crowd::visit(world, season), told);
    match ended {
        Ok(Ok(Outcome::Drained)) if took < Duration::from_secs(5) => {}
        other => world.violated(format!("the end was {other:?} after {took:?}")),
    }
    judge::gone(world);
    Ok(())
}

/// For who watches.
fn tell(world: &World, number: u64, rest: &Rest) {
    let books = world.books();
    eprintln!(
        "period {:>3}: {} requests, {} violations, {} KiB in use at rest",
        number + 1,
        books.ended,
        books.violated,
        rest.bytes / 1024
    );
}

fn report(world: &World, plan: Plan, rests: &[Rest]) -> Report {
    use fmt::Write as _;
    let (books, mut text) = (world.books(), String::new());
    let hours = (plan.period * plan.periods as u32).as_secs_f64() / 3600.0;
    let _ = writeln!(
        text,
        "seed {}: {hours:.1} h of virtual time, {} requests",
        plan.seed, books.ended
    );
    for (fate, count) in &books.fates {
        let _ = writeln!(text, "  {fate:20} {count}");
    }
    for (deed, count) in &books.deeds {
        let _ = writeln!(text, "  {count:4} × {deed}");
    }
    let bytes = rests.iter().map(|rest| rest.bytes / 1024);
    let (least, most) = (bytes.clone().min(), bytes.max());
    let _ = writeln!(
        text,
        "in use at rest: {} to {} KiB over {} rests",
        least.unwrap_or_default(),
        most.unwrap_or_default(),
        rests.len()
    );
    for violation in &books.violations {
        let _ = writeln!(text, "VIOLATION {violation}");
    }
    let word = if books.violated == 0 { "PASS" } else { "MISS" };
    let (violated, digest) = (books.violated, books.digest());
    let _ = write!(text, "{word}: {violated} violations; digest {digest:016x}");
    Report {
        text,
        violations: violated,
    }
}
