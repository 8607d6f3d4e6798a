//! A node with everything the overlay shows: tenants, a gate, an upstream, a pack; and who may ask what.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use testkit::http::{self, Response, request_bytes};
use testkit::process::{Process, Program};

use crate::{START, binary, runtime};

/// May read.
pub const READER: &str = "a-token-that-may-read";
/// May do all.
pub const OPERATOR: &str = "a-token-that-may-all!";
/// How long an answer may take before it counts as none.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The config of such a node, with these further lines. Tests ask as often as they like.
#[must_use]
pub fn config(more: &str) -> String {
    format!(
        "[overlay]\nlisten = [\"127.0.0.1:0\"]\nlimits.accepts_per_ip = 0\n\
         [overlay.tokens.look]\nsecret = \"{READER}\"\n\
         [overlay.tokens.ops]\nsecret = \"{OPERATOR}\"\nrole = \"operate\"\n\
         [gateway]\nlisten = [\"127.0.0.1:0\"]\n\
         [gateway.tenants.gold]\nweight = 3\n\
         [gateway.upstreams.main]\nendpoints = [\"http://127.0.0.1:9\"]\n\
         [[gateway.routes]]\nname = \"api\"\nupstream = \"main\"\ninflight = 8\nwaiting = 4\n\
         [edge]\nlisten = [\"127.0.0.1:0\"]\npacks = [{{ name = \"world\", path = \"demo:world\" }}]\n\
         {more}\n"
    )
}

/// A node with an overlay, ready.
#[derive(Debug)]
pub struct Overlay {
    /// Its process.
    pub process: Process,
    /// Its overlay's door.
    pub door: SocketAddr,
    /// Its admin server.
    pub admin: SocketAddr,
}

impl Overlay {
    /// Starts one with these further lines of config.
    ///
    /// # Panics
    /// If it does not become ready in time.
    pub async fn start(more: &str) -> Self {
        Self::with(&config(more)).await
    }

    /// Starts one with this config.
    ///
    /// # Panics
    /// As [`Overlay::start`].
    pub async fn with(config: &str) -> Self {
        let program = Program::new(binary()).expect("a temporary directory");
        let program = program.args(["run", "--runtime", &runtime()]);
        let sets = ["admin.listen=127.0.0.1:0", "log.format=json"];
        let program = program.args(sets.iter().flat_map(|set| ["--set", set]));
        let program = program.config(config).expect("a writable file");
        let process = program.start().expect("the binary starts");
        process.wait_ready(START).await.expect("a ready node");
        let announced = process.announced(START).await.expect("its ready line");
        Self {
            door: announced["overlay.http"],
            admin: announced["admin"],
            process,
        }
    }

    /// A request by who has this token, and its answer.
    ///
    /// # Panics
    /// If there is none.
    pub async fn ask(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> Response {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![
            ("connection", "close"),
            ("content-type", "application/json"),
        ];
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let host = self.door.to_string();
        let request = request_bytes(method, &host, path, &headers, body.as_bytes());
        let answer = http::exchange(self.door, &request, PATIENCE).await;
        answer.unwrap_or_else(|failure| panic!("{method} {path}: {failure}"))
    }

    /// What is at a path, read without a token.
    ///
    /// # Panics
    /// If nothing is.
    pub async fn read(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, None, "").await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_slice(&answer.body).expect("JSON")
    }
}
