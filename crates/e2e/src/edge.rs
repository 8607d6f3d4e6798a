//! The edge under test: the binary with a config of its own, on a free port, and a directory of packs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use testkit::http::{self, Connection, Failure, Response, request_bytes};
use testkit::process::{Metrics, Process, Program};

use crate::gateway::PATIENCE;
use crate::packfile::PackFile;
use crate::wait::eventually;
use crate::{START, binary, log, runtime};

/// How long a change of a file may take to be seen, on a machine that has other things to do.
pub const SEEN: Duration = Duration::from_secs(60);

/// An edge that has said it is ready.
#[derive(Debug)]
pub struct Edge {
    /// Its process.
    pub process: Process,
    /// Its admin server.
    pub admin: SocketAddr,
    /// Its plain door.
    pub door: SocketAddr,
    packs: TempDir,
}

/// A directory for packs.
///
/// # Panics
/// If there can be none.
#[must_use]
pub fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Puts a file where a pack is looked for, at once and as a whole.
///
/// # Panics
/// If it cannot be written.
pub fn place(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let (aside, path) = (directory.join(format!(".{name}.new")), directory.join(name));
    std::fs::write(&aside, bytes).expect("a writable directory");
    std::fs::rename(&aside, &path).expect("a writable directory");
    path
}

/// The whole config file: packs from this directory, any rate unless one is said, and this, which begins with keys of
/// `[edge]`.
#[must_use]
pub fn config(directory: &Path, section: &str) -> String {
    let directory = directory.display();
    let rate = match section.contains("limits.rps") {
        true => "",
        false => "limits.rps = 0\n",
    };
    format!("[edge]\nlisten = [\"127.0.0.1:0\"]\npack_dirs = [\"{directory}\"]\n{rate}{section}")
}

impl Edge {
    /// Starts one with these packs, and these keys of `[edge]`.
    pub async fn start(packs: &[(&str, Vec<u8>)], section: &str) -> Self {
        let home = home();
        for (name, bytes) in packs {
            place(home.path(), name, bytes);
        }
        Self::at(home, section).await
    }

    /// Starts one with the packs of this directory.
    ///
    /// # Panics
    /// If it does not become ready in time.
    pub async fn at(home: TempDir, section: &str) -> Self {
        let runtime = runtime();
        let program = Program::new(binary()).expect("a temporary directory");
        let program = program.args(["run", "--runtime", &runtime]);
        let program = program.args(["--set", "admin.listen=127.0.0.1:0"]);
        let program = program.args(["--set", "log.format=json"]);
        let program = program.config(&config(home.path(), section));
        Self::of(program.expect("a writable file"), home).await
    }

    /// Starts a program and waits until it is ready.
    ///
    /// # Panics
    /// If it does not become ready in time.
    pub async fn of(program: Program, home: TempDir) -> Self {
        let process = program.start().expect("the binary starts");
        process.wait_ready(START).await.expect("a ready node");
        let announced = process.announced(START).await.expect("its ready line");
        Self {
            admin: announced["admin"],
            door: announced["edge.http"],
            process,
            packs: home,
        }
    }

    /// Where its packs are.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.packs.path()
    }

    /// A request on a connection of its own, and its answer.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<Response, Failure> {
        let headers = [headers, &[("connection", "close")]].concat();
        let request = request_bytes(method, "tiles.test", path, &headers, b"");
        http::exchange(self.door, &request, PATIENCE).await
    }

    /// A GET that is answered.
    ///
    /// # Panics
    /// If it is not.
    pub async fn get(&self, path: &str) -> Response {
        self.get_with(path, &[]).await
    }

    /// A GET with these headers that is answered.
    ///
    /// # Panics
    /// If it is not.
    pub async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let answer = self.ask("GET", path, headers).await;
        answer.unwrap_or_else(|failure| panic!("GET {path}: {failure}"))
    }

    /// Exactly these bytes on a connection of their own.
    ///
    /// # Panics
    /// If they are not answered.
    pub async fn raw(&self, request: &str) -> Response {
        let answer = http::exchange(self.door, request.as_bytes(), PATIENCE).await;
        answer.unwrap_or_else(|failure| panic!("{request:?}: {failure}"))
    }

    /// A connection that is kept.
    ///
    /// # Panics
    /// If there is none.
    pub async fn connect(&self) -> Connection {
        let opened = Connection::open(self.door, PATIENCE).await;
        opened.expect("a connection")
    }

    /// What the admin server says of a pack; null if it is not there.
    ///
    /// # Panics
    /// If it says nothing.
    pub async fn pack(&self, name: &str) -> Value {
        let said = http::get(self.admin, "/edge").await.expect("a page");
        let page: Value = serde_json::from_slice(&said.body).expect("JSON");
        let packs = page["packs"].as_array().cloned().unwrap_or_default();
        let named = packs.into_iter().find(|pack| pack["pack"] == name);
        named.unwrap_or_default()
    }

    /// Waits until a pack is as it should be.
    ///
    /// # Panics
    /// If it does not come to that.
    pub async fn pack_is(&self, name: &str, state: &str) {
        let what = format!("{name} is {state}");
        eventually(&what, SEEN, async || {
            self.pack(name).await["state"] == state
        })
        .await;
    }

    /// Replaces the config and waits until the new one is in force.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn reload(&self, section: &str) {
        let generation = async || self.metrics().await.sum("config_generation", &[]);
        let before = generation().await;
        self.process
            .replace_config(&config(self.home(), section))
            .expect("a writable directory");
        eventually("the new config is in force", PATIENCE, async || {
            generation().await > before
        })
        .await;
    }

    /// Its metrics.
    ///
    /// # Panics
    /// If they cannot be read.
    pub async fn metrics(&self) -> Metrics {
        self.process.metrics().await.expect("metrics")
    }

    /// How many requests were refused with this label.
    pub async fn rejected(&self, label: &str) -> u64 {
        let metrics = self.metrics().await;
        metrics.sum("edge_rejects_total", &[("reason", label)]) as u64
    }

    /// Ends it in good order.
    ///
    /// # Panics
    /// If it does not end well, or leaves tasks behind.
    pub async fn end(&self) {
        assert!(self.process.signal(libc::SIGTERM).expect("a process"));
        let status = self.process.wait_exit(PATIENCE).await.expect("an end");
        assert_eq!(status.code(), Some(0), "{status}");
        log::books(&self.process).await;
    }
}

/// A pack of four tiles of zoom 1 and one of zoom 0, each with a picture's worth of these bytes.
#[must_use]
pub fn picture(fill: u8) -> Vec<u8> {
    let tile = |at: u8| [&[fill; 2000][..], &[at]].concat();
    let pack = PackFile::default().tile(0, 0, 0, &tile(0));
    let pack = pack.tile(1, 0, 0, &tile(1)).tile(1, 1, 0, &tile(2));
    pack.tile(1, 0, 1, &tile(3)).tile(1, 1, 1, &tile(4)).bytes()
}
