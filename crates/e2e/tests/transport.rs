//! The framed door of a whole node: the bridge to the gateway's routes, drains, dying workers, TLS, reloads.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use e2e::command::{Ran, macronode, ran_beside};
use e2e::gateway::{Gateway, PATIENCE, ROOMY, TRUSTED, config, program, to};
use e2e::wait::eventually;
use e2e::{START, log};
use serde_json::Value;
use testkit::http;
use testkit::upstream::{Reply, Upstream, filler};

const TOKEN: &str = "a-token-of-this-test";
/// A transport with a bridge, and a way to kill its workers.
const BRIDGE: &str = "[transport]\nlisten = [\"127.0.0.1:0\"]\nbridge = true\n";

fn section(upstream: SocketAddr, keys: &str) -> String {
    format!(
        "{keys}{}{BRIDGE}[admin]\ntoken = \"{TOKEN}\"\n",
        to(upstream, "")
    )
}

async fn start(section: &str) -> (Gateway, String) {
    let node = Gateway::of(program(section)).await;
    let frames = node.process.addr("transport.tcp", START).await.unwrap();
    (node, frames.to_string())
}

async fn oap(args: &[&str]) -> Ran {
    ran_beside(macronode([&["oap"], args].concat())).await
}

/// What `oap bench` says of its requests.
async fn bench(args: &[&str]) -> Value {
    let ran = oap(&[&["bench"], args, &["--json"]].concat()).await;
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.printed()))
}

async fn kill(node: &Gateway, workers: usize) {
    let path = format!("/chaos/transport/kill?workers={workers}");
    let token = format!("Bearer {TOKEN}");
    let fields = [("authorization", token.as_str()), ("connection", "close")];
    let asked = http::request_bytes("POST", node.admin, &path, &fields, b"");
    let answer = http::exchange(node.admin, &asked, PATIENCE).await.unwrap();
    assert_eq!(
        answer.status,
        200,
        "is the binary built with `--features chaos`? {}",
        answer.text()
    );
}

// req: GW-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_framed_request_reaches_the_same_routes_with_what_it_brings() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set(
        "/hello",
        Reply::default().header("x-from", "origin").body("hi"),
    );
    upstream.set("/gone", Reply::status(410).body("no more"));
    upstream.set("/large", Reply::default().body(filler(3_000_000)));
    let (node, frames) = start(&section(upstream.addr(), ROOMY)).await;
    let hello = oap(&["hello", &frames]).await;
    assert_eq!(hello.code, Some(0), "{}", hello.printed());
    let agreed: Value = serde_json::from_str(&hello.stdout).unwrap();
    assert_eq!(
        (&agreed["version"], &agreed["max_inflight"]),
        (&1.into(), &64.into())
    );

    let got = oap(&["send", &frames, "--url", "http://gate.test/hello?a=b"]).await;
    assert_eq!(
        (got.code, &*got.stdout),
        (Some(0), "hi"),
        "{}",
        got.printed()
    );
    assert!(got.stderr.starts_with("200\n"), "{}", got.stderr);
    assert!(got.stderr.contains("x-from: origin\n"), "{}", got.stderr);
    let seen = upstream.requests().pop().unwrap().head.unwrap();
    assert_eq!((&*seen.method, &*seen.target), ("GET", "/hello?a=b"));

    let post = ["--url", "http://gate.test/", "--method", "POST"];
    let args = [
        &["send", &frames, "what is sent"],
        &post[..],
        &["-H", "connection: close"],
    ];
    let posted = oap(&args.concat()).await;
    assert_eq!(posted.code, Some(0), "{}", posted.printed());
    let seen = upstream.requests().pop().unwrap();
    assert_eq!(seen.body, b"what is sent");

    let gone = oap(&["send", &frames, "--url", "http://gate.test/gone"]).await;
    assert_eq!((gone.code, &*gone.stdout), (Some(8), "no more"));
    let large = oap(&["send", &frames, "--url", "http://gate.test/large"]).await;
    assert_eq!(large.stdout.len(), 3_000_000, "{}", large.stderr);
    node.end().await;
}

// req: GW-19, TR-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_crosses_the_bridge_as_it_comes() {
    let upstream = Upstream::start().await.unwrap();
    let (node, frames) = start(&section(upstream.addr(), ROOMY)).await;
    let url = ["--url", "http://gate.test/up", "--method", "POST"];
    let mut command = macronode([&["oap", "stream", &frames], &url[..]].concat());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    let sent = filler(700_000);
    let fed = {
        let sent = sent.clone();
        tokio::task::spawn_blocking(move || input.write_all(&sent))
    };
    fed.await.unwrap().unwrap();
    let ended = tokio::task::spawn_blocking(move || running.wait_with_output());
    let ended = ended.await.unwrap().unwrap();
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let seen = upstream.requests().pop().unwrap();
    assert!(seen.body == sent, "{} bytes came", seen.body.len());
    node.end().await;
}

// req: GW-19
// attack: H-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_framed_request_is_admitted_like_any_other() {
    let upstream = Upstream::start().await.unwrap();
    let rules = "[[gateway.policy.rules]]\nverdict = \"allow\"\ntenants = [\"good\"]\nbody_over = 0\n\
                 [[gateway.policy.rules]]\nverdict = \"allow\"\ntenants = [\"good\"]\n";
    let limits = "[gateway.limits]\nbody_bytes = 100\n";
    let (node, frames) = start(&section(
        upstream.addr(),
        &format!("{TRUSTED}{rules}{limits}"),
    ))
    .await;
    let url = ["--url", "http://gate.test/"];
    let good = [&["send", &frames], &url[..], &["-H", "x-tenant: good"]].concat();
    let let_in = oap(&good).await;
    assert_eq!(let_in.code, Some(0), "{}", let_in.printed());
    let bad = [&["send", &frames], &url[..], &["-H", "x-tenant: other"]].concat();
    let refused = oap(&bad).await;
    assert_eq!(refused.code, Some(8), "{}", refused.printed());
    assert!(refused.stderr.starts_with("403\n"), "{}", refused.stderr);
    let long = "x".repeat(101);
    let much = [
        &["send", &frames, &long, "--method", "POST"],
        &url[..],
        &["-H", "x-tenant: good"],
    ];
    let refused = oap(&much.concat()).await;
    assert!(refused.stderr.starts_with("413\n"), "{}", refused.stderr);
    assert_eq!(upstream.received(), 1);
    let metrics = node.metrics().await;
    assert_eq!(
        metrics.sum("rejected_total", &[("reason", "forbidden")]),
        1.0
    );
    assert_eq!(
        metrics.sum("rejected_total", &[("reason", "body-too-large")]),
        1.0
    );
    node.end().await;
}

// req: GW-15, GW-19
// attack: B-20, D-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_framed_request_is_as_long_as_its_head_says() {
    let upstream = Upstream::start().await.unwrap();
    let (node, frames) = start(&section(upstream.addr(), "")).await;
    let send = |length: &'static str, body: &'static str| {
        let url = ["--url", "http://gate.test/", "--method", "POST"];
        let args = [&["send", &frames, body], &url[..], &["-H", length]].concat();
        async move { oap(&args).await }
    };
    let honest = send("content-length: 3", "abc").await;
    assert_eq!(honest.code, Some(0), "{}", honest.printed());
    for (length, body) in [
        ("content-length: 3", "abcd"),
        ("content-length: 100", "abc"),
        ("content-length: 5", ""),
    ] {
        let refused = send(length, body).await;
        assert!(refused.stderr.starts_with("400\n"), "{}", refused.printed());
        assert!(
            refused.stdout.contains("body-broken"),
            "{}",
            refused.printed()
        );
    }
    node.end().await;
}

// req: GW-19
// attack: H-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_of_a_frame_is_a_bearer_token_and_says_the_tenant() {
    let upstream = Upstream::start().await.unwrap();
    let root = "0123456789abcdef".repeat(4);
    let keys = format!(
        "[gateway.identity]\nrequired = true\n[gateway.identity.passport]\nroot_key = \"{root}\"\n"
    );
    let (node, frames) = start(&section(upstream.addr(), &keys)).await;
    let file = node.process.dir().join("macronode.toml");
    let mint = ["passport", "mint", "--config", file.to_str().unwrap()];
    let minted = ran_beside(macronode([&mint[..], &["--tenant", "acme"]].concat())).await;
    assert_eq!(minted.code, Some(0), "{}", minted.printed());
    let send = ["send", &frames, "--url", "http://gate.test/"];
    let without = oap(&send).await;
    assert!(without.stderr.starts_with("401\n"), "{}", without.printed());
    let with = [&send[..], &["--token", minted.stdout.trim()]].concat();
    let let_in = oap(&with).await;
    assert_eq!(let_in.code, Some(0), "{}", let_in.printed());
    let own = oap(&[&with[..], &["--tenant", "acme"]].concat()).await;
    assert_eq!(own.code, Some(0), "{}", own.printed());
    let other = oap(&[&with[..], &["--tenant", "other"]].concat()).await;
    assert!(other.stderr.starts_with("403\n"), "{}", other.printed());
    assert!(
        other.stdout.contains("tenant-unproven"),
        "{}",
        other.printed()
    );
    assert_eq!(upstream.received(), 2);
    node.end().await;
}

// req: TR-07, AC-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_answers_every_framed_request_that_came_in() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::default().delay(Duration::from_millis(700)));
    let section = format!(
        "{}[drain]\ndeadline_ms = 20000\n",
        section(upstream.addr(), ROOMY)
    );
    let (node, frames) = start(&section).await;
    let args = [
        "--requests",
        "60",
        "--inflight",
        "30",
        "--connections",
        "2",
        "--bytes",
        "0",
    ];
    let url = ["--url", "http://gate.test/slow", "--within-ms", "30000"];
    let args = [&[&*frames], &args[..], &url[..]].concat();
    let (said, ()) = tokio::join!(bench(&args), async {
        let all_in = async || upstream.received() == 60;
        eventually("all are under way", PATIENCE, all_in).await;
        assert!(node.process.signal(libc::SIGTERM).unwrap());
    });
    assert_eq!(
        (&said["statuses"]["200"], &said["lost"]),
        (&60.into(), &0.into()),
        "{said}"
    );
    let status = node.process.wait_exit(PATIENCE).await.unwrap();
    assert_eq!(status.code(), Some(0), "{status}");
    log::books(&node.process).await;
}

// req: TR-05, AC-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_die_lose_no_framed_request_that_may_be_repeated() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::default().delay(Duration::from_millis(1_500)));
    let (node, frames) = start(&section(upstream.addr(), ROOMY)).await;
    // Together fewer than the gateway lets an upstream it does not know have at once.
    let args = [
        "--requests",
        "8",
        "--inflight",
        "8",
        "--bytes",
        "0",
        "--within-ms",
        "30000",
    ];
    let url = ["--url", "http://gate.test/slow"];
    let gets = [&[&*frames], &args[..], &url[..]].concat();
    let posts = [&gets[..], &["--method", "POST"]].concat();
    let (gets, posts, ()) = tokio::join!(bench(&gets), bench(&posts), async {
        let all_in = async || upstream.received() == 16;
        eventually("all are under way", PATIENCE, all_in).await;
        kill(&node, 64).await;
    });
    assert_eq!(gets["statuses"]["200"], 8, "{gets}");
    // Those that were answered before are none of the dead workers' business.
    let lost = posts["statuses"]["503"].as_u64().unwrap_or(0);
    let answered = posts["statuses"]["200"].as_u64().unwrap_or(0);
    assert!(lost >= 1 && lost + answered == 8, "{posts}");
    let fate = |fate| [("pool", "transport"), ("fate", fate)];
    let metrics = node.metrics().await;
    let count = |name| metrics.sum("pool_units_total", &fate(name)) as u64;
    assert_eq!(count("lost"), lost);
    assert!(
        (1..=8).contains(&count("requeued")),
        "{}",
        count("requeued")
    );
    node.end().await;
}

/// How a handshake ends for who offers these protocols.
async fn handshake(door: &str, root: &[u8], offers: &[&[u8]]) -> std::io::Result<()> {
    let mut roots = rustls::RootCertStore::empty();
    let root = rustls::pki_types::CertificateDer::from(root.to_vec());
    roots.add(root).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = offers.iter().map(|offer| offer.to_vec()).collect();
    let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
    let stream = tokio::net::TcpStream::connect(door).await?;
    let name = rustls::pki_types::ServerName::try_from("node.test").unwrap();
    connector.connect(name, stream).await.map(drop)
}

// req: TR-07
// attack: C-01, C-06, C-07, C-15
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_over_tls() {
    let upstream = Upstream::start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["node.test".to_owned()]).unwrap();
    let (cert, key) = (home.path().join("node.pem"), home.path().join("node.key"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let tls = format!(
        "{}[transport.tls]\nlisten = [\"127.0.0.1:0\"]\n\
         [[transport.tls.certificates]]\ncert = \"{}\"\nkey = \"{}\"\n",
        section(upstream.addr(), ROOMY),
        cert.display(),
        key.display()
    );
    let (node, _) = start(&tls).await;
    let secure = node
        .process
        .addr("transport.tls", START)
        .await
        .unwrap()
        .to_string();
    let trust = ["--ca", cert.to_str().unwrap(), "--name", "node.test"];
    let sent = oap(&[&["send", &secure, "over TLS"], &trust[..]].concat()).await;
    assert_eq!(
        (sent.code, &*sent.stdout),
        (Some(0), "over TLS"),
        "{}",
        sent.printed()
    );
    let crossed = [
        &["send", &secure, "--url", "https://node.test/"],
        &trust[..],
    ]
    .concat();
    let crossed = oap(&crossed).await;
    assert_eq!(crossed.code, Some(0), "{}", crossed.printed());
    // The host has to be the one the connection was made for.
    let other = [
        &["send", &secure, "--url", "https://other.test/"],
        &trust[..],
    ]
    .concat();
    let other = oap(&other).await;
    assert!(other.stderr.starts_with("421\n"), "{}", other.printed());
    let silent = tokio::net::TcpStream::connect(&secure).await.unwrap();
    let root = made.cert.der();
    handshake(&secure, root, &[]).await.unwrap();
    handshake(&secure, root, &[b"h2", b"oap/1"]).await.unwrap();
    handshake(&secure, root, &[b"h2"]).await.unwrap_err();
    let late = async || {
        let metrics = node.metrics().await;
        metrics.sum("io_timeouts_total", &[("op", "handshake")]) == 1.0
    };
    eventually("who says nothing is closed", PATIENCE, late).await;
    drop(silent);
    let plain = oap(&["hello", &secure, "--within-ms", "3000"]).await;
    assert_ne!(plain.code, Some(0), "plain frames on a TLS door");
    let metrics = node.metrics().await;
    let shaken = metrics.sum("tls_handshakes_total", &[("door", "transport.tls")]);
    assert!(shaken >= 3.0, "{shaken}");
    node.end().await;
}

// req: KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_moves_gates_and_refuses_what_needs_a_restart() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_default(Reply::default().delay(Duration::from_millis(300)));
    let base = section(upstream.addr(), ROOMY);
    let (node, frames) = start(&base).await;
    let gate = "[[transport.gates]]\napp_proto = 1\nopcode = 1\ninflight = 1\nwaiting = 0\n";
    let narrow = base.replace("bridge = true\n", &format!("bridge = true\n{gate}"));
    node.reload(&narrow).await;
    let args = [
        "--requests",
        "8",
        "--inflight",
        "8",
        "--bytes",
        "0",
        "--url",
        "http://gate.test/",
    ];
    let said = bench(&[&[&*frames], &args[..]].concat()).await;
    let count = |status: &str| said["statuses"][status].as_u64().unwrap_or(0);
    assert!(count("200") >= 1 && count("429") >= 1, "{said}");
    assert_eq!(count("200") + count("429"), 8, "{said}");
    let moved = narrow.replace("bridge = true", "bridge = false");
    node.process.replace_config(&config(&moved)).unwrap();
    let refused = async || {
        let status = node.config_status().await;
        let error = status["last_error"].as_str().unwrap_or_default().to_owned();
        error.contains("transport")
    };
    eventually("it is refused by name", PATIENCE, refused).await;
    node.end().await;
}
