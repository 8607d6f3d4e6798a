//! TLS that is silent, broken, old or meant for somebody else: closed with an alert at most, and heard by no origin.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use authority::{Authority, Careless, Client};
use e2e::gateway::PATIENCE;
use e2e::readiness::Watch;
use e2e::site::Site;
use records::{ALERT, HELLO, records, renegotiate};
use rustls::client::ClientSessionMemoryCache;
use testkit::http::Connection;
use testkit::strict;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[path = "gateway_wire_tls/authority.rs"]
mod authority;
#[path = "gateway_wire_tls/records.rs"]
mod records;

const HANDSHAKE: Duration = Duration::from_secs(2);
const LATE: Duration = Duration::from_millis(1200);

const NO_RENEGOTIATION: u8 = 100;
const PROTOCOL_VERSION: u8 = 70;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A site with a TLS door for `a.test` and `b.test`.
struct Secure {
    site: Site,
    door: SocketAddr,
    authority: Authority,
}

impl Secure {
    async fn start() -> Self {
        let authority = Authority::new();
        let pair = |name: &str| {
            let (cert, key) = authority.issue(name);
            format!("{{ cert = {cert:?}, key = {key:?} }}")
        };
        let section = format!(
            "[gateway.tls]\nlisten = [\"127.0.0.1:0\"]\ncertificates = [{}, {}]\n",
            pair("a.test"),
            pair("b.test"),
        );
        let site = Site::start(&section, "").await;
        let announced = site.gateway.process.announced(e2e::START).await;
        let door = announced.expect("its ready line")["gateway.tls"];
        Self {
            site,
            door,
            authority,
        }
    }

    async fn connect(&self) -> Connection {
        let opened = Connection::open(self.door, PATIENCE).await;
        opened.expect("a connection")
    }

    async fn metric(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        self.site.gateway.metrics().await.sum(name, labels) as u64
    }

    /// Nothing but what is asked here has come this far.
    async fn still_serves(&self) {
        assert!(self.site.origin.take().is_empty(), "an origin heard of it");
        let answer = self
            .authority
            .client()
            .get(self.door, "a.test", "a.test")
            .await;
        let answer = answer.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let seen = strict::requests(&self.site.origin.take().concat()).expect("one request");
        assert_eq!(seen[0].one("x-forwarded-proto"), Some("https"));
    }
}

/// Sends these bytes, and takes what comes until the end; how long that took.
async fn said(secure: &Secure, bytes: &[u8]) -> (Vec<u8>, Duration) {
    let mut connection = secure.connect().await;
    let began = Instant::now();
    // A door that has closed already is seen when reading.
    let _ = connection.send(bytes).await;
    let (answer, closed) = connection.read_until_close(HANDSHAKE + LATE).await;
    assert!(closed, "still open after {:?}", began.elapsed());
    (answer, began.elapsed())
}

// req: GW-03
// attack: C-01, C-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_shake_hands_in_time_is_let_go() {
    let secure = Secure::start().await;
    let hello = secure.authority.client().hello("a.test");
    let before = secure
        .metric("io_timeouts_total", &[("op", "handshake")])
        .await;
    let in_time = HANDSHAKE - ms(100)..HANDSHAKE + LATE;
    for part in [
        &b""[..],
        &hello[..3],
        &hello[..5],
        &hello[..hello.len() - 1],
    ] {
        let (answer, took) = said(&secure, part).await;
        assert!(answer.is_empty(), "{answer:?}");
        assert!(in_time.contains(&took), "{} bytes: {took:?}", part.len());
    }
    let mut dripping = secure.connect().await;
    let began = Instant::now();
    for byte in &hello {
        if dripping.send(&[*byte]).await.is_err() || dripping.read_until_close(ms(50)).await.1 {
            break;
        }
    }
    assert!(in_time.contains(&began.elapsed()), "{:?}", began.elapsed());
    let counted = secure
        .metric("io_timeouts_total", &[("op", "handshake")])
        .await
        - before;
    assert_eq!(counted, 5);
    secure.still_serves().await;
}

// req: GW-15
// attack: C-03, C-05, C-09, C-15
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_hello_gets_an_alert_at_most_and_no_time() {
    let secure = Secure::start().await;
    let hello = secure.authority.client().hello("a.test");
    let oversize = [&[HELLO, 3, 1, 0x48, 1][..], &[1; 0x4801]].concat();
    // A client that knows no version but 1.1, or 1.0, or the last of SSL.
    let old = |minor: u8| {
        let mut old = hello.clone();
        (old[9], old[10]) = (3, minor);
        let at = old
            .windows(3)
            .position(|at| at == [0, 43, 0])
            .expect("its versions");
        old[at + 1] = 0xff;
        old
    };
    let cut = [&hello[..], &[ALERT, 3, 3, 0, 2, 1, 0]].concat();
    let cases: Vec<(&str, Vec<u8>, Option<u8>)> = vec![
        ("an oversize record", oversize, None),
        ("an empty record", vec![HELLO, 3, 1, 0, 0], None),
        ("close_notify at once", vec![ALERT, 3, 3, 0, 2, 1, 0], None),
        ("close_notify after the hello", cut, None),
        ("a fatal alert", vec![ALERT, 3, 3, 0, 2, 2, 40], None),
        (
            "data before any key",
            vec![23, 3, 3, 0, 5, 1, 2, 3, 4, 5],
            None,
        ),
        ("TLS 1.1", old(2), Some(PROTOCOL_VERSION)),
        ("TLS 1.0", old(1), Some(PROTOCOL_VERSION)),
        ("SSL 3", old(0), None),
        (
            "SSL 2",
            vec![0x80, 0x2e, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10],
            None,
        ),
        (
            "HTTP/1",
            b"GET / HTTP/1.1\r\nhost: a.test\r\n\r\n".to_vec(),
            None,
        ),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), None),
        ("SSH", b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(), None),
        ("zeros", vec![0; 4096], None),
    ];
    let used = || secure.site.gateway.process.cpu_time().expect("a process");
    for (name, bytes, alert) in cases {
        let before = secure.metric("tls_failures_total", &[]).await;
        let spent = used();
        let (answer, took) = said(&secure, &bytes).await;
        // The hello is answered before it is seen that its sender says no more.
        let greeted = name == "close_notify after the hello";
        let kinds: Vec<u8> = records(&answer).iter().map(|(kind, _)| *kind).collect();
        assert!(
            greeted || kinds.iter().all(|kind| *kind == ALERT),
            "{name}: {kinds:?}"
        );
        assert!(!answer.windows(4).any(|word| word == b"HTTP"), "{name}");
        if let Some(alert) = alert {
            assert_eq!(records(&answer)[0].1[1], alert, "{name}");
        }
        assert!(took < HANDSHAKE, "{name}: {took:?}");
        let failed = secure.metric("tls_failures_total", &[]).await - before;
        assert_eq!(failed, 1, "{name}");
        assert!(used() - spent < ms(500), "{name}: somebody spins");
    }
    secure.still_serves().await;
}

// req: GW-01
// attack: C-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hello_may_come_in_any_number_of_pieces() {
    let secure = Secure::start().await;
    for size in [1, 7, 100] {
        let mut session = secure.authority.client().session("a.test");
        let mut hello = Vec::new();
        session.write_tls(&mut hello).expect("memory");
        let records: Vec<u8> = hello[5..]
            .chunks(size)
            .flat_map(|part| [&[HELLO, 3, 1, 0, part.len() as u8], part].concat())
            .collect();
        let door = secure.door;
        let asked = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(door)?;
            for piece in records.chunks(200) {
                stream.write_all(piece)?;
            }
            let ask = b"GET /t HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n";
            session.writer().write_all(ask)?;
            let mut stream = rustls::StreamOwned::new(session, stream);
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            std::io::Result::Ok(answer)
        });
        match asked.await.expect("a client") {
            Ok(answer) => assert!(answer.starts_with("HTTP/1.1 200"), "{size}: {answer}"),
            // So many pieces that nobody needs may be refused, not mistaken.
            Err(error) => assert!(
                size == 1 && error.to_string().contains("alert"),
                "{size}: {error}"
            ),
        }
        let _ = secure.site.origin.take();
    }
    secure.still_serves().await;
}

// req: GW-01
// attack: C-06, C-07, C-10, C-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protocol_and_name_are_what_the_handshake_says() {
    let secure = Secure::start().await;
    let client = || secure.authority.client();
    let get = |client: Client, name: &'static str, host: &'static str| {
        let door = secure.door;
        async move { client.get(door, name, host).await }
    };
    let silent = client().alpn(&[]);
    let answer = get(silent, "a.test", "a.test").await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let other = get(client().alpn(&["spdy/3"]), "a.test", "a.test").await;
    let other = other.expect_err("no such protocol").to_string();
    assert!(other.contains("NoApplicationProtocol"), "{other}");
    for name in ["c.test", "x.a.test", "a.test.evil"] {
        let unknown = get(client(), name, "a.test").await;
        let unknown = unknown.expect_err("no such name").to_string();
        assert!(unknown.contains("alert"), "{name}: {unknown}");
    }
    let _ = secure.site.origin.take();
    let before = secure.site.refusals().await;
    for host in ["b.test", "evil", "a.test.evil"] {
        let answer = get(client(), "a.test", host).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 421"), "{host}: {answer}");
        assert!(answer.contains("\"reason\":\"misdirected\""), "{answer}");
    }
    let counted = e2e::site::counted(&before, &secure.site.refusals().await);
    assert_eq!(counted.get("misdirected"), Some(&3));
    for host in ["a.test:443", "A.Test"] {
        let answer = get(client(), "a.test", host).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{host}: {answer}");
    }
    let _ = secure.site.origin.take();
    secure.still_serves().await;
}

// req: GW-01
// attack: C-12, C-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_is_good_for_its_own_host_and_for_nothing_early() {
    let secure = Secure::start().await;
    let resumed = async || {
        secure
            .metric("tls_handshakes_total", &[("kind", "resumed")])
            .await
    };
    let careless = Arc::new(Careless(ClientSessionMemoryCache::new(8)));
    let client = secure.authority.client().sessions(careless).early();
    let config = Arc::new(client.config());
    for (name, again) in [("a.test", 0), ("a.test", 1), ("b.test", 1), ("b.test", 2)] {
        let mut stream = authority::connect(&config, secure.door, name)
            .await
            .expect("a handshake");
        assert!(!stream.get_ref().1.is_early_data_accepted());
        let ask = format!("GET /t HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n");
        stream
            .write_all(ask.as_bytes())
            .await
            .expect("a connection");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("an answer");
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{name}");
        assert_eq!(resumed().await, again, "{name}");
    }
}

// req: GW-15
// attack: C-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_shakes_hands_twice() {
    let secure = Secure::start().await;
    let client = secure.authority.client().old();
    let hello = client.hello("a.test");
    let (session, door) = (client.session("a.test"), secure.door);
    let said = tokio::task::spawn_blocking(move || renegotiate(session, door, &hello));
    let said = said.await.expect("a client").expect("an answer");
    assert_eq!(said[1], NO_RENEGOTIATION, "{said:?}");
    let seen = strict::requests(&secure.site.origin.take().concat());
    assert_eq!(seen.expect("one request").len(), 1);
    secure.still_serves().await;
}

// req: GW-03
// attack: C-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshakes_that_stop_halfway_leave_turns_for_others() {
    let secure = Secure::start().await;
    let hello = secure.authority.client().hello("a.test");
    let mut held = Vec::new();
    for _ in 0..400 {
        let mut connection = secure.connect().await;
        connection.send(&hello).await.expect("a connection");
        held.push(connection);
    }
    // More than there are turns, and none of them has one: nobody waits for who says no more.
    let began = Instant::now();
    let answer = secure
        .authority
        .client()
        .get(secure.door, "a.test", "a.test")
        .await;
    println!("served {:?} after 400 hellos", began.elapsed());
    assert!(answer.expect("an answer").starts_with("HTTP/1.1 200"));
    assert!(began.elapsed() < HANDSHAKE / 2, "{:?}", began.elapsed());
    for mut connection in held {
        let (_, closed) = connection.read_until_close(HANDSHAKE + LATE).await;
        assert!(closed, "a handshake that stopped is over");
    }
    let _ = secure.site.origin.take();
    secure.still_serves().await;
}

// req: GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_that_cannot_be_taken_over_are_counted_and_degrade_the_node_until_they_can() {
    let secure = Secure::start().await;
    let mut watch = Watch::start(secure.site.gateway.admin);
    watch.is("ready", PATIENCE).await;
    let failures = "gateway_certificate_failures_total";
    assert_eq!(secure.metric(failures, &[]).await, 0);
    let (cert, _) = secure.authority.issue("a.test");
    std::fs::write(cert, "no certificate").expect("a writable file");
    watch.is("degraded", PATIENCE).await;
    assert_eq!(secure.metric("gateway_degraded", &[]).await, 1);
    assert!(secure.metric(failures, &[]).await >= 1);
    // Those in force still are.
    secure.still_serves().await;
    secure.authority.issue("a.test");
    watch.is("ready", PATIENCE).await;
    assert_eq!(secure.metric("gateway_degraded", &[]).await, 0);
    secure.still_serves().await;
}
