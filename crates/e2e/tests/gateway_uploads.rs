//! Uploads that are too slow, too long in any coding or cut short: never a whole request for the upstream.

use e2e::command::{macronode, ran};
use e2e::gateway::{Gateway, PATIENCE, assert_refusal, to};
use e2e::site::{Site, request};
use e2e::wait::eventually;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use testkit::http;
use testkit::upstream::{Fault, Reply, Upstream, filler};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Nothing is concluded from failures: each case is to be seen by itself.
const NO_BREAKER: &str = "[gateway.upstreams.main.breaker]\nsamples = 100000";

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn hurried(upstream: SocketAddr) -> String {
    let timeouts = "[gateway.timeouts]\nrequest_ms = 600\nupstream_ms = 300\nbody_ms = 400\n";
    format!("{timeouts}{}", to(upstream, NO_BREAKER))
}

// attack: D-03
// req: GW-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_comes_too_slowly_is_408_and_never_a_whole_request() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&hurried(upstream.addr())).await;
    for method in ["POST", "PUT"] {
        let mut client = gateway.connect().await;
        let head =
            format!("{method} / HTTP/1.1\r\nhost: gate.test\r\ncontent-length: 100\r\n\r\nbegin");
        client.send(head.as_bytes()).await.unwrap();
        let began = Instant::now();
        let answer = client.response(PATIENCE).await.unwrap();
        assert_refusal(&answer, 408, "body-timeout");
        assert!(!answer.keeps_alive);
        let took = began.elapsed();
        assert!((ms(390)..ms(750)).contains(&took), "{method}: {took:?}");
    }
    assert!(whole_requests(&upstream).is_empty());
}

fn whole_requests(upstream: &Upstream) -> Vec<String> {
    let requests = upstream.requests().into_iter();
    let whole = requests.filter_map(|request| request.head.ok());
    whole.map(|head| head.target).collect()
}

// attack: D-01, D-02
// req: GW-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_over_the_cap_is_413_without_reading_on() {
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "[gateway.limits]\nbody_bytes = 100000\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let mut client = gateway.connect().await;
    let head = "POST / HTTP/1.1\r\nhost: gate.test\r\ncontent-length: 100001\r\n\r\n";
    let answer = client.exchange(head.as_bytes(), PATIENCE).await.unwrap();
    assert_refusal(&answer, 413, "body-too-large");
    let (_, closed) = client.read_until_close(ms(2000)).await;
    assert!(closed, "what follows cannot be told from the body");
    assert_eq!(upstream.connections(), 0, "nothing was sent on");

    let mut client = gateway.connect().await;
    let head = "POST / HTTP/1.1\r\nhost: gate.test\r\ntransfer-encoding: chunked\r\n\r\n";
    client.send(head.as_bytes()).await.unwrap();
    let chunk = [b"2710\r\n".as_slice(), &filler(10_000), b"\r\n"].concat();
    for _ in 0..10 {
        client.send(&chunk).await.unwrap();
    }
    // All that is allowed has been sent; one byte more is too many, and nothing else has to come.
    client.send(b"1\r\nx\r\n").await.unwrap();
    let answer = client.response(PATIENCE).await.unwrap();
    assert_refusal(&answer, 413, "body-too-large");
    let exact = filler(100_000);
    let answer = gateway.ask("POST", "/exact", &[], &exact).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(whole_requests(&upstream), ["/exact"]);
}

// attack: D-04, D-15
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_upload_never_becomes_a_request_and_gives_its_place_back() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&to(upstream.addr(), "limit = 1")).await;
    let heads = [
        "POST /cut HTTP/1.1\r\nhost: gate.test\r\ncontent-length: 100000\r\n\r\n",
        "PUT /cut HTTP/1.1\r\nhost: gate.test\r\ncontent-length: 60000\r\n\r\n",
        "POST /cut HTTP/1.1\r\nhost: gate.test\r\ntransfer-encoding: chunked\r\n\r\n2710\r\n",
    ];
    for head in heads {
        for reset in [false, true] {
            let mut client = gateway.connect().await;
            client.send(head.as_bytes()).await.unwrap();
            client.send(&filler(5_000)).await.unwrap();
            tokio::time::sleep(ms(50)).await;
            if reset {
                client.reset().unwrap();
            } else {
                drop(client);
            }
            let answer = gateway.get("/next").await;
            assert_eq!(answer.status, 200, "its place is free: {}", answer.text());
        }
    }
    let whole = whole_requests(&upstream);
    assert!(whole.iter().all(|target| target == "/next"), "{whole:?}");
    assert_eq!(whole.len(), 6);
}

/// An HTTP/2 origin with prior knowledge, and how many bodies have come to it whole.
async fn counting() -> (SocketAddr, Arc<AtomicU32>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("a port");
    let addr = listener.local_addr().expect("an address");
    let whole = Arc::new(AtomicU32::new(0));
    let count = whole.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let count = count.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let count = count.clone();
                async move {
                    let body = request.into_body().collect().await?;
                    count.fetch_add(1, Ordering::Relaxed);
                    Ok::<_, hyper::Error>(Response::new(Full::new(body.to_bytes())))
                }
            });
            let served = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service);
            tokio::spawn(served);
        }
    });
    (addr, whole)
}

// req: GW-10, GW-15
// attack: D-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_of_a_body_that_broke_off_is_not_sent_again_as_all_of_it() {
    let (origin, whole) = counting().await;
    let section = format!(
        "[gateway.limits]\nbody_bytes = 1000\n{}",
        to(origin, "protocol = \"http2\"")
    );
    let gateway = Gateway::start(&section).await;
    let chunk = format!("64\r\n{}\r\n", "x".repeat(100));
    let put = |times: usize, end: &str| {
        let body = format!("{}{end}", chunk.repeat(times));
        request("PUT", "/t", "transfer-encoding: chunked\r\n", &body)
    };
    let last = "0\r\n\r\n";
    let answer = http::exchange(gateway.door, &put(10, last), PATIENCE).await;
    assert_eq!(answer.expect("an answer").status, 200);
    let answer = http::exchange(gateway.door, &put(11, last), PATIENCE).await;
    assert_refusal(&answer.expect("an answer"), 413, "body-too-large");
    let answer = http::exchange(gateway.door, &put(1, "no chunk\r\n"), PATIENCE).await;
    assert_refusal(&answer.expect("an answer"), 400, "body-broken");
    assert_eq!(whole.load(Ordering::Relaxed), 1);
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(plain).expect("memory");
    encoder.finish().expect("memory")
}

// req: GW-05, GW-12, GW-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_bounds_a_body_bounds_it_in_any_coding() {
    let rule = "[[gateway.policy.rules]]\nverdict";
    let known = format!(
        "[gateway.identity.passport]\nroot_key = \"{}\"\n\
         {rule} = \"deny\"\nroutes = [\"ruled\"]\nbody_over = 1000\n{rule} = \"allow\"\n",
        "0123456789abcdef".repeat(4)
    );
    let decodes = "[[gateway.routes]]\npath = \"/decoded\"\nupstream = \"main\"\ndecode = true\n\
                   [[gateway.routes]]\nname = \"ruled\"\npath = \"/ruled\"\nupstream = \"main\"\ndecode = true\n";
    let site = Site::start(&known, decodes).await;
    let file = site.gateway.process.dir().join("macronode.toml");
    let file = file.to_str().expect("UTF-8");
    let said = |args: &[&str]| {
        let ran = ran(&mut macronode([&["passport"], args].concat()));
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        ran.stdout.trim().to_owned()
    };
    let mint = ["mint", "--config", file, "--tenant", "gold", "--for", "1h"];
    let whole = said(&mint);
    let narrow = said(&["attenuate", &whole, "--max-body", "1000"]);
    let (much, little) = ([b'x'; 1001], [b'x'; 1000]);
    for (token, path, coding, body, wanted) in [
        (&whole, "/decoded", "gzip", gzip(&much), Ok(())),
        (&narrow, "/decoded", "gzip", gzip(&little), Ok(())),
        (
            &narrow,
            "/decoded",
            "gzip",
            gzip(&much),
            Err((413, "decoded-cap")),
        ),
        (
            &narrow,
            "/decoded",
            "identity",
            much.to_vec(),
            Err((413, "body-too-large")),
        ),
        (
            &whole,
            "/ruled",
            "gzip",
            gzip(&much),
            Err((403, "forbidden")),
        ),
        (&whole, "/ruled", "br", vec![], Ok(())),
    ] {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", &*bearer), ("content-encoding", coding)];
        let answer = site.gateway.ask("POST", path, &headers, &body).await;
        let answer = answer.expect("an answer");
        match wanted {
            Ok(()) => assert_eq!(answer.status, 200, "{path}: {}", answer.text()),
            Err((status, reason)) => assert_refusal(&answer, status, reason),
        }
    }
    for (length, status) in [(1000, 200), (1001, 403)] {
        let answer = site
            .gateway
            .ask("POST", "/ruled", &[], &much[..length])
            .await;
        assert_eq!(answer.expect("an answer").status, status, "{length}");
    }
}

/// Reads until this has come, and nothing behind it.
async fn hear(stream: &mut TcpStream, last: &str) -> String {
    let mut heard = Vec::new();
    while !heard.ends_with(last.as_bytes()) {
        let byte = stream.read_u8().await;
        heard.push(byte.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&heard))));
    }
    String::from_utf8(heard).expect("text")
}

/// Refuses a POST as soon as it has its head, and says the rest of that when it is told to.
async fn hasty(go_on: Arc<Notify>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("a port");
    let addr = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let go_on = go_on.clone();
            tokio::spawn(async move {
                let head = hear(&mut stream, "\r\n\r\n").await;
                let (status, body) = match head.starts_with("POST") {
                    true => ("401 Unauthorized", "no"),
                    false => ("200 OK", "ok"),
                };
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n");
                stream.write_all(answer.as_bytes()).await?;
                if body == "no" {
                    go_on.notified().await;
                }
                stream.write_all(body.as_bytes()).await?;
                // What is left of the request is of no interest.
                tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
            });
        }
    });
    addr
}

// req: GW-01
// attack: A-48
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_answered_before_all_of_a_body_was_sent_sends_it_and_may_ask_again() {
    let go_on = Arc::new(Notify::new());
    let gateway = Gateway::start(&to(hasty(go_on.clone()).await, "")).await;
    let mut client = TcpStream::connect(gateway.door).await.expect("a door");
    let body = filler(200_000);
    let (begun, rest) = body.split_at(10_000);
    let head = "POST / HTTP/1.1\r\nhost: gate.test\r\ncontent-length: 200000\r\n\r\n";
    let first = [head.as_bytes(), begun].concat();
    client.write_all(&first).await.expect("a taker");
    let told = hear(&mut client, "\r\n\r\n").await;
    assert!(told.starts_with("HTTP/1.1 401"), "{told}");
    assert!(!told.contains("connection: close"), "{told}");
    go_on.notify_one();
    hear(&mut client, "no").await;
    let next = [rest, &request("GET", "/t", "", "")].concat();
    client.write_all(&next).await.expect("a taker");
    let told = hear(&mut client, "\r\n\r\nok").await;
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");
}

// req: GW-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_body_may_be_waited_for_however_many_streams_there_are() {
    let upstream = Upstream::start().await.expect("a free port");
    let events = Reply::default().header("content-type", "text/event-stream");
    upstream.set("/events", events.fault(Fault::StallAt(1)));
    let limits = "[gateway.limits]\nstreams_in_all = 70\nstreams_per_tenant = 70\n";
    let gateway = Gateway::start(&format!("{limits}{}", to(upstream.addr(), ""))).await;
    let mut streams = Vec::new();
    for _ in 0..70 {
        let mut client = gateway.connect().await;
        let request = http::request_bytes("GET", "gate.test", "/events", &[], b"");
        client.send(&request).await.expect("it listens");
        streams.push(client);
    }
    eventually("all of them are there", PATIENCE, async || {
        gateway.metrics().await.sum("gateway_streams", &[]) == 70.0
    })
    .await;
    let mut client = gateway.connect().await;
    let request = http::request_bytes("POST", "gate.test", "/", &[], b"a body");
    let (most, last) = request.split_at(request.len() - 3);
    client.send(most).await.expect("it listens");
    tokio::time::sleep(ms(50)).await;
    let answer = client.exchange(last, PATIENCE).await.expect("an answer");
    assert_eq!(answer.status, 200);
}
