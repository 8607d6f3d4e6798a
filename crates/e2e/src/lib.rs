//! The node under test, started as an operator would: its binary, on free ports, on the runtime to be tried.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use testkit::process::{Process, Program};

pub mod command;
pub mod edge;
pub mod gateway;
pub mod good;
pub mod log;
pub mod overlay;
pub mod packfile;
pub mod promql;
pub mod readiness;
mod rounds;
pub mod schema;
pub mod site;
pub mod storage;
pub mod streams;
pub mod wait;

pub use rounds::rounds;

/// How long a node may take to become ready, on a busy machine too.
pub const START: Duration = Duration::from_secs(15);

/// The binary: `MACRONODE_BIN`, else the one of the debug build.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn binary() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/debug/macronode");
    let path = std::env::var_os("MACRONODE_BIN").map_or(built, PathBuf::from);
    assert!(
        path.is_file(),
        "no binary at {}; build it first: cargo build -p macronode --features chaos",
        path.display()
    );
    path
}

/// The runtime to be tried: `MACRONODE_TEST_RUNTIME`, else `multi`.
#[must_use]
pub fn runtime() -> String {
    std::env::var("MACRONODE_TEST_RUNTIME").unwrap_or_else(|_| "multi".to_owned())
}

/// `macronode run` with a quiet demonstration, all ports free ones, a log for machines, and these keys set.
///
/// # Panics
/// If no temporary directory can be had.
#[must_use]
pub fn run(sets: &[&str]) -> Program {
    run_on(&runtime(), sets)
}

/// [`run`] on this runtime.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn run_on(runtime: &str, sets: &[&str]) -> Program {
    let quiet = [
        "admin.listen=127.0.0.1:0",
        "demo.listen=127.0.0.1:0",
        "demo.rate=0",
        "demo.crash_every_ms=0",
        "log.format=json",
    ];
    let program = Program::new(binary()).expect("a temporary directory");
    let program = program.args(["run", "--demo", "kernel", "--runtime", runtime]);
    quiet
        .iter()
        .chain(sets)
        .fold(program, |program, set| program.arg("--set").arg(set))
}

/// A node that has said it is ready.
#[derive(Debug)]
pub struct Node {
    /// Its process.
    pub process: Process,
    /// Its admin server.
    pub admin: SocketAddr,
    /// The demonstration's door.
    pub demo: SocketAddr,
}

impl Node {
    /// Starts [`run`] with these keys set.
    pub async fn start(sets: &[&str]) -> Self {
        Self::of(run(sets)).await
    }

    /// Starts a program and waits until it is ready.
    ///
    /// # Panics
    /// If it does not become ready in time.
    pub async fn of(program: Program) -> Self {
        let process = program.start().expect("the binary starts");
        process.wait_ready(START).await.expect("a ready node");
        let announced = process.announced(START).await.expect("its ready line");
        Self {
            admin: announced["admin"],
            demo: announced["demo"],
            process,
        }
    }
}
