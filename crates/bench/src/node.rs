//! The whole node: what it takes to be there, and how soon it is.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use testkit::process::{Process, Program};
use tokio::runtime::{Builder, Runtime};

use crate::cores;
use crate::frame::{Benchmark, Cost, Effort, Metric, Peer};

/// What an idle node costs.
pub const BENCHMARK: Benchmark = Benchmark {
    name: "node",
    about: "resident memory of an idle node, time until it is ready",
    metrics,
};

fn metrics(_effort: Effort) -> Vec<Metric> {
    vec![
        Metric {
            name: "idle node, resident",
            unit: "MiB",
            ours: resident(),
            peer: Peer::Budget(15.0),
            goal_ratio: 1.0,
        },
        Metric {
            name: "process start until ready",
            unit: "ms",
            ours: ready(),
            peer: Peer::Budget(100.0),
            goal_ratio: 1.0,
        },
    ]
}

fn resident() -> Cost {
    Box::new(|| {
        runtime().block_on(async {
            let node = start_node(&[]).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            node.resident_bytes().expect("the node runs") as f64 / f64::from(1 << 20)
        })
    })
}

fn ready() -> Cost {
    Box::new(|| {
        runtime().block_on(async {
            let node = start_node(&[]).await;
            node.started().elapsed().as_secs_f64() * 1e3
        })
    })
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("the machine has a thread to give")
}

/// A release node on ports of its own that does nothing by itself, as soon as it says it is ready.
pub(crate) async fn start_node(sets: &[&str]) -> Process {
    let quiet = [
        "admin.listen=127.0.0.1:0",
        "demo.listen=127.0.0.1:0",
        "demo.rate=0",
        "demo.crash_every_ms=0",
        "log.level=warn",
    ];
    let program = Program::new(binary())
        .expect("a temporary directory can be made")
        // Symbols for backtraces take ten times the memory of the node.
        .env("RUST_BACKTRACE", "0")
        .args(["run", "--demo", "kernel"]);
    let sets = quiet.iter().chain(sets).flat_map(|set| ["--set", *set]);
    let node = program.args(sets).start().expect("the node starts");
    node.announced(Duration::from_secs(10))
        .await
        .expect("the node becomes ready");
    node
}

fn binary() -> PathBuf {
    built_binary().unwrap_or_else(|reason| panic!("{reason}"))
}

/// The binary `MACRONODE_BIN` names, else that of a release build made once per run of the benchmark.
pub(crate) fn built_binary() -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os("MACRONODE_BIN") {
        return Ok(given.into());
    }
    static BUILT: OnceLock<bool> = OnceLock::new();
    let beside = std::env::current_exe()
        .expect("this program has a path")
        .with_file_name("macronode");
    let built = *BUILT.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--release", "-p", "macronode"]);
        let build = cores::set_aside(&mut build).status();
        build.is_ok_and(|status| status.success())
    });
    match built {
        true => Ok(beside),
        false => Err("macronode is left out: it does not build".to_owned()),
    }
}
