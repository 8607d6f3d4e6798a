//! Listeners handed from one process to the next while requests come in: nobody is turned away.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use e2e::gateway::{Gateway, PATIENCE, program, to};
use e2e::wait::eventually;
use testkit::load::{Load, Stream};
use testkit::process::Program;
use testkit::upstream::{Fault, Reply, Upstream};

/// A process that this test did not start itself; gone when this is.
struct Successor(i32);

impl Successor {
    /// The one that took over from this gateway.
    async fn of(gateway: &Gateway) -> Self {
        let told =
            |line: &testkit::process::Line| line.text.contains("handed over; this process drains");
        let line = gateway.process.wait_for_line(told, PATIENCE).await.unwrap();
        let event: serde_json::Value = serde_json::from_str(&line.text).unwrap();
        Self(i32::try_from(event["successor"].as_i64().unwrap()).unwrap())
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        // SAFETY: a plain system call; the successor runs until this test ends it.
        unsafe { libc::kill(self.0, libc::SIGTERM) };
    }
}

async fn gateway_and_origin() -> (Gateway, Upstream) {
    let origin = Upstream::start().await.unwrap();
    origin.set_default(Reply::default().body("hello"));
    origin.set_journal(0);
    let gateway = Gateway::start(&to(origin.addr(), "")).await;
    (gateway, origin)
}

/// More at once than the places that a search begins with.
async fn limit_found(gateway: &Gateway, upstream: &str) -> f64 {
    let metrics = gateway.metrics().await;
    metrics.sum("upstream_limit", &[("upstream", upstream)])
}

// req: GW-16, GT-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_upstream_was_found_to_be_good_for_is_known_after_a_hand_over_and_under_another_name()
 {
    let origin = Upstream::start().await.unwrap();
    origin.set_default(Reply::default().delay(Duration::from_millis(40)));
    origin.set_journal(0);
    let section = to(origin.addr(), "");
    let gateway = Gateway::start(&section).await;
    let _crowd = Load::new(gateway.door)
        .stream(Stream::new("get", 0.0))
        .closed(40)
        .duration(Duration::from_secs(30))
        .timeout(PATIENCE)
        .start();
    eventually("more is found to be possible", 2 * PATIENCE, async || {
        limit_found(&gateway, "main").await >= 32.0
    })
    .await;
    gateway.reload(&section.replace("main", "other")).await;
    let renamed = limit_found(&gateway, "other").await;
    assert!(renamed >= 24.0, "{renamed} by its new name");
    gateway.process.signal(libc::SIGUSR2).unwrap();
    let _successor = Successor::of(&gateway).await;
    let handed_over = limit_found(&gateway, "other").await;
    assert!(handed_over >= 24.0, "{handed_over} after the hand-over");
}

// req: GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_process_takes_over_and_no_request_is_lost() {
    let (gateway, _origin) = gateway_and_origin().await;
    let load = Load::new(gateway.door)
        .stream(Stream::new("get", 200.0))
        .duration(Duration::from_secs(4))
        .timeout(PATIENCE)
        .start();
    tokio::time::sleep(Duration::from_secs(1)).await;
    gateway.process.signal(libc::SIGUSR2).unwrap();
    let successor = Successor::of(&gateway).await;
    let ended = gateway.process.wait_exit(PATIENCE).await.unwrap();
    assert!(ended.success(), "{ended}");
    assert_ne!(successor.0, gateway.process.pid());
    let report = load.finish().await;
    assert_eq!(report.ok(), report.stream("get").intended, "{report}");
    assert_eq!(
        gateway.get("/").await.text(),
        "hello",
        "the successor serves on"
    );
    drop(successor);
    eventually("the successor has ended too", PATIENCE, async || {
        gateway.ask("GET", "/", &[], b"").await.is_err()
    })
    .await;
}

/// Which of the origins each of many users is sent to.
async fn places(gateway: &Gateway) -> Vec<String> {
    let mut places = Vec::new();
    for user in 0..40 {
        let user = format!("user-{user}");
        let answer = gateway.get_with("/", &[("x-user", &user)]).await;
        places.push(answer.text());
    }
    places
}

// req: GW-11, GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_node_and_a_successor_send_everybody_where_they_went_before() {
    let mut origins = Vec::new();
    for name in ["one", "two", "three"] {
        let origin = Upstream::start().await.unwrap();
        origin.set_default(Reply::default().body(name));
        origins.push(origin);
    }
    let urls: Vec<_> = origins
        .iter()
        .map(|origin| format!("\"http://{}\"", origin.addr()))
        .collect();
    let section = format!(
        "[[gateway.routes]]\nname = \"all\"\nupstream = \"main\"\n[gateway.upstreams.main]\n\
         endpoints = [{}]\nbalance = \"hash\"\nhash_header = \"x-user\"\n",
        urls.join(", ")
    );
    let gateway = Gateway::start(&section).await;
    let before = places(&gateway).await;
    for name in ["one", "two", "three"] {
        assert!(before.iter().any(|place| place == name), "{before:?}");
    }
    let other = Gateway::start(&section).await;
    assert_eq!(places(&other).await, before, "on another node");
    gateway.process.signal(libc::SIGUSR2).unwrap();
    let _successor = Successor::of(&gateway).await;
    gateway.process.wait_exit(PATIENCE).await.unwrap();
    assert_eq!(places(&gateway).await, before, "after a hand-over");
}

// req: GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_that_cannot_start_leaves_the_old_process_serving() {
    let (gateway, _origin) = gateway_and_origin().await;
    let broken = "[gateway]\nlisten = [\"127.0.0.1:0\"]\n";
    gateway.process.replace_config(broken).unwrap();
    gateway.process.signal(libc::SIGUSR2).unwrap();
    let told = |line: &testkit::process::Line| line.text.contains("no successor could take over");
    gateway.process.wait_for_line(told, PATIENCE).await.unwrap();
    assert_eq!(gateway.get("/").await.text(), "hello");
    assert!(gateway.process.status().unwrap().is_none());
}

// req: GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_answer_that_has_begun_is_finished_by_the_old_process() {
    let origin = Upstream::start().await.unwrap();
    let slow = Reply::default()
        .body("hello")
        .delay(Duration::from_millis(1_200));
    origin.set_default(slow);
    let gateway = Gateway::of(program(&to(origin.addr(), ""))).await;
    let door = gateway.door;
    let request =
        testkit::http::request_bytes("GET", "gate.test", "/", &[("connection", "close")], b"");
    let asked =
        tokio::spawn(async move { testkit::http::exchange(door, &request, PATIENCE).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    gateway.process.signal(libc::SIGUSR2).unwrap();
    let _successor = Successor::of(&gateway).await;
    assert_eq!(asked.await.unwrap().unwrap().text(), "hello");
    assert!(gateway.process.wait_exit(PATIENCE).await.unwrap().success());
}

// req: GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_goes_on_in_the_old_process_for_longer_than_a_drain_may_take() {
    let origin = Upstream::start().await.unwrap();
    let body = "data: tick\n\n".repeat(30);
    let ticks = Reply::default().header("content-type", "text/event-stream");
    let slow = Fault::Slow { bytes_per_s: 120 };
    origin.set_default(ticks.body(body.clone()).chunked().fault(slow));
    let section = format!("{}[drain]\ndeadline_ms = 500\n", to(origin.addr(), ""));
    let gateway = Gateway::start(&section).await;
    let door = gateway.door;
    let request =
        testkit::http::request_bytes("GET", "gate.test", "/", &[("connection", "close")], b"");
    let reading =
        tokio::spawn(async move { testkit::http::exchange(door, &request, PATIENCE).await });
    eventually("the origin is asked", PATIENCE, async || {
        origin.received() > 0
    })
    .await;
    gateway.process.signal(libc::SIGUSR2).unwrap();
    let _successor = Successor::of(&gateway).await;
    assert_eq!(reading.await.unwrap().unwrap().text(), body);
    assert!(gateway.process.wait_exit(PATIENCE).await.unwrap().success());
}

/// An address that nobody listens at.
fn free_address() -> SocketAddr {
    let bound = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    bound.local_addr().unwrap()
}

// req: GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_listens_where_the_config_says_by_then_and_nobody_does_elsewhere() {
    let origin = Upstream::start().await.unwrap();
    let [before, after, kept] = [free_address(), free_address(), free_address()];
    let config = |addresses: &[SocketAddr]| {
        let upstream = to(origin.addr(), "");
        let listen: Vec<_> = addresses.iter().map(|at| format!("\"{at}\"")).collect();
        format!("[gateway]\nlisten = [{}]\n{upstream}", listen.join(", "))
    };
    let args = [
        "run",
        "--set",
        "admin.listen=127.0.0.1:0",
        "--set",
        "log.format=json",
    ];
    let program = Program::new(e2e::binary()).unwrap().args(args);
    let program = program.args(["--runtime", &e2e::runtime()]);
    let program = program.config(&config(&[before, kept])).unwrap();
    let gateway = Gateway::of(program).await;
    assert_eq!(gateway.door, before);
    let config = config(&[kept, after]);
    gateway.process.replace_config(&config).unwrap();
    gateway.process.signal(libc::SIGUSR2).unwrap();
    let _successor = Successor::of(&gateway).await;
    assert!(gateway.process.wait_exit(PATIENCE).await.unwrap().success());
    let request =
        testkit::http::request_bytes("GET", "gate.test", "/", &[("connection", "close")], b"");
    for door in [kept, after] {
        let answer = testkit::http::exchange(door, &request, PATIENCE).await;
        assert_eq!(answer.unwrap().status, 200, "at {door}");
    }
    let nobody = tokio::net::TcpStream::connect(before).await;
    assert!(nobody.is_err(), "at {before}");
}

fn says(words: &'static str) -> impl Fn(&testkit::process::Line) -> bool {
    move |line| line.text.contains(words)
}

// req: KN-08, GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_drains_starts_no_successor_and_finishes_what_it_has() {
    let origin = Upstream::start().await.unwrap();
    let slow = Reply::default()
        .body("hello")
        .delay(Duration::from_millis(1_900));
    origin.set_default(slow);
    let gateway = Gateway::of(program(&to(origin.addr(), ""))).await;
    let door = gateway.door;
    let request =
        testkit::http::request_bytes("GET", "gate.test", "/", &[("connection", "close")], b"");
    let asked =
        tokio::spawn(async move { testkit::http::exchange(door, &request, PATIENCE).await });
    eventually("the origin is asked", PATIENCE, async || {
        origin.received() > 0
    })
    .await;
    gateway.process.signal(libc::SIGTERM).unwrap();
    let drains = says("\"shutdown\"");
    gateway
        .process
        .wait_for_line(drains, PATIENCE)
        .await
        .unwrap();
    gateway.process.signal(libc::SIGUSR2).unwrap();
    let refused = says("no successor is started");
    gateway
        .process
        .wait_for_line(refused, PATIENCE)
        .await
        .unwrap();
    assert_eq!(asked.await.unwrap().unwrap().text(), "hello");
    let ended = gateway.process.wait_exit(PATIENCE).await.unwrap();
    assert!(ended.success(), "{ended}");
}

// req: KN-08, GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_told_to_end_while_a_successor_starts_ends_with_it() {
    let (gateway, _origin) = gateway_and_origin().await;
    gateway.process.signal(libc::SIGUSR2).unwrap();
    gateway.process.signal(libc::SIGTERM).unwrap();
    let ended = gateway.process.wait_exit(PATIENCE).await.unwrap();
    assert!(ended.success(), "{ended}");
    eventually("nobody listens any more", PATIENCE, async || {
        tokio::net::TcpStream::connect(gateway.door).await.is_err()
    })
    .await;
}

// req: KN-08, GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_of_a_node_that_still_reads_its_config_is_done_when_it_can_be() {
    let issued = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
    let files = tempfile::tempdir().unwrap();
    let (pipe, whole) = (files.path().join("ca.pem"), files.path().join("whole.pem"));
    let section = format!(
        "[[gateway.routes]]\nupstream = \"main\"\n[gateway.upstreams.main]\n\
         endpoints = [\"https://127.0.0.1:1\"]\nca = {pipe:?}\n"
    );
    for signal in [libc::SIGHUP, libc::SIGUSR2, libc::SIGTERM] {
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        std::fs::write(&whole, issued.cert.pem()).unwrap();
        let process = program(&section).start().unwrap();
        // Until it is written to and closed, the node waits for what it holds.
        let until = Instant::now() + PATIENCE;
        let written = loop {
            assert!(Instant::now() < until, "the node does not read the file");
            tokio::time::sleep(Duration::from_millis(5)).await;
            let mut options = std::fs::OpenOptions::new();
            options.write(true).custom_flags(libc::O_NONBLOCK);
            let Ok(mut opened) = options.open(&pipe) else {
                continue;
            };
            process.signal(signal).unwrap();
            // Who only glanced at it has gone by then.
            tokio::time::sleep(Duration::from_millis(20)).await;
            if signal == libc::SIGTERM {
                break opened;
            }
            if opened.write_all(issued.cert.pem().as_bytes()).is_ok() {
                break opened;
            }
        };
        if signal == libc::SIGTERM {
            // Nobody has to write what it waits for before it can be ended.
            let ended = process.wait_exit(PATIENCE).await.unwrap();
            assert_eq!(ended.signal(), Some(libc::SIGTERM));
            return;
        }
        std::fs::rename(&whole, &pipe).unwrap();
        drop(written);
        let announced = process.announced(e2e::START).await.unwrap();
        let gateway = Gateway {
            admin: announced["admin"],
            door: announced["gateway.http"],
            process,
        };
        if signal == libc::SIGUSR2 {
            let _successor = Successor::of(&gateway).await;
            assert!(gateway.process.wait_exit(PATIENCE).await.unwrap().success());
        }
        std::fs::remove_file(&pipe).unwrap();
    }
}
