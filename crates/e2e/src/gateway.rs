//! The gateway under test: the binary with a config of its own, on a free port.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use testkit::http::{self, Connection, Failure, Response, request_bytes};
use testkit::load::StreamReport;
use testkit::process::{Metrics, Process, Program};
use testkit::upstream::{Reply, Upstream};

use crate::{START, binary, log, runtime};

/// How long an answer may take before it counts as none.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Keys of a section that believes the tenant header of whoever comes over loopback.
pub const TRUSTED: &str =
    "trusted_hops = [\"127.0.0.0/8\"]\n[gateway.identity]\ntenant_header = \"x-tenant\"\n";

/// A gateway that has said it is ready.
#[derive(Debug)]
pub struct Gateway {
    /// Its process.
    pub process: Process,
    /// Its admin server.
    pub admin: SocketAddr,
    /// Its plain door.
    pub door: SocketAddr,
}

/// Both ways of doing the work.
pub const MODES: [&str; 2] = ["inline", "pool"];

/// Nobody is refused for want of room or time, on a busy machine either: for tests that show something else.
pub const ROOMY: &str = "[gateway.queue]\nitems = 20000\nper_tenant = 10000\nwait_ms = 9000\n\
                         [gateway.timeouts]\nrequest_ms = 9000\n";

/// An origin that answers after so long.
///
/// # Panics
/// If it cannot listen.
pub async fn origin(delay: Duration) -> Upstream {
    let origin = Upstream::start().await.expect("a free port");
    origin.set_default(Reply::default().delay(delay));
    origin.set_journal(0);
    origin
}

/// Every request of the stream was answered 200.
///
/// # Panics
/// If one was not.
pub fn assert_all_well(stream: &StreamReport) {
    let seen = (&stream.by_status, &stream.by_reason, &stream.failures);
    assert_eq!(
        stream.by_status.get(&200),
        Some(&stream.intended),
        "{}: {seen:?}",
        stream.name
    );
}

/// The whole config file for this `[gateway]` section, which begins with its own keys and has its tables below them.
#[must_use]
pub fn config(section: &str) -> String {
    format!("[gateway]\nlisten = [\"127.0.0.1:0\"]\n{section}")
}

/// A section with one route for everything, to one upstream `main` with these further keys.
#[must_use]
pub fn to(upstream: SocketAddr, keys: &str) -> String {
    format!(
        "[[gateway.routes]]\nname = \"all\"\nupstream = \"main\"\n\
         [gateway.upstreams.main]\nendpoints = [\"http://{upstream}\"]\n{keys}\n"
    )
}

/// `macronode run` with this `[gateway]` section and a log for machines.
///
/// # Panics
/// If no temporary directory can be had.
#[must_use]
pub fn program(section: &str) -> Program {
    let runtime = runtime();
    let args = ["run", "--runtime", &runtime];
    let sets = ["admin.listen=127.0.0.1:0", "log.format=json"];
    let program = Program::new(binary()).expect("a temporary directory");
    let program = sets.iter().fold(program.args(args), |program, set| {
        program.arg("--set").arg(set)
    });
    program.config(&config(section)).expect("a writable file")
}

impl Gateway {
    /// Starts one with this `[gateway]` section.
    pub async fn start(section: &str) -> Self {
        Self::of(program(section)).await
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
            door: announced["gateway.http"],
            process,
        }
    }

    /// A request on a connection of its own, and its answer.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response, Failure> {
        let headers = [headers, &[("connection", "close")]].concat();
        let request = request_bytes(method, "gate.test", path, &headers, body);
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
        let answer = self.ask("GET", path, headers, b"").await;
        answer.unwrap_or_else(|failure| panic!("GET {path}: {failure}"))
    }

    /// A connection that is kept.
    ///
    /// # Panics
    /// If there is none.
    pub async fn connect(&self) -> Connection {
        let opened = Connection::open(self.door, PATIENCE).await;
        opened.expect("a connection")
    }

    /// Replaces the config and waits until the new one is in force.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn reload(&self, section: &str) {
        let generation = async || self.metrics().await.sum("config_generation", &[]);
        let before = generation().await;
        self.process
            .replace_config(&config(section))
            .expect("a writable directory");
        crate::wait::eventually("the new config is in force", PATIENCE, async || {
            let status = self.config_status().await;
            assert_eq!(status["last_error"], "", "{status}");
            generation().await > before
        })
        .await;
    }

    /// What the node says of its config.
    ///
    /// # Panics
    /// If it says nothing.
    pub async fn config_status(&self) -> Value {
        let said = http::get(self.admin, "/status").await.expect("a status");
        let page: Value = serde_json::from_slice(&said.body).expect("JSON");
        page["config"].clone()
    }

    /// Its metrics.
    ///
    /// # Panics
    /// If they cannot be read.
    pub async fn metrics(&self) -> Metrics {
        self.process.metrics().await.expect("metrics")
    }

    /// How many requests were refused for this reason.
    ///
    /// # Panics
    /// If the metrics cannot be read.
    pub async fn rejected(&self, reason: &str) -> u64 {
        let metrics = self.metrics().await;
        metrics.sum("rejected_total", &[("reason", reason)]) as u64
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

/// A refusal that explains itself: the same reason in header and body, and nothing of what stands behind.
///
/// # Panics
/// If it is not.
pub fn assert_refusal(answer: &Response, status: u16, reason: &str) {
    if let Err(why) = refusal(answer, status, reason) {
        panic!("{why}");
    }
}

/// What is missing for an answer to be a refusal as [`assert_refusal`] wants it.
pub fn refusal(answer: &Response, status: u16, reason: &str) -> Result<(), String> {
    let text = answer.text();
    let said = (answer.status, answer.header("x-macronode-reason"));
    if said != (status, Some(reason)) {
        return Err(format!(
            "{said:?} instead of {:?}: {text}",
            (status, reason)
        ));
    }
    let body: Value = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
    let facts = [
        answer.header("content-type") == Some("application/problem+json"),
        body["status"] == status,
        body["reason"] == reason,
        body["request_id"].is_string(),
        body["request_id"].as_str() == answer.header("x-request-id"),
        status != 405 || answer.header("allow").is_some(),
    ];
    if facts.contains(&false) {
        return Err(format!(
            "explains itself badly: {:?} {text}",
            answer.headers
        ));
    }
    match text.contains("127.0.0.1") || text.contains("http://") {
        true => Err(format!("tells what stands behind: {text}")),
        false => Ok(()),
    }
}
