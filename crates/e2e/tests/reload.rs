//! Reloads: every way of changing the file is noticed, whole valid configs take over, others never do.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use e2e::Node;
use e2e::command::{Ran, macronode, ran_beside};
use e2e::wait::eventually;
use serde_json::Value;
use tempfile::TempDir;
use testkit::http;

const SOON: Duration = Duration::from_secs(5);

/// A config whose demonstration gives requests so long.
fn deadline(millis: u64) -> String {
    format!("[demo]\ndeadline_ms = {millis}\n")
}

async fn node(text: &str) -> Node {
    let program = e2e::run(&[]).config(text).expect("a writable directory");
    Node::of(program).await
}

async fn status(node: &Node) -> Value {
    let said = http::get(node.admin, "/status").await.expect("a status");
    serde_json::from_slice(&said.body).expect("JSON")
}

/// The number of the config a request is served under, and how it is answered.
async fn served_under(node: &Node) -> u64 {
    let said = http::get(node.demo, "/work?ms=0").await.expect("an answer");
    number(&said.text())
}

fn number(text: &str) -> u64 {
    let (_, number) = text.trim_end().rsplit_once(' ').expect("a sentence");
    number
        .parse()
        .unwrap_or_else(|_| panic!("no number at the end of {text}"))
}

async fn in_force(node: &Node, generation: u64) {
    let what = format!("config {generation} in force");
    eventually(&what, SOON, async || served_under(node).await == generation).await;
}

/// Waits for the reload after `reloads` others and returns what `/status` says of the config.
async fn reloaded(node: &Node, reloads: u64) -> Value {
    eventually("another reload", SOON, async || {
        status(node).await["config"]["reloads"].as_u64() > Some(reloads)
    })
    .await;
    status(node).await["config"].clone()
}

async fn reloads(node: &Node) -> u64 {
    status(node).await["config"]["reloads"]
        .as_u64()
        .expect("a number")
}

async fn command(node: &Node, args: &[&str]) -> Ran {
    let mut command = macronode(args);
    command.args(["--admin", &node.admin.to_string()]);
    ran_beside(command).await
}

// req: KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_replaced_or_written_in_place_is_noticed() {
    let node = node(&deadline(2000)).await;
    assert_eq!(served_under(&node).await, 1);
    node.process.replace_config(&deadline(1900)).unwrap();
    in_force(&node, 2).await;
    // No byte more or less, so that no moment shows half a text.
    let path = node.process.dir().join("macronode.toml");
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(deadline(1100).as_bytes()).unwrap();
    in_force(&node, 3).await;
    let late = http::get(node.demo, "/work?ms=1500").await.unwrap();
    assert_eq!(late.status, 504, "the new deadline holds: {}", late.text());
    assert_eq!(
        node.process.metric("config_generation", &[]).await.unwrap(),
        3.0
    );
    let applied = node
        .process
        .metric("config_reloads_total", &[("result", "applied")])
        .await;
    assert_eq!(applied.unwrap(), 2.0);
}

// req: KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swapped_directory_link_is_noticed() {
    let volume = tempfile::tempdir().unwrap();
    let at = |name: &str| volume.path().join(name);
    let publish = |version: &str, text: &str| {
        std::fs::create_dir(at(version)).unwrap();
        std::fs::write(at(version).join("macronode.toml"), text).unwrap();
        symlink(version, at("..data_tmp")).unwrap();
        std::fs::rename(at("..data_tmp"), at("..data")).unwrap();
    };
    publish("..v1", &deadline(2000));
    symlink("..data/macronode.toml", at("macronode.toml")).unwrap();
    let program = e2e::run(&[]).arg("--config").arg(at("macronode.toml"));
    let node = Node::of(program).await;
    publish("..v2", &deadline(1900));
    in_force(&node, 2).await;
    std::fs::remove_dir_all(at("..v1")).unwrap();
    publish("..v3", &deadline(1800));
    in_force(&node, 3).await;
}

/// A node whose config is a link to a file that its watch does not see.
struct Unwatched {
    node: Node,
    target: PathBuf,
    _directories: [TempDir; 2],
}

impl Unwatched {
    async fn start(text: &str) -> Self {
        let [links, targets] =
            [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
        let (link, target) = (
            links.path().join("macronode.toml"),
            targets.path().join("real.toml"),
        );
        std::fs::write(&target, text).expect("a writable directory");
        symlink(&target, &link).expect("a writable directory");
        Self {
            node: Node::of(e2e::run(&[]).arg("--config").arg(link)).await,
            target,
            _directories: [links, targets],
        }
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.target, text).expect("a writable directory");
    }
}

// req: KN-08, KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hangup_reloads_what_the_watch_cannot_see() {
    let unwatched = Unwatched::start(&deadline(2000)).await;
    let node = &unwatched.node;
    unwatched.write(&deadline(1900));
    assert!(node.process.signal(libc::SIGHUP).unwrap());
    in_force(node, 2).await;
    let before = reloads(node).await;
    assert!(node.process.signal(libc::SIGHUP).unwrap());
    let config = reloaded(node, before).await;
    assert_eq!(config["last_result"], "unchanged");
    assert_eq!(config["generation"], 2);
}

// req: KN-14
// attack: I-01, I-02, I-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_file_keeps_the_old_config_and_says_why() {
    let node = node(&deadline(2000)).await;
    let cases = [
        ("[demo\n", "macronode.toml:1:"),
        ("[demo]\ndeadline = 5\n", "demo.deadline"),
        ("[demo]\ndeadline_ms = 0\n", "allowed: 1 to 60000"),
        ("[traces]\nratio = nan\n", "not a finite number"),
    ];
    for (count, (text, wanted)) in cases.into_iter().enumerate() {
        node.process.replace_config(text).unwrap();
        let config = reloaded(&node, count as u64).await;
        assert_eq!(config["last_result"], "invalid", "{config}");
        assert_eq!(config["generation"], 1, "{config}");
        let error = config["last_error"].as_str().unwrap();
        assert!(error.contains(wanted), "no {wanted:?} in {error}");
        assert_eq!(served_under(&node).await, 1);
    }
    let count = node
        .process
        .metric("config_reloads_total", &[("result", "invalid")])
        .await;
    assert_eq!(count.unwrap(), cases.len() as f64);
    let told = e2e::log::events(&node.process);
    let told = told
        .iter()
        .filter(|event| e2e::log::message(event).contains("the old one stays in force"));
    assert_eq!(told.count(), cases.len(), "each is logged");
    node.process.replace_config(&deadline(1000)).unwrap();
    in_force(&node, 2).await;
    assert_eq!(status(&node).await["config"]["last_error"], "");
}

// req: KN-14
// attack: I-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_needs_a_restart_is_refused_by_name_and_takes_nothing_else_with_it() {
    let node = node(&deadline(2000)).await;
    let cases = [
        ("demo.workers", "[demo]\nworkers = 3\ndeadline_ms = 50\n"),
        (
            "admin.max_connections",
            "[admin]\nmax_connections = 3\n[demo]\ndeadline_ms = 50\n",
        ),
        (
            "runtime.threads",
            "[runtime]\nthreads = 3\n[demo]\ndeadline_ms = 50\n",
        ),
    ];
    for (count, (key, text)) in cases.into_iter().enumerate() {
        node.process.replace_config(text).unwrap();
        let config = reloaded(&node, count as u64).await;
        assert_eq!(config["last_result"], "refused", "{config}");
        let error = config["last_error"].as_str().unwrap();
        assert!(
            error.starts_with(key) && error.contains("restart"),
            "{error}"
        );
        assert!(
            !error.contains("deadline_ms"),
            "only what cannot change is named: {error}"
        );
        let slow = http::get(node.demo, "/work?ms=200").await.unwrap();
        assert_eq!(slow.status, 200, "the old deadline holds: {}", slow.text());
    }
    let count = node
        .process
        .metric("config_reloads_total", &[("result", "refused")])
        .await;
    assert_eq!(count.unwrap(), cases.len() as f64);
}

// req: KN-14
// attack: I-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_file_keeps_the_old_config_and_a_new_one_is_picked_up() {
    let node = node(&deadline(2000)).await;
    let path = node.process.dir().join("macronode.toml");
    std::fs::remove_file(&path).unwrap();
    let config = reloaded(&node, 0).await;
    assert_eq!(config["last_result"], "invalid", "{config}");
    assert!(
        config["last_error"]
            .as_str()
            .unwrap()
            .contains("does not exist"),
        "{config}"
    );
    std::fs::create_dir(&path).unwrap();
    let config = reloaded(&node, 1).await;
    assert!(
        config["last_error"]
            .as_str()
            .unwrap()
            .contains("not a regular file"),
        "{config}"
    );
    assert_eq!(served_under(&node).await, 1);
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, deadline(1900)).unwrap();
    in_force(&node, 2).await;
}

// req: KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_keeps_to_the_config_it_began_under() {
    let node = node(&deadline(5000)).await;
    let slow = tokio::spawn(http::get(node.demo, "/work?ms=1500"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    node.process.replace_config(&deadline(100)).unwrap();
    in_force(&node, 2).await;
    let slow = slow.await.unwrap().unwrap();
    assert_eq!(slow.status, 200, "{}", slow.text());
    assert_eq!(slow.text(), "worked 1500 ms under config 1\n");
}

// req: KN-13, KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flags_and_variables_outlast_a_reload() {
    let program = e2e::run(&["demo.deadline_ms=300"]).env("MACRONODE__DRAIN__DEADLINE_MS", "1");
    let node = Node::of(program.config("").unwrap()).await;
    node.process
        .replace_config("[demo]\ndeadline_ms = 9000\n[drain]\ndeadline_ms = 60000\n")
        .unwrap();
    let config = reloaded(&node, 0).await;
    assert_eq!(config["last_result"], "unchanged", "{config}");
    let late = http::get(node.demo, "/work?ms=1000").await.unwrap();
    assert_eq!(late.status, 504, "{}", late.text());
}

// req: KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_level_of_the_log_and_the_token_change_while_the_node_runs() {
    let text = |level: &str, token: &str| {
        format!("[log]\nlevel = \"{level}\"\n[admin]\ntoken = \"{token}\"\n")
    };
    let node = node(&text("error", "first")).await;
    assert_eq!(
        e2e::log::events(&node.process),
        [] as [Value; 0],
        "nothing went wrong"
    );
    node.process
        .replace_config(&text("info", "second"))
        .unwrap();
    in_force(&node, 2).await;
    let logged = |line: &testkit::process::Line| line.text.contains("new config in force");
    node.process.wait_for_line(logged, SOON).await.unwrap();
    let lines = e2e::log::events(&node.process).len();
    node.process.replace_config(&text("off", "third")).unwrap();
    in_force(&node, 3).await;
    node.process.replace_config("nonsense").unwrap();
    assert_eq!(reloaded(&node, 2).await["last_result"], "invalid");
    assert_eq!(e2e::log::events(&node.process).len(), lines, "off is off");
    for (token, status) in [("first", 401), ("second", 401), ("third", 202)] {
        let bearer = format!("Bearer {token}");
        let said = http::post(node.admin, "/reload", &[("authorization", &bearer)], b"").await;
        assert_eq!(said.unwrap().status, status, "{token}");
    }
}

// req: KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reload_command_says_what_came_of_it() {
    let text = |millis: u64| format!("[admin]\ntoken = \"token\"\n{}", deadline(millis));
    let unwatched = Unwatched::start(&text(2000)).await;
    let node = &unwatched.node;
    for (args, generation) in [(&["reload"][..], 2), (&["reload", "--token", "token"], 3)] {
        unwatched.write(&text(2000 - generation));
        for result in ["applied", "unchanged"] {
            let said = command(node, args).await;
            assert_eq!(said.code, Some(0), "{said:?}");
            assert_eq!(
                said.stdout,
                format!("{result}: config {generation} is in force\n")
            );
        }
        assert_eq!(served_under(node).await, generation);
    }
    let refusals = [
        (
            "[demo]\nworkers = 0\n",
            "invalid",
            "macronode.toml:2:11: demo.workers = 0",
        ),
        (
            "[demo]\nworkers = 9\n",
            "refused",
            "demo.workers: cannot change while the node runs",
        ),
    ];
    for (text, result, why) in refusals {
        unwatched.write(text);
        let said = command(node, &["reload"]).await;
        assert_eq!(said.code, Some(8), "{said:?}");
        assert_eq!(said.stdout, format!("{result}: config 3 is in force\n"));
        assert!(said.stderr.contains(why), "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_a_config_file_survives_a_hangup() {
    let node = Node::start(&[]).await;
    assert!(node.process.signal(libc::SIGHUP).unwrap());
    let config = reloaded(&node, 0).await;
    assert_eq!(config["last_result"], "unchanged", "{config}");
    assert!(config["file"].is_null(), "{config}");
}
