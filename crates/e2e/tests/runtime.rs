//! The node on all cores and on one thread: the same node.

use std::time::Duration;

use e2e::wait::eventually;
use e2e::{Node, START, run_on};
use testkit::http;
use testkit::load::{Load, Stream};
use testkit::process::Process;

/// Threads of the runtime; the log, the file watch and the main thread have other names.
fn workers(process: &Process) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", process.pid())).expect("a process");
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with("tokio")).count()
}

/// A thread has its name once it has run, which takes a while on a busy machine.
async fn assert_workers(node: &Node, count: usize) {
    let what = format!("{count} threads of the runtime");
    eventually(&what, START, async || workers(&node.process) == count).await;
}

/// Serves under load, answers its operator, drains what it took.
async fn assert_whole(node: Node) {
    let report = Load::new(node.demo)
        .stream(Stream::new("get", 100.0).path("/work?ms=5"))
        .stream(
            Stream::new("post", 50.0)
                .path("/work?ms=5")
                .body("POST", ""),
        )
        .duration(Duration::from_secs(1))
        .timeout(Duration::from_secs(10))
        .run()
        .await;
    for stream in &report.streams {
        assert_eq!(stream.ok, stream.intended, "{report}");
    }
    for path in ["/healthz", "/readyz", "/status", "/metrics"] {
        assert_eq!(
            http::get(node.admin, path).await.expect("an answer").status,
            200,
            "{path}"
        );
    }
    let slow = tokio::spawn(http::get(node.demo, "/work?ms=800"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(node.process.signal(libc::SIGTERM).expect("a process"));
    let slow = slow.await.expect("a client").expect("an answer");
    assert_eq!(slow.status, 200, "{}", slow.text());
    let ended = node
        .process
        .wait_exit(Duration::from_secs(10))
        .await
        .expect("an end");
    assert_eq!(ended.code(), Some(0));
    let books = e2e::log::books(&node.process).await;
    assert_eq!(books["connection"].aborted, 0, "{books:?}");
}

// req: KN-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_thread_is_enough() {
    let node = Node::of(run_on("single", &[])).await;
    assert_eq!(
        workers(&node.process),
        0,
        "everything runs on the main thread"
    );
    assert_whole(node).await;
}

// req: KN-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_multi_thread_runtime_has_the_threads_it_is_given() {
    for threads in [1, 4] {
        let node = Node::of(run_on("multi", &[&format!("runtime.threads={threads}")])).await;
        assert_workers(&node, threads).await;
        assert_whole(node).await;
    }
}

// req: KN-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_number_there_is_a_thread_for_each_core() {
    let node = Node::of(run_on("multi", &[])).await;
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_workers(&node, cores).await;
    assert_whole(node).await;
}

/// Who fetches touches new memory all the time; two MiB of it wiped at once would hold up every hit on that thread.
// req: ED-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_waits_until_a_huge_page_is_wiped() {
    for kind in ["single", "multi"] {
        let node = Node::of(run_on(kind, &[])).await;
        let status = format!("/proc/{}/status", node.process.pid());
        let status = std::fs::read_to_string(status).expect("a process");
        let huge = status.lines().find(|line| line.starts_with("THP_enabled"));
        assert_ne!(huge, Some("THP_enabled:\t1"), "{kind}");
    }
}
