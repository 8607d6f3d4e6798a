//! What an operator asks of a running node: status, drain; what is refused, and what when nobody answers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use e2e::command::{Ran, macronode, ran, ran_beside};
use e2e::{Node, binary, runtime};
use serde_json::Value;
use testkit::http;
use testkit::process::Program;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_has_enough_ends_a_look_quietly() {
    let node = Node::start(&[]).await;
    let admin = node.admin.to_string();
    let looks: [&[&str]; 4] = [
        &["config", "schema"],
        &["completions", "bash"],
        &["version"],
        &["status", "--admin", &admin],
    ];
    for look in looks {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = macronode(look).stdout(writer).output().unwrap();
        assert_eq!(
            output.status.signal(),
            Some(libc::SIGPIPE),
            "{look:?}: {output:?}"
        );
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{look:?}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = macronode(["drain", "--admin", &admin])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "what acts on a node goes on: {output:?}"
    );
    assert_eq!(
        ended(&node).await,
        Some(0),
        "the node was asked all the same"
    );
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

/// Something that answers like this, one connection after the other, and with nothing once there are no more answers.
fn stranger(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address").to_string();
    std::thread::spawn(move || {
        let mut answers = answers.into_iter();
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let _request = stream.read(&mut [0; 1024]).expect("a request");
            let answer = answers.next().unwrap_or_default();
            stream.write_all(answer.as_bytes()).expect("a listener");
        }
    });
    address
}

fn answer(status: u16, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

#[test]
fn what_answers_but_is_no_macronode_is_not_taken_for_one() {
    for body in ["<html>hello</html>", "[1, 2]", "{\"a\": 1}", "null"] {
        for verb in ["status", "drain", "reload"] {
            let address = stranger(vec![answer(200, body), answer(202, "{}")]);
            let args = [verb, "--admin", &address, "--token", "secret"];
            let said = said(&args, 6);
            assert_eq!(said.stdout, "", "{said:?}");
            assert!(said.stderr.contains("no macronode"), "{said:?}");
        }
    }
}

/// A status as of a node on another machine: no process of this one has such a number.
const FAR: &str = r#"{"pid": 2147483647, "node": "running", "version": "\u001b]0;x\u0007\n9"}"#;

#[test]
fn a_far_node_that_falls_silent_is_not_said_to_have_stopped() {
    let address = stranger(vec![answer(200, FAR), answer(202, "{}")]);
    let args = [
        "drain", "--admin", &address, "--token", "t", "--within", "1",
    ];
    let said = said(&args, 6);
    assert_eq!(said.stdout, "draining\n");
    assert!(said.stderr.contains("after 1 s"), "{said:?}");
}

#[test]
fn no_time_is_too_long_to_wait() {
    let forever = u64::MAX.to_string();
    let reloaded = FAR.replace(
        "{",
        r#"{"config": {"reloads": 1, "last_result": "applied"}, "#,
    );
    let answers = [answer(200, FAR), answer(202, "{}"), answer(200, &reloaded)];
    let address = stranger(answers.to_vec());
    let args = [
        "reload", "--admin", &address, "--token", "t", "--within", &forever,
    ];
    assert!(said(&args, 0).stdout.starts_with("applied"));
}

#[test]
fn what_a_node_says_does_not_steer_the_terminal() {
    let address = stranger(vec![answer(200, FAR)]);
    let shown = said(&["status", "--admin", &address], 0).stdout;
    assert!(
        shown.starts_with(r"macronode \u{1b}]0;x\u{7}\n9,"),
        "{shown}"
    );
    let address = stranger(vec![answer(503, r#"{"detail": "\u001b[2Jgone"}"#)]);
    let refused = said(&["status", "--admin", &address], 8).stderr;
    assert!(refused.ends_with("503: \\u{1b}[2Jgone\n"), "{refused}");
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

// req: KN-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_asked_by_signal_whatever_its_program_is_called() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("gateway-1.2");
    std::fs::copy(binary(), &program).unwrap();
    let args = ["run", "--demo", "kernel", "--runtime", &runtime()];
    let sets = ["admin.listen=127.0.0.1:0", "demo.listen=127.0.0.1:0"];
    let program = Program::new(program).unwrap().args(args);
    let node = Node::of(program.args(sets.iter().flat_map(|set| ["--set", set]))).await;
    let reloaded = asked(&node, &["reload"], 0).await;
    assert!(reloaded.stdout.starts_with("unchanged"), "{reloaded:?}");
    let drained = asked(&node, &["drain"], 0).await;
    assert!(drained.stdout.ends_with("stopped\n"), "{drained:?}");
    assert_eq!(ended(&node).await, Some(0));
}

// attack: J-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_not_signalled_for_what_answers_elsewhere_in_its_name() {
    let node = Node::start(&[]).await;
    let pid = node.process.pid();
    let status =
        format!(r#"{{"node": "up", "version": "1", "pid": {pid}, "config": {{"reloads": 0}}}}"#);
    for verb in ["drain", "reload"] {
        let address = stranger(vec![answer(200, &status)]);
        let said = said(&[verb, "--admin", &address, "--within", "1"], 6).stderr;
        assert!(said.contains("use --token"), "{said}");
    }
    let reloaded = asked(&node, &["reload"], 0).await;
    assert!(reloaded.stdout.starts_with("unchanged"), "it still runs");
}

/// What answers says the number of a process that does not listen there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_does_not_listen_where_it_was_asked_is_not_signalled() {
    let mut bystander = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let status = format!(
        r#"{{"node": "up", "version": "1", "pid": {}}}"#,
        bystander.id()
    );
    for verb in ["drain", "reload"] {
        let address = stranger(vec![answer(200, &status)]);
        let said = said(&[verb, "--admin", &address], 6).stderr;
        assert!(said.contains("use --token"), "{said}");
    }
    assert_eq!(bystander.try_wait().unwrap(), None, "it was left alone");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
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
