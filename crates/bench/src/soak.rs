//! A node under load for minutes, while its workers die, its config changes and its clients leave: memory, descriptors
//! and tasks must not grow.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use testkit::load::{Load, Running, Stream, StreamReport};
use testkit::process::{Process, Program};
use testkit::upstream::{Reply, Upstream};

use crate::node::built_binary;

mod frames;
mod harm;

/// One look at the node.
struct Look {
    resident_mib: f64,
    fds: f64,
    live_tasks: f64,
}

/// Where the node is to be met.
#[derive(Clone, Copy, Debug)]
struct Doors {
    admin: SocketAddr,
    http: SocketAddr,
    edge: SocketAddr,
    frames: SocketAddr,
}

const START: Duration = Duration::from_secs(20);
const TOKEN: &str = "whoever soaks";

/// Runs for so long; says each second what it sees and at the end whether something grew. Wants a node built with the
/// `chaos` feature.
pub fn soak(minutes: f64) -> bool {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("the machine has threads to give");
    let kept = runtime.block_on(run(Duration::from_secs_f64(minutes * 60.0)));
    println!("{}", if kept { "PASS" } else { "MISS" });
    kept
}

/// The config; each `variant` differs from the others in what a reload may change.
fn config(origin: SocketAddr, variant: u64) -> String {
    let body = 1_000_000 + variant % 1000;
    format!(
        r#"[admin]
listen = "127.0.0.1:0"
token = "{TOKEN}"

[log]
level = "error"

[gateway]
listen = ["127.0.0.1:0"]
dispatch = "pool"
workers = 12

[gateway.queue]
items = 20000
per_tenant = 10000

[gateway.limits]
body_bytes = {body}

[gateway.access_log]
level = "off"

[gateway.upstreams.main]
endpoints = ["http://{origin}"]
limit = 1000

[[gateway.routes]]
path = "/"
upstream = "main"

[edge]
listen = ["127.0.0.1:0"]
packs = [{{ name = "world", path = "demo:world" }}]

[transport]
listen = ["127.0.0.1:0"]
bridge = true
"#
    )
}

async fn start(origin: SocketAddr) -> (Process, Doors) {
    let binary = built_binary().unwrap_or_else(|reason| panic!("{reason}"));
    let program = Program::new(binary).expect("a temporary directory can be made");
    // Symbols for the backtraces of those who are killed take ten times the memory of the node.
    let program = program.env("RUST_BACKTRACE", "0").arg("run");
    let program = program.config(&config(origin, 0)).expect("a config file");
    let node = program.start().expect("the node starts");
    node.wait_ready(START).await.expect("the node is ready");
    let announced = node.announced(START).await.expect("the node says where");
    let doors = Doors {
        admin: announced["admin"],
        http: announced["gateway.http"],
        edge: announced["edge.http"],
        frames: announced["transport.tcp"],
    };
    (node, doors)
}

fn asking(doors: Doors, length: Duration) -> [Running; 2] {
    let gateway = Load::new(doors.http)
        .stream(Stream::new("steady", 200.0).path("/a"))
        .stream(Stream::new("once", 20.0).path("/a").body("POST", "once"));
    let edge = Load::new(doors.edge).stream(Stream::new("tiles", 50.0).path("/tiles/world/0/0/0"));
    [gateway, edge].map(|load| load.duration(length).timeout(START).start())
}

async fn run(length: Duration) -> bool {
    let origin = Upstream::start().await.expect("a free port");
    origin.set_default(Reply::default().delay(Duration::from_millis(10)));
    origin.set_journal(0);
    let (node, doors) = start(origin.addr()).await;
    let [gateway, edge] = asking(doors, length);
    let framed = tokio::spawn(frames::ask(doors.frames, length));
    let (looks, harmed) = tokio::join!(
        watch(&node, length),
        harm::until(Instant::now() + length, &node, doors, origin.addr())
    );
    let (gateway, edge) = (gateway.finish().await, edge.finish().await);
    let framed = framed.await.expect("nothing in it panics");
    node.signal(libc::SIGTERM).expect("the node runs");
    let exit = node
        .wait_exit(Duration::from_secs(10))
        .await
        .expect("the node ends");
    let (steady, once, tiles) = (
        gateway.stream("steady"),
        gateway.stream("once"),
        edge.stream("tiles"),
    );
    let kept = [
        grew("resident MiB", &looks, |look| look.resident_mib, 1.0),
        grew("descriptors", &looks, |look| look.fds, 8.0),
        grew("tasks", &looks, |look| look.live_tasks, 16.0),
        all_well(steady),
        all_well(tiles),
        none_lost(once),
        framed.all_well(),
        harmed,
        exit.success(),
    ];
    println!("the node ended with {exit}");
    kept.into_iter().all(|kept| kept)
}

/// What may be repeated never shows that a worker died.
fn all_well(stream: &StreamReport) -> bool {
    let (sent, ok) = (stream.sent, stream.ok);
    println!("{}: {ok} of {sent} answered well", stream.name);
    if ok < sent {
        println!("  {:?} {:?}", stream.by_reason, stream.failures);
    }
    ok == sent
}

/// What may not be repeated is answered, or refused because its worker died.
fn none_lost(stream: &StreamReport) -> bool {
    let died = stream.by_reason.get("worker-lost").copied().unwrap_or(0);
    let (sent, ok) = (stream.sent, stream.ok);
    println!(
        "{}: {ok} of {sent} answered well, {died} told that their worker died",
        stream.name
    );
    if ok + died < sent {
        println!("  {:?} {:?}", stream.by_reason, stream.failures);
    }
    ok + died == sent
}

async fn watch(node: &Process, length: Duration) -> Vec<Look> {
    let (began, mut looks) = (Instant::now(), Vec::new());
    while began.elapsed() < length {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let look = look(node).await;
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
    looks
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
