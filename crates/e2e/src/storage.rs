//! Storage that speaks S3, of somebody else: moto, a server from PyPI that checks signatures.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};

use testkit::http::{self, Response, request_bytes};

use crate::gateway::PATIENCE;

/// The first requests, which make a user, a key, a policy and a bucket, are not checked.
const UNCHECKED: &str = "4";

/// A server with an empty bucket `tiles`, which ends with this.
#[derive(Debug)]
pub struct Storage {
    child: Child,
    /// Where it listens.
    pub addr: SocketAddr,
    /// The access key and the secret key that it knows.
    pub keys: (String, String),
    /// Kept open, since the server writes there.
    _log: BufReader<ChildStderr>,
}

impl Drop for Storage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Storage {
    /// Starts one. Where nobody has installed it (`cargo xtask test` does) there is none, and a line says so.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start() -> Option<Self> {
        let python = std::env::var("MACRONODE_S3_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let known = Command::new(&python)
            .args(["-c", "import moto.server"])
            .output();
        if !known.is_ok_and(|output| output.status.success()) {
            eprintln!("not run: there is no S3 server; python3 -m pip install 'moto[server]'");
            return None;
        }
        let mut child = Command::new(&python)
            .args(["-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"])
            .env("INITIAL_NO_AUTH_ACTION_COUNT", UNCHECKED)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("python starts");
        let mut log = BufReader::new(child.stderr.take().expect("piped"));
        let addr = loop {
            let mut line = String::new();
            let read = log.read_line(&mut line).expect("it speaks");
            assert!(read > 0, "the server ended before it listened");
            if let Some((_, addr)) = line.split_once("http://") {
                break addr.trim().parse().expect("an address");
            }
        };
        let mut storage = Self {
            child,
            addr,
            keys: (String::new(), String::new()),
            _log: log,
        };
        storage.keys = storage.furnish().await;
        Some(storage)
    }

    /// The keys of `[edge.store.s3]` for it.
    #[must_use]
    pub fn section(&self) -> String {
        let (access, secret) = &self.keys;
        format!(
            "[edge.store.s3]\nendpoint = \"http://{}\"\nbucket = \"tiles\"\nprefix = \"edge/1\"\nfind_ms = 10000\n\
             access_key = \"{access}\"\nsecret_key = \"{secret}\"\n",
            self.addr
        )
    }

    /// From now on signatures are not checked: it unescapes the query of a listing before it compares them, and so
    /// refuses every good one with a slash in it.
    pub async fn stop_checking(&self) {
        let lifted = self
            .send("POST", "/moto-api/reset-auth", &[], b"1000000")
            .await;
        assert_eq!(lifted.status, 200);
    }

    async fn furnish(&self) -> (String, String) {
        self.administer("Action=CreateUser&UserName=edge&Version=2010-05-08")
            .await;
        let keys = self
            .administer("Action=CreateAccessKey&UserName=edge&Version=2010-05-08")
            .await;
        let policy = "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%7B%22Effect%22%3A%22Allow%22%2C\
                      %22Action%22%3A%22s3%3A%2A%22%2C%22Resource%22%3A%22%2A%22%7D%5D%7D";
        let form = format!(
            "Action=PutUserPolicy&UserName=edge&PolicyName=all&Version=2010-05-08&PolicyDocument={policy}"
        );
        self.administer(&form).await;
        let made = self
            .send("PUT", "/tiles", &[("content-length", "0")], b"")
            .await;
        assert_eq!(made.status, 200, "{}", made.text());
        (
            between(&keys, "AccessKeyId"),
            between(&keys, "SecretAccessKey"),
        )
    }

    /// A form for the part of the server that keeps users.
    async fn administer(&self, form: &str) -> String {
        let authorization = "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/iam/aws4_request, \
                             SignedHeaders=host, Signature=none";
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("authorization", authorization),
        ];
        let answer = self.send("POST", "/", &headers, form.as_bytes()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text()
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let length = body.len().to_string();
        let mut all = vec![("connection", "close")];
        all.extend(headers.iter().filter(|(name, _)| *name != "content-length"));
        all.push(("content-length", &length));
        let request = request_bytes(method, self.addr, path, &all, body);
        let answer = http::exchange(self.addr, &request, PATIENCE).await;
        answer.unwrap_or_else(|failure| panic!("{method} {path}: {failure}"))
    }
}

fn between(text: &str, name: &str) -> String {
    let (_, rest) = text.split_once(&format!("<{name}>")).expect("an answer");
    rest.split_once('<').expect("an answer").0.to_owned()
}
