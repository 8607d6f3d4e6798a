//! Listening sockets that systemd holds: a restart of the node loses no connection.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use e2e::wait::eventually;
use e2e::{START, binary, runtime};
use testkit::http::{self, Connection};

/// The sockets are for the process that the shell becomes.
const OURS: &str = "LISTEN_PID=$$ exec \"$0\" \"$@\"";

const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The sockets of the admin server and the demonstration, held for the nodes that come and go.
struct Sockets {
    admin: TcpListener,
    demo: TcpListener,
}

impl Sockets {
    fn bind() -> Self {
        let bind = || TcpListener::bind("127.0.0.1:0").expect("a free port");
        Self {
            admin: bind(),
            demo: bind(),
        }
    }

    fn admin(&self) -> SocketAddr {
        self.admin.local_addr().expect("a bound socket")
    }

    fn demo(&self) -> SocketAddr {
        self.demo.local_addr().expect("a bound socket")
    }

    /// Starts a node with both sockets as descriptors 3 and 4 under these names, as systemd does.
    fn activate(&self, names: &str) -> Activated {
        let mut command = self.command(names, OURS, [ANYWHERE; 2]);
        Activated(command.spawn().expect("a shell"))
    }

    /// The same with a config that asks for these addresses.
    fn command(&self, names: &str, script: &str, [admin, demo]: [SocketAddr; 2]) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).arg(binary()).args([
            "run",
            "--demo",
            "kernel",
            "--runtime",
            &runtime(),
        ]);
        for set in [
            format!("admin.listen={admin}"),
            format!("demo.listen={demo}"),
            "demo.rate=0".to_owned(),
            "demo.crash_every_ms=0".to_owned(),
        ] {
            command.args(["--set", &set]);
        }
        command.env("LISTEN_FDS", "2").env("LISTEN_FDNAMES", names);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let sockets = [self.admin.as_raw_fd(), self.demo.as_raw_fd()];
        // SAFETY: between fork and exec only fcntl and dup2 are called, which are safe there.
        unsafe { command.pre_exec(move || hand_over(sockets)) };
        command
    }
}

/// First out of the way of 3 and 4, then there; the copies stay open over an exec.
fn hand_over(sockets: [RawFd; 2]) -> io::Result<()> {
    let checked = |fd: RawFd| {
        if fd < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(fd)
        }
    };
    // SAFETY: plain system calls on descriptors this process has.
    let aside = sockets.map(|socket| unsafe { libc::fcntl(socket, libc::F_DUPFD_CLOEXEC, 100) });
    for (at, socket) in (3..).zip(aside) {
        // SAFETY: as above.
        checked(unsafe { libc::dup2(checked(socket)?, at) })?;
    }
    Ok(())
}

/// A node on held sockets.
struct Activated(Child);

impl Activated {
    /// Ends by itself, in time.
    fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().expect("a child of ours") {
                return status;
            }
            assert!(began.elapsed() < START, "no end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: plain system call; the child is not reaped yet, so the pid is its own.
        let sent = unsafe { libc::kill(self.0.id().cast_signed(), signal) };
        assert_eq!(sent, 0, "{}", io::Error::last_os_error());
    }

    async fn drained(mut self) {
        self.signal(libc::SIGTERM);
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.0.try_wait().expect("a child of ours") {
                break status;
            }
            assert!(began.elapsed() < START, "no end after SIGTERM");
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert_eq!(status.code(), Some(0));
    }
}

impl Drop for Activated {
    fn drop(&mut self) {
        // Ended and reaped already, or ended here.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn ask(connection: &mut Connection, host: SocketAddr, path: &str) -> u16 {
    let request = http::request_bytes("GET", host, path, &[], b"");
    connection
        .exchange(&request, START)
        .await
        .expect("an answer")
        .status
}

/// Asks both doors on new connections.
async fn assert_serves(sockets: &Sockets) {
    for (door, path) in [(sockets.admin(), "/healthz"), (sockets.demo(), "/work")] {
        let mut connection = Connection::open(door, START).await.expect("a held socket");
        assert_eq!(ask(&mut connection, door, path).await, 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sockets_are_taken_by_the_names_of_the_doors() {
    let sockets = Sockets::bind();
    let swapped = Sockets {
        admin: sockets.demo.try_clone().unwrap(),
        demo: sockets.admin.try_clone().unwrap(),
    };
    let node = swapped.activate("demo:admin");
    assert_serves(&sockets).await;
    node.drained().await;
}

/// Without `FileDescriptorName=` a socket is called like its unit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sockets_under_other_names_are_taken_by_where_they_listen() {
    for names in [
        "macronode.socket:macronode.socket",
        "unknown:unknown",
        "",
        "demo:edge.socket",
    ] {
        let sockets = Sockets::bind();
        let swapped = Sockets {
            admin: sockets.demo.try_clone().unwrap(),
            demo: sockets.admin.try_clone().unwrap(),
        };
        let mut command = swapped.command(names, OURS, [sockets.admin(), sockets.demo()]);
        let node = Activated(command.spawn().expect("a shell"));
        assert_serves(&sockets).await;
        node.drained().await;
    }
}

#[test]
fn a_socket_that_is_no_door_ends_the_node_before_it_is_taken_for_one() {
    for names in ["macronode.socket:demo", "admin:gateway.http"] {
        let sockets = Sockets::bind();
        let mut command = sockets.command(names, OURS, [ANYWHERE; 2]);
        let mut node = Activated(command.stderr(Stdio::piped()).spawn().expect("a shell"));
        assert!(!node.ended().success(), "{names}");
        let said = io::read_to_string(node.0.stderr.take().unwrap()).unwrap();
        assert!(said.contains("no door has this name"), "{said}");
        assert!(said.contains("(admin, demo)"), "{said}");
    }
}

#[test]
fn what_is_no_tcp_socket_ends_the_node_whatever_it_is_called() {
    let directory = tempfile::tempdir().unwrap();
    let others: [OwnedFd; 3] = [
        UnixListener::bind(directory.path().join("socket"))
            .unwrap()
            .into(),
        UdpSocket::bind(ANYWHERE).unwrap().into(),
        File::open("/dev/null").unwrap().into(),
    ];
    for other in others {
        let sockets = Sockets {
            demo: other.into(),
            ..Sockets::bind()
        };
        let mut command = sockets.command("admin:demo", OURS, [ANYWHERE; 2]);
        let mut node = Activated(command.stderr(Stdio::piped()).spawn().expect("a shell"));
        assert!(!node.ended().success());
        let said = io::read_to_string(node.0.stderr.take().unwrap()).unwrap();
        assert!(said.contains("`demo`: it is no TCP socket"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sockets_for_another_process_are_left_alone() {
    let sockets = Sockets::bind();
    let script = "LISTEN_PID=1 exec \"$0\" \"$@\"";
    let mut command = sockets.command("admin:demo", script, [ANYWHERE; 2]);
    let mut node = Activated(command.spawn().expect("a shell"));
    let mut ready = String::new();
    let stdout = node.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut ready).unwrap();
    assert!(ready.starts_with("ready admin=127.0.0.1:"), "{ready}");
    assert!(!ready.contains(&sockets.admin().to_string()), "{ready}");
    let request = http::request_bytes("GET", sockets.admin(), "/healthz", &[], b"");
    let answer = http::exchange(sockets.admin(), &request, Duration::from_secs(1));
    assert_eq!(answer.await.unwrap_err(), http::Failure::Timeout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_made_while_no_node_runs_is_answered_by_the_next() {
    let sockets = Sockets::bind();
    for _ in 0..3 {
        let mut early = Vec::new();
        for _ in 0..20 {
            let mut connection = Connection::open(sockets.demo(), START).await.unwrap();
            let request = http::request_bytes("GET", sockets.demo(), "/work", &[], b"");
            connection.send(&request).await.unwrap();
            early.push(connection);
        }
        let node = sockets.activate("admin:demo");
        for connection in &mut early {
            assert_eq!(connection.response(START).await.unwrap().status, 200);
        }
        assert_serves(&sockets).await;
        node.drained().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_under_load_loses_no_request() {
    let sockets = Sockets::bind();
    let node = sockets.activate("admin:demo");
    let demo = sockets.demo();
    let clients = tokio::spawn(async move {
        let mut requests = Vec::new();
        for _ in 0..300 {
            requests.push(tokio::spawn(async move {
                let headers = [("connection", "close")];
                let request = http::request_bytes("GET", demo, "/work?ms=20", &headers, b"");
                http::exchange(demo, &request, START).await
            }));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        requests
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    node.drained().await;
    let node = sockets.activate("admin:demo");
    let mut failed = Vec::new();
    for request in clients.await.unwrap() {
        match request.await.unwrap() {
            Ok(answer) => assert_eq!(answer.status, 200, "{}", answer.text()),
            Err(failure) => failed.push(failure),
        }
    }
    assert_eq!(failed, [], "of 300 requests");
    node.drained().await;
}

/// What is reachable from elsewhere asks for the token, whatever address the config has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_admin_socket_beyond_loopback_is_guarded() {
    let sockets = Sockets {
        // Not loopback by its name, and yet reachable from here only.
        admin: TcpListener::bind("[::ffff:127.0.0.1]:0").unwrap(),
        ..Sockets::bind()
    };
    let node = sockets.activate("admin:demo");
    let admin = SocketAddr::from(([127, 0, 0, 1], sockets.admin().port()));
    eventually("health", START, async || {
        http::get(admin, "/healthz")
            .await
            .is_ok_and(|said| said.status == 200)
    })
    .await;
    for path in ["/status", "/metrics", "/version"] {
        let said = http::get(admin, path).await.unwrap();
        assert_eq!(said.status, 401, "{path}: {}", said.text());
    }
    node.drained().await;
}
