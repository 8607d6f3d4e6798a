//! What the node tells systemd: ready, still alive, stopping.

use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use e2e::{Node, START};
use tempfile::TempDir;
use testkit::http;
use testkit::process::{Process, Program};

/// The manager's end of the notification socket.
struct Manager {
    socket: UnixDatagram,
    directory: TempDir,
}

impl Manager {
    fn listen() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let socket = UnixDatagram::bind(directory.path().join("notify")).expect("a socket");
        Self { socket, directory }
    }

    /// The program told where to report.
    fn hears(&self, program: Program) -> Program {
        let path = self.directory.path().join("notify");
        program.env("NOTIFY_SOCKET", path.to_str().expect("a plain path"))
    }

    /// The lines told until one of them is `last`, or all that are told within that time.
    fn told(&self, within: Duration, last: &str) -> Vec<String> {
        let until = Instant::now() + within;
        let mut told = Vec::new();
        while !told.iter().any(|line| line == last) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.socket
                .set_read_timeout(Some(left))
                .expect("a time above zero");
            let mut buffer = [0; 4096];
            if let Ok(length) = self.socket.recv(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                told.extend(text.lines().map(str::to_owned));
            }
        }
        told
    }

    fn wait_for(&self, line: &str) {
        let told = self.told(START, line);
        assert!(
            told.iter().any(|told| told == line),
            "no {line} in {told:?}"
        );
    }

    /// Who is told to be the service from now on.
    fn main_pid(&self) -> i32 {
        let until = Instant::now() + START;
        while Instant::now() < until {
            let told = self.told(Duration::from_millis(50), "never told");
            let pid = told.iter().find_map(|line| line.strip_prefix("MAINPID="));
            if let Some(pid) = pid {
                return pid.parse().expect("a number");
            }
        }
        panic!("no MAINPID");
    }

    /// Reads what was told so far.
    fn forget(&self) {
        self.socket.set_nonblocking(true).expect("a socket");
        while self.socket.recv(&mut [0; 4096]).is_ok() {}
        self.socket.set_nonblocking(false).expect("a socket");
    }

    fn count(&self, within: Duration, line: &str) -> usize {
        let told = self.told(within, "never told");
        told.iter().filter(|told| *told == line).count()
    }
}

async fn ends(process: &Process) -> Option<i32> {
    assert!(process.signal(libc::SIGTERM).expect("a process"));
    let ended = process.wait_exit(Duration::from_secs(10)).await;
    ended.expect("an end").code()
}

// req: KN-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn systemd_is_told_when_the_node_is_ready_reloaded_and_stopping() {
    let manager = Manager::listen();
    let program = manager.hears(e2e::run(&[])).config("[drain]\n").unwrap();
    let process = program.start().unwrap();
    manager.wait_for("READY=1");
    let demo = process.addr("demo", START).await.unwrap();
    assert_eq!(
        http::get(demo, "/work").await.unwrap().status,
        200,
        "ready means ready"
    );
    process
        .replace_config("[drain]\ndeadline_ms = 2000\n")
        .unwrap();
    manager.wait_for("STATUS=serving under config 2");
    let straggler = tokio::spawn(http::get(demo, "/work?ms=1000"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(process.signal(libc::SIGTERM).unwrap());
    manager.wait_for("STOPPING=1");
    assert!(
        process.status().unwrap().is_none(),
        "told at the beginning of the drain"
    );
    assert_eq!(straggler.await.unwrap().unwrap().status, 200);
    let ended = process.wait_exit(Duration::from_secs(10)).await.unwrap();
    assert_eq!(ended.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_watchdog_hears_from_a_node_whose_services_come_and_go_and_from_one_that_drains() {
    let manager = Manager::listen();
    let sets = [
        "demo.deadline_ms=60000",
        "drain.deadline_ms=60000",
        "demo.crash_every_ms=50",
    ];
    let program = manager
        .hears(e2e::run(&sets))
        .env("WATCHDOG_USEC", "1600000");
    let process = program.start().unwrap();
    manager.wait_for("READY=1");
    let pings = manager.count(Duration::from_millis(2800), "WATCHDOG=1");
    assert!(
        (2..=5).contains(&pings),
        "{pings} pings in 2.8 s, one is due each 0.8 s"
    );
    let demo = process.addr("demo", START).await.unwrap();
    let straggler = tokio::spawn(http::get(demo, "/work?ms=30000"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(process.signal(libc::SIGTERM).unwrap());
    manager.wait_for("STOPPING=1");
    let pings = manager.count(Duration::from_millis(2000), "WATCHDOG=1");
    assert!(
        (1..=4).contains(&pings),
        "{pings} pings in 2 s of the drain"
    );
    assert_eq!(
        ends(&process).await,
        Some(5),
        "cut short by a second signal"
    );
    assert!(straggler.await.unwrap().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watchdog_of_another_process_or_of_no_time_is_left_alone() {
    for (pid, micros) in [("1", "200000"), ("", "0"), ("", "soon")] {
        let manager = Manager::listen();
        let program = manager
            .hears(e2e::run(&[]))
            .env("WATCHDOG_USEC", micros)
            .env("WATCHDOG_PID", pid);
        let process = program.start().unwrap();
        manager.wait_for("READY=1");
        let pings = manager.count(Duration::from_millis(500), "WATCHDOG=1");
        assert_eq!(pings, 0, "pid {pid:?}, {micros} µs");
        assert_eq!(ends(&process).await, Some(0));
    }
}

// req: KN-08, GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_watchdog_of_a_process_that_hands_over_hears_from_its_successor() {
    let manager = Manager::listen();
    // As systemd does it: the watchdog is for the process that it starts, by number.
    let named = "WATCHDOG_PID=$$ exec \"$0\" \"$@\"";
    let program = Program::new("sh").unwrap().args(["-c", named]);
    let program = program
        .arg(e2e::binary())
        .args(["run", "--demo", "kernel", "--runtime", &e2e::runtime()])
        .args(["--set", "admin.listen=127.0.0.1:0"])
        .args(["--set", "demo.listen=127.0.0.1:0", "--set", "demo.rate=0"]);
    let process = manager
        .hears(program)
        .env("WATCHDOG_USEC", "400000")
        .start()
        .unwrap();
    manager.wait_for("READY=1");
    manager.wait_for("WATCHDOG=1");
    assert!(process.signal(libc::SIGUSR2).unwrap());
    let successor = Heir(manager.main_pid());
    let ended = process.wait_exit(Duration::from_secs(30)).await.unwrap();
    assert_eq!(ended.code(), Some(0));
    // What the first one said is read; from here on only its successor speaks.
    manager.forget();
    manager.wait_for("WATCHDOG=1");
    drop(successor);
    manager.wait_for("STOPPING=1");
}

/// A process that a test has not started itself and has to end.
struct Heir(libc::pid_t);

impl Drop for Heir {
    fn drop(&mut self) {
        // SAFETY: a plain system call; nobody else ends it.
        unsafe { libc::kill(self.0, libc::SIGTERM) };
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_that_does_not_listen_stops_nobody() {
    let program = e2e::run(&[]).env("NOTIFY_SOCKET", "/nonexistent/notify");
    let node = Node::of(program).await;
    assert_eq!(http::get(node.demo, "/work").await.unwrap().status, 200);
    assert_eq!(ends(&node.process).await, Some(0));
}

// req: KN-16, KN-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_that_does_not_read_stops_nobody() {
    let manager = Manager::listen();
    let program = manager
        .hears(e2e::run_on("single", &[]))
        .env("WATCHDOG_USEC", "2000");
    let node = Node::of(program).await;
    // More pings than any queue of datagrams holds.
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_eq!(http::get(node.demo, "/work").await.unwrap().status, 200);
    assert_eq!(ends(&node.process).await, Some(0));
}
