//! A node under load for minutes: memory, descriptors and tasks must not grow.

use std::time::{Duration, Instant};

use testkit::load::{Load, Stream};
use testkit::process::Process;

use crate::node::start_node;

/// One look at the node.
struct Look {
    resident_mib: f64,
    fds: f64,
    live_tasks: f64,
}

/// Runs for so long; says each second what it sees and at the end whether something grew.
pub fn soak(minutes: f64) -> bool {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("the machine has threads to give");
    runtime.block_on(run(Duration::from_secs_f64(minutes * 60.0)))
}

async fn run(length: Duration) -> bool {
    let node = start_node(&["demo.rate=100", "demo.crash_every_ms=500", "demo.workers=8"]).await;
    let door = node
        .addr("demo", Duration::from_secs(1))
        .await
        .expect("the demonstration has a door");
    let steady = Stream::new("steady", 300.0).path("/work?ms=5");
    let bursts = Stream::new("slow", 20.0).path("/work?ms=200");
    let load = Load::new(door)
        .stream(steady)
        .stream(bursts)
        .duration(length)
        .start();
    let began = Instant::now();
    let mut looks = Vec::new();
    while began.elapsed() < length {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let look = look(&node).await;
        eprintln!(
            "{:>6.0} s of {:.0}: {:.1} MiB, {} descriptors, {} tasks",
            began.elapsed().as_secs_f64(),
            length.as_secs_f64(),
            look.resident_mib,
            look.fds,
            look.live_tasks
        );
        looks.push(look);
    }
    let report = load.finish().await;
    let failed: u64 = report
        .streams
        .iter()
        .map(|stream| stream.sent - stream.ok)
        .sum();
    node.signal(libc::SIGTERM).expect("the node runs");
    let exit = node
        .wait_exit(Duration::from_secs(10))
        .await
        .expect("the node ends");
    let flat = [
        grew("resident MiB", &looks, |look| look.resident_mib, 1.0),
        grew("descriptors", &looks, |look| look.fds, 8.0),
        grew("tasks", &looks, |look| look.live_tasks, 16.0),
    ];
    println!("{} answered, {failed} not; exit {exit}", report.ok());
    failed == 0 && exit.success() && flat.into_iter().all(|flat| flat)
}

async fn look(node: &Process) -> Look {
    let metrics = node.metrics().await.expect("the admin server answers");
    let sum = |name| metrics.sum(name, &[]);
    let ended =
        sum("tasks_completed_total") + sum("tasks_canceled_total") + sum("tasks_aborted_total");
    Look {
        resident_mib: node.resident_bytes().expect("the node runs") as f64 / f64::from(1 << 20),
        fds: node.open_fds().expect("the node runs") as f64,
        live_tasks: sum("tasks_spawned_total") - ended,
    }
}

/// Compares the second quarter (warm by then) with the last; noise of `slack` and a tenth is no growth.
fn grew(what: &str, looks: &[Look], value: impl Fn(&Look) -> f64, slack: f64) -> bool {
    let quarter = looks.len() / 4;
    let median = |looks: &[Look]| {
        let mut values: Vec<f64> = looks.iter().map(&value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let (early, late) = (
        median(&looks[quarter..quarter * 2]),
        median(&looks[looks.len() - quarter..]),
    );
    let flat = late <= early * 1.1 + slack;
    println!(
        "{what}: {early:.1} early, {late:.1} late: {}",
        if flat { "flat" } else { "GREW" }
    );
    flat
}
