//! A secret is in no output of any command, answer or log line, whatever is wrong around it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use e2e::command::{macronode, ran, ran_beside};
use e2e::overlay::{Overlay, PATIENCE, config};
use e2e::wait::eventually;
use e2e::{Node, START};
use serde_json::Value;
use tempfile::TempDir;
use testkit::http;
use testkit::upstream::Upstream;

const TOKEN: &str = "tok-5e8a71c0ffee";
const OTHER: &str = "tok-other-93b1d2";
const WRONG: &str = "tok-guessed-441f";

/// Collects everything that was said and looks for secrets in it.
#[derive(Default)]
struct Overheard(Vec<(String, String)>);

impl Overheard {
    fn hear(&mut self, who: &str, said: impl Into<String>) {
        self.0.push((who.to_owned(), said.into()));
    }

    fn assert_no_secret(&self) {
        assert!(
            self.0.iter().any(|(_, said)| !said.is_empty()),
            "heard nothing"
        );
        for (who, said) in &self.0 {
            for secret in [TOKEN, OTHER, WRONG] {
                assert!(!said.contains(secret), "{who} says {secret}: {said}");
            }
        }
    }
}

fn written(directory: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, text).expect("a writable directory");
    path
}

/// A route with secrets wherever one has headers, and its upstream.
fn with_route(secret: &str, upstream: SocketAddr) -> String {
    format!(
        "[gateway.upstreams.sealed]\nendpoints = [\"http://{upstream}\"]\n\
         [[gateway.routes]]\npath = \"/sealed\"\nupstream = \"sealed\"\n\
         headers = {{ X-Asked-Key = \"{secret}\" }}\n\
         set_request = {{ Authorization = \"Bearer {secret}\", x-anything = \"{secret}\" }}\n\
         set_response = {{ Set-Cookie = \"{secret}\" }}\n"
    )
}

fn with_token(token: &str) -> String {
    format!("[admin]\ntoken = \"{token}\"\n")
}

/// The secret at every place where a report may quote the text around a mistake.
fn broken() -> Vec<String> {
    vec![
        format!("[admin]\ntoken = \"{TOKEN}\"\ntoken = \"{OTHER}\"\n"),
        format!("[admin]\ntoken = \"{TOKEN}\n"),
        format!("[admin]\ntoken = {TOKEN}\n"),
        format!("[admin]\ntoken = [\"{TOKEN}\"]\n"),
        format!("[admin]\ntoken = {{ value = \"{TOKEN}\" }}\n"),
        format!("[admin]\ntoken = \"{TOKEN}\" \"{OTHER}\"\n"),
        format!("[admin]\ntokn = \"{TOKEN}\"\n"),
        format!("[admn]\ntoken = \"{TOKEN}\"\n"),
        format!("admin = \"{TOKEN}\"\n"),
        format!("admin = {{ token = \"{TOKEN}\", max_connections = 0 }}\n"),
        format!("[admin]\ntoken = \"{TOKEN}\"\nlisten = 1\n"),
        format!(
            "[[gateway.routes]]\nset_request = {{ a = \"{TOKEN}\\n\", connection = \"{OTHER}\" }}\n"
        ),
        format!(
            "[[gateway.routes]]\nheaders = {{ \"no name\" = \"{TOKEN}\" }}\nset_response = \"{OTHER}\"\n"
        ),
    ]
}

// req: KN-13
#[test]
fn no_look_at_a_config_shows_a_secret() {
    let directory = tempfile::tempdir().unwrap();
    let mut overheard = Overheard::default();
    for text in broken() {
        let path = written(&directory, "broken.toml", &text);
        for (verb, code) in [
            (&["check"][..], 3),
            (&["run"], 3),
            (&["config", "print"], 3),
            (&["doctor"], 7),
        ] {
            let said = ran(macronode(verb).arg("--config").arg(&path));
            assert_eq!(said.code, Some(code), "{verb:?} of {text}: {said:?}");
            overheard.hear(&format!("{verb:?} of {text:?}"), said.printed());
        }
    }
    let (old, new) = (
        written(&directory, "old.toml", &with_token(TOKEN)),
        written(&directory, "new.toml", &with_token(OTHER)),
    );
    let looks: [&[&str]; 6] = [
        &["check"],
        &["doctor"],
        &["config", "print"],
        &["config", "print", "--comments"],
        &["check", "--set", "admin.max_connections=0"],
        &["config", "print", "--set", &format!("admin.token={OTHER}")],
    ];
    for look in looks {
        let said = ran(macronode(look)
            .arg("--config")
            .arg(&old)
            .env("MACRONODE__ADMIN__TOKEN", OTHER));
        overheard.hear(&format!("{look:?}"), said.printed());
    }
    let wrong = ran(
        macronode(["check", "--set", &format!("admin.tokn={TOKEN}")])
            .env("MACRONODE__ADMIN__TOKN", OTHER),
    );
    overheard.hear("wrong keys", wrong.printed());
    let changed = diff(&old, &new);
    assert!(
        changed.contains("admin.token"),
        "a change of a secret is a change: {changed}"
    );
    overheard.hear("diff", changed);
    overheard.assert_no_secret();
}

fn diff(old: &Path, new: &Path) -> String {
    let said = ran(macronode(["config", "diff"]).arg(old).arg(new));
    assert_eq!(said.code, Some(0), "{said:?}");
    said.stdout
}

// req: KN-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_or_log_line_of_a_running_node_shows_a_secret() {
    let node = Node::of(
        e2e::run(&["log.level=trace"])
            .config(&with_token(TOKEN))
            .unwrap(),
    )
    .await;
    let mut overheard = Overheard::default();
    for path in ["/status", "/metrics", "/readyz", "/version", "/nothing"] {
        overheard.hear(path, http::get(node.admin, path).await.unwrap().text());
    }
    for (token, status) in [(WRONG, 401), (TOKEN, 202)] {
        let bearer = format!("Bearer {token}");
        let said = http::post(node.admin, "/reload", &[("authorization", &bearer)], b"").await;
        let said = said.unwrap();
        assert_eq!(said.status, status, "{}", said.text());
        overheard.hear("/reload", said.text());
    }
    for text in broken().into_iter().chain([with_token(OTHER)]) {
        node.process.replace_config(&text).unwrap();
        overheard.hear("reload", command(&node, &["reload"]).await);
        overheard.hear("status", command(&node, &["status"]).await);
        overheard.hear("status --json", command(&node, &["status", "--json"]).await);
    }
    // What `reload` tells of may be what the watch over the file began before it.
    eventually("the new token is in force", PATIENCE, async || {
        let said = http::get(node.admin, "/status").await.unwrap();
        let status: Value = serde_json::from_slice(&said.body).unwrap();
        status["config"]["generation"] == 2
    })
    .await;
    overheard.hear("drain", command(&node, &["drain", "--token", WRONG]).await);
    overheard.hear("drain", command(&node, &["drain", "--token", OTHER]).await);
    let ended = node
        .process
        .wait_exit(Duration::from_secs(10))
        .await
        .unwrap();
    assert!(ended.success(), "{ended}: the new token was in force");
    let lines = node.process.lines();
    assert!(lines.len() > broken().len(), "each refusal is logged");
    lines
        .iter()
        .for_each(|line| overheard.hear("log", line.text.clone()));
    overheard.assert_no_secret();
}

// req: KN-13, ND-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_route_says_in_headers_is_a_secret_and_changes_with_the_config() {
    let origin = Upstream::start().await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let [old, new] = [TOKEN, OTHER].map(|secret| config(&with_route(secret, origin.addr())));
    let mut overheard = Overheard::default();
    let files = [
        written(&directory, "old.toml", &old),
        written(&directory, "new.toml", &new),
    ];
    let printed = ran(macronode(["config", "print", "--config"]).arg(&files[0]));
    assert!(
        printed.stdout.contains("Authorization = \"***\""),
        "{printed:?}"
    );
    overheard.hear("print", printed.printed());
    let changed = diff(&files[0], &files[1]);
    assert!(changed.contains("gateway.routes"), "{changed}");
    overheard.hear("diff", changed);

    let node = Overlay::with(&old).await;
    let door = node.process.announced(START).await.unwrap()["gateway.http"];
    let said = async |secret: &str| {
        let headers = [("x-asked-key", secret), ("connection", "close")];
        let request = http::request_bytes("GET", "gate.test", "/sealed", &headers, b"");
        let answer = http::exchange(door, &request, PATIENCE).await.unwrap();
        let seen = origin.requests().pop();
        let seen =
            seen.and_then(|seen| Some(seen.head.ok()?.headers.get("authorization")?.to_owned()));
        (answer.header("set-cookie").map(str::to_owned), seen)
    };
    let whole = |secret: &str| (Some(secret.to_owned()), Some(format!("Bearer {secret}")));
    assert_eq!(said(TOKEN).await, whole(TOKEN));
    overheard.hear("/v1/config", node.read("/v1/config").await.to_string());
    node.process.replace_config(&new).unwrap();
    eventually("the new config is in force", PATIENCE, async || {
        node.read("/v1/config").await["generation"] == 2
    })
    .await;
    assert_eq!(said(OTHER).await, whole(OTHER));
    overheard.hear("/v1/config", node.read("/v1/config").await.to_string());
    let lines = node.process.lines().into_iter();
    lines.for_each(|line| overheard.hear("log", line.text));
    overheard.assert_no_secret();
}

async fn command(node: &Node, args: &[&str]) -> String {
    let admin = node.admin.to_string();
    let mut command = macronode(args);
    command.args(["--admin", &admin]);
    let said = ran_beside(command).await;
    assert!(said.took < START, "{said:?}");
    said.printed()
}
