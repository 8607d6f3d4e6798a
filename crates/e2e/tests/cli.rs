//! The command line: what it prints, what it asks of a running node, and the exit codes scripts rely on.

use std::net::TcpListener;
use std::time::Duration;

use e2e::Node;
use e2e::command::{Ran, macronode, ran, ran_beside};
use serde_json::Value;
use testkit::http;

const TOKEN: &str = "admin.token=open-sesame";

fn said(args: &[&str], code: i32) -> Ran {
    let said = ran(&mut macronode(args));
    assert_eq!(said.code, Some(code), "{args:?}: {said:?}");
    said
}

async fn asked(node: &Node, args: &[&str], code: i32) -> Ran {
    let mut command = macronode(args);
    command.args(["--admin", &node.admin.to_string()]);
    let said = ran_beside(command).await;
    assert_eq!(said.code, Some(code), "{args:?}: {said:?}");
    said
}

async fn ended(node: &Node) -> Option<i32> {
    let ended = node.process.wait_exit(Duration::from_secs(10)).await;
    ended.expect("an end").code()
}

#[test]
fn the_version_is_printed_for_people_and_for_machines() {
    let plain = said(&["version"], 0).stdout;
    let machine: Value = serde_json::from_str(&said(&["version", "--json"], 0).stdout).unwrap();
    let version = machine["version"].as_str().unwrap();
    assert!(
        plain.starts_with(&format!("macronode {version} (")),
        "{plain}"
    );
    assert!(machine["build"].is_string(), "{machine}");
    assert_eq!(
        said(&["--version"], 0).stdout,
        format!("macronode {version}\n")
    );
}

#[test]
fn help_names_every_command() {
    let help = said(&["--help"], 0).stdout;
    let commands = [
        "run",
        "check",
        "config",
        "doctor",
        "status",
        "drain",
        "reload",
        "version",
        "completions",
    ];
    for command in commands {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "no {command} in {help}"
        );
        let own = said(&[command, "--help"], 0).stdout;
        assert!(
            own.contains(&format!("Usage: macronode {command}")),
            "{own}"
        );
    }
}

#[test]
fn each_shell_is_given_completions_it_can_read() {
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&["completions", shell], 0).stdout;
        assert!(
            script.contains("macronode") && script.contains("doctor"),
            "{shell}: {script}"
        );
    }
    let script = said(&["completions", "bash"], 0).stdout;
    let mut bash = std::process::Command::new("bash");
    let read = ran(bash.args(["--norc", "-c", &format!("{script}\ncomplete -p macronode")]));
    assert_eq!(read.code, Some(0), "{read:?}");
}

#[test]
fn a_command_line_without_sense_is_told_with_the_usage() {
    for args in [
        &["fly"][..],
        &[],
        &["run", "--runtime", "quick"],
        &["status", "--admin", "nowhere"],
        &["completions", "ed"],
    ] {
        let said = said(args, 2);
        assert_eq!(said.stdout, "", "{args:?}");
        assert!(
            said.stderr.contains("Usage") || said.stderr.contains("--help"),
            "{said:?}"
        );
    }
}

// req: KN-13
#[test]
fn the_schema_is_json_with_ranges_secrets_and_what_needs_a_restart() {
    let schema: Value = serde_json::from_str(&said(&["config", "schema"], 0).stdout).unwrap();
    assert!(
        schema["$schema"]
            .as_str()
            .unwrap()
            .contains("json-schema.org"),
        "{schema}"
    );
    let committed = include_str!("../../../docs/reference/config.schema.json");
    assert_eq!(
        schema,
        serde_json::from_str::<Value>(committed).unwrap(),
        "cargo xtask docs"
    );
    let text = schema.to_string();
    for part in [
        "\"x-reload\":\"restart\"",
        "\"x-secret\":true",
        "\"maximum\":512",
        "\"additionalProperties\":false",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

// req: KN-14
#[test]
fn a_diff_tells_what_a_reload_would_change_and_what_needs_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (old, new) = (
        file("old", "[demo]\n"),
        file("new", "[demo]\nworkers = 8\nrate = 7\n"),
    );
    let changed = said(&["config", "diff", &old, &new], 0).stdout;
    let row = |key: &str| {
        changed
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap()
            .to_owned()
    };
    let cells = |key| {
        row(key)
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(cells("demo.workers")[..3], ["demo.workers", "4", "8"]);
    assert_eq!(cells("demo.rate")[..3], ["demo.rate", "200", "7"]);
    assert_ne!(
        cells("demo.workers")[3..],
        cells("demo.rate")[3..],
        "{changed}"
    );
    assert!(
        changed.contains("a reload would be refused: demo.workers cannot"),
        "{changed}"
    );
    assert_eq!(
        said(&["config", "diff", &new, &new], 0).stdout,
        "no change\n"
    );
    let bad = file("bad", "[demo]\nrate = -7\n");
    let refused = said(&["config", "diff", &old, &bad], 3);
    assert!(refused.stderr.contains("demo.rate = -7"), "{refused:?}");
}

// req: KN-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_of_a_running_node_is_a_table_for_people_and_json_for_machines() {
    let node = Node::start(&[]).await;
    let table = asked(&node, &["status"], 0).await.stdout;
    let pid = format!("pid {}", node.process.pid());
    let doors = format!("listening: admin {}, demo {}", node.admin, node.demo);
    for wanted in [
        &pid,
        &doors,
        "config 1 (as started)",
        "service",
        "demo.workers",
        "readiness",
        "queue",
        "work_again",
    ] {
        assert!(table.contains(wanted), "no {wanted} in {table}");
    }
    let status: Value =
        serde_json::from_str(&asked(&node, &["status", "--json"], 0).await.stdout).unwrap();
    assert_eq!(status["pid"], node.process.pid());
    assert_eq!(status["doors"]["demo"], node.demo.to_string());
    assert_eq!(status["config"]["generation"], 1);
    let names = status["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|child| child["name"].as_str().unwrap());
    for name in names {
        assert!(
            table.lines().any(|line| line.starts_with(name)),
            "no {name} in {table}"
        );
    }
}

#[test]
fn asking_a_node_that_is_not_there_says_where_was_asked() {
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    for verb in ["status", "drain", "reload"] {
        let said = said(&[verb, "--admin", &nobody], 6);
        assert_eq!(said.stdout, "");
        assert!(
            said.stderr
                .contains(&format!("no node answers at {nobody}")),
            "{said:?}"
        );
        assert!(said.took < Duration::from_secs(2), "{said:?}");
    }
}

#[test]
fn asking_what_never_answers_gives_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let said = said(&["status", "--admin", &address], 6);
    assert!(said.stderr.contains("did not answer within"), "{said:?}");
    assert!(said.took < Duration::from_secs(10), "{said:?}");
}

// req: KN-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drain_by_signal_or_token_waits_until_the_node_has_gone() {
    for args in [&["drain"][..], &["drain", "--token", "open-sesame"]] {
        let node = Node::start(&[TOKEN]).await;
        let busy = tokio::spawn(http::get(node.demo, "/work?ms=500"));
        tokio::time::sleep(Duration::from_millis(100)).await;
        let drained = asked(&node, args, 0).await;
        assert!(drained.stdout.starts_with("draining\n"), "{drained:?}");
        assert!(drained.stdout.ends_with("stopped\n"), "{drained:?}");
        assert_eq!(
            busy.await.unwrap().unwrap().status,
            200,
            "what ran was answered"
        );
        assert_eq!(ended(&node).await, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_token_is_refused_with_the_reason() {
    let node = Node::start(&[TOKEN]).await;
    for verb in ["drain", "reload"] {
        let said = asked(&node, &[verb, "--token", "guess"], 8).await;
        assert!(said.stderr.contains("the token is wrong"), "{said:?}");
    }
    let unset = Node::start(&[]).await;
    let said = asked(&unset, &["drain", "--token", "guess"], 8).await;
    assert!(
        said.stderr
            .contains("no admin.token is configured; send SIGTERM"),
        "{said:?}"
    );
    for node in [&node, &unset] {
        assert_eq!(
            http::get(node.demo, "/work").await.unwrap().status,
            200,
            "it runs on"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_that_takes_too_long_is_told() {
    let node = Node::start(&["demo.deadline_ms=60000", "drain.deadline_ms=60000"]).await;
    let straggler = tokio::spawn(http::get(node.demo, "/work?ms=30000"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    let said = asked(&node, &["drain", "--within", "1"], 6).await;
    assert!(
        said.stderr
            .contains("still runs after 1 s; ask once more to abort it"),
        "{said:?}"
    );
    let said = asked(&node, &["drain"], 0).await;
    assert!(said.stdout.ends_with("stopped\n"), "{said:?}");
    assert_eq!(ended(&node).await, Some(5));
    assert!(straggler.await.unwrap().is_err());
}

// req: KN-19
#[test]
fn the_reference_is_written_as_it_is_committed() {
    let directory = tempfile::tempdir().unwrap();
    said(&["reference", directory.path().to_str().unwrap()], 0);
    let committed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let mut pages = 0;
    for page in std::fs::read_dir(directory.path()).unwrap() {
        let page = page.unwrap();
        let here = std::fs::read_to_string(committed.join(page.file_name())).unwrap();
        let now = std::fs::read_to_string(page.path()).unwrap();
        assert_eq!(
            now,
            here,
            "{:?} is stale: cargo xtask docs",
            page.file_name()
        );
        pages += 1;
    }
    assert!(pages >= 7, "{pages} pages");
}

/// The first cells of the rows of a page of the reference, without their quotes.
fn first_cells(page: &str) -> impl Iterator<Item = &str> {
    page.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
}

const METRICS_PAGE: &str = include_str!("../../../docs/reference/metrics.md");

// req: KN-19, KN-22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_metric_of_a_busy_node_is_documented() {
    let node = Node::start(&["demo.rate=100", "demo.crash_every_ms=100"]).await;
    for path in ["/work", "/nothing", "/work?ms=x"] {
        http::get(node.demo, path).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let page = http::get(node.admin, "/metrics").await.unwrap().text();
    let declared: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .collect();
    assert!(declared.len() > 15, "{page}");
    for (name, kind) in declared {
        // OpenMetrics declares a counter without the suffix its samples have.
        let name = if kind == "counter" {
            format!("{name}_total")
        } else {
            name.to_owned()
        };
        assert!(
            first_cells(METRICS_PAGE).any(|known| known == name),
            "{name} is not documented"
        );
    }
    assert!(page.ends_with("# EOF\n"), "{page}");
}

// req: KN-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_documented_admin_path_answers_by_its_method_only() {
    let node = Node::start(&[TOKEN]).await;
    let routes: Vec<_> = first_cells(METRICS_PAGE)
        .filter_map(|cell| cell.split_once(' '))
        .collect();
    assert!(routes.len() >= 7, "{routes:?}");
    let bearer = [("authorization", "Bearer open-sesame")];
    // The drain goes last: after it nothing answers.
    let (drain, others): (Vec<_>, Vec<_>) =
        routes.into_iter().partition(|(_, path)| *path == "/drain");
    for (method, path) in others.into_iter().chain(drain) {
        let got = http::get(node.admin, path).await.unwrap();
        match method {
            "GET" => {
                assert_eq!(got.status, 200, "{path}");
                let posted = http::post(node.admin, path, &bearer, b"").await.unwrap();
                assert_eq!(
                    (posted.status, posted.header("allow")),
                    (405, Some("GET, HEAD")),
                    "{path}"
                );
            }
            _ => {
                assert_eq!(
                    (got.status, got.header("allow")),
                    (405, Some("POST")),
                    "{path}"
                );
                assert_eq!(
                    http::post(node.admin, path, &[], b"").await.unwrap().status,
                    401,
                    "{path}"
                );
                assert_eq!(
                    http::post(node.admin, path, &bearer, b"")
                        .await
                        .unwrap()
                        .status,
                    202,
                    "{path}"
                );
            }
        }
    }
    assert_eq!(ended(&node).await, Some(0));
}
