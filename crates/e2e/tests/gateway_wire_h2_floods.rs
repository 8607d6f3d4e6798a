//! HTTP/2 peers that say too much or take nothing: their connection ends, and a good client hardly notices.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use e2e::gateway::{Gateway, PATIENCE, to};
use e2e::good::Good;
use e2e::site::Site;
use e2e::wait::eventually;
use testkit::frames::floods::{Flood, floods, get, upload};
use testkit::frames::kind::{DATA, GOAWAY, HEADERS, RST_STREAM};
use testkit::frames::{END_STREAM, Peer, frame};
use testkit::upstream::{Reply, Upstream};
use tokio::io::AsyncWriteExt;

const REFUSED_STREAM: u32 = 7;
/// A flood is over by then; a busy machine gets more than one chance to show it.
const LIMIT: Duration = Duration::from_millis(100);
const CHANCES: usize = 3;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Floods a connection until it is closed; says how long that took, or `None` if it goes on.
async fn flood(door: SocketAddr, next: &Flood) -> Option<Duration> {
    let Peer {
        mut writer,
        mut listener,
    } = Peer::open(door, &[]).await.expect("a connection");
    let began = Instant::now();
    let pour = async {
        for number in 0.. {
            if writer.write_all(&next(number)).await.is_err() {
                break;
            }
        }
    };
    let drain = async { while listener.next().await.is_some() {} };
    let both = async { tokio::join!(pour, drain) };
    let ended = tokio::time::timeout(Duration::from_secs(3), both).await;
    ended.ok().map(|_| began.elapsed())
}

// req: GW-15
// attack: B-01, B-02, B-03, B-04, B-05, B-06, B-09, B-10, B-11, B-12, B-13, B-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_end_their_connection_in_a_tenth_of_a_second() {
    let site = Site::start("", "").await;
    let calm = Good::alone(site.gateway.door, ms(1000)).await;
    let good = Good::begin(site.gateway.door);
    let began = Instant::now();
    let (floods, mut best) = (floods(), BTreeMap::new());
    for round in 0.. {
        for (name, next) in &floods {
            let took = flood(site.gateway.door, next).await;
            let took = took.unwrap_or_else(|| panic!("{name} goes on"));
            let best = best.entry(*name).or_insert(took);
            *best = took.min(*best);
        }
        if round >= CHANCES && began.elapsed() > ms(3000) {
            println!("{} floods", floods.len() * (round + 1));
            break;
        }
    }
    for (name, took) in best {
        println!("{name}: {took:?}");
        assert!(took <= LIMIT, "{name}: {took:?}");
    }
    let (flooded, asked) = good.p99().await;
    let ratio = flooded.as_secs_f64() / calm.as_secs_f64();
    println!(
        "a good client: p99 {calm:?} alone, {flooded:?} among floods ({ratio:.2}x, {asked} requests)"
    );
    assert!(
        asked > 100 && flooded < ms(250),
        "{flooded:?} after {asked}"
    );
    let cut = site.gateway.metrics().await;
    assert!(cut.sum("connections_cut_total", &[("reason", "flood")]) > 0.0);
}

// req: GW-15
// attack: B-15
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_streams_that_nobody_reads_are_reset_and_give_their_places_back() {
    let upstream = Upstream::start().await.expect("an origin");
    upstream.set("/large", Reply::status(200).body(vec![b'x'; 1 << 20]));
    let timeouts = "[gateway.timeouts]\nwrite_ms = 500\n";
    let section = format!("{timeouts}{}", to(upstream.addr(), "limit = 100\n"));
    let gateway = Gateway::start(&section).await;
    let before = gateway.process.resident_bytes().expect("a process");
    let mut peer = Peer::open(gateway.door, &[0, 4, 0, 0, 0, 0])
        .await
        .expect("a connection");
    let all: Vec<u8> = (0..100).flat_map(|n| get(n * 2 + 1, "/large")).collect();
    let began = Instant::now();
    peer.send(&all).await;
    let (mut most, mut resets) = (before, 0);
    while resets < 100 && began.elapsed() < ms(3000) {
        let (frames, _) = peer.listener.all(ms(20)).await;
        resets += frames
            .iter()
            .filter(|frame| frame.kind == RST_STREAM)
            .count();
        most = most.max(gateway.process.resident_bytes().expect("a process"));
    }
    let took = began.elapsed();
    assert_eq!(resets, 100, "after {took:?}");
    assert!((ms(450)..ms(2500)).contains(&took), "{took:?}");
    let grown = (most - before) >> 20;
    println!("a hundred stalled streams: {grown} MiB more, reset after {took:?}");
    assert!(grown < 64, "{grown} MiB for 100 MiB that nobody reads");
    let metrics = gateway.metrics().await;
    assert!(metrics.sum("io_timeouts_total", &[("op", "write")]) >= 100.0);
    assert_eq!(gateway.get("/small").await.status, 200);
}

// req: GW-15
// attack: B-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_beyond_the_limit_are_refused_and_the_others_live() {
    let site = Site::start("", "limit = 200\n").await;
    let mut peer = Peer::open(site.gateway.door, &[])
        .await
        .expect("a connection");
    let uploads: Vec<u8> = (0..110).flat_map(|n| upload(n * 2 + 1)).collect();
    peer.send(&uploads).await;
    let (frames, closed) = peer.listener.all(ms(300)).await;
    assert!(!closed, "{frames:?}");
    let resets: Vec<_> = frames
        .iter()
        .filter(|frame| frame.kind == RST_STREAM)
        .collect();
    assert_eq!(resets.len(), 10, "{resets:?}");
    let late = resets
        .iter()
        .all(|frame| frame.stream > 200 && frame.code() == Some(REFUSED_STREAM));
    assert!(late, "{resets:?}");
    peer.send(&frame(DATA, END_STREAM, 1, b"end")).await;
    let (frames, _) = peer.listener.all(ms(300)).await;
    let answered = frames
        .iter()
        .any(|frame| frame.stream == 1 && frame.kind == HEADERS);
    assert!(answered, "{frames:?}");
}

// req: GW-15
// attack: B-22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_drips_is_told_so_in_time() {
    let site = Site::start("[gateway.timeouts]\nbody_ms = 500\n", "").await;
    let Peer {
        mut writer,
        mut listener,
    } = Peer::open(site.gateway.door, &[])
        .await
        .expect("a connection");
    let began = Instant::now();
    let drip = async {
        let _ = writer.write_all(&upload(1)).await;
        while writer.write_all(&frame(DATA, 0, 1, b"x")).await.is_ok() {
            tokio::time::sleep(ms(50)).await;
        }
    };
    let hear = async {
        while let Some(frame) = listener.next().await {
            if frame.stream == 1 && frame.kind == DATA {
                return frame.payload;
            }
        }
        Vec::new()
    };
    let said = tokio::select! {
        said = hear => said,
        () = drip => panic!("cut without a word"),
        () = tokio::time::sleep(Duration::from_secs(5)) => panic!("it goes on"),
    };
    let said: serde_json::Value = serde_json::from_slice(&said).expect("a problem");
    assert_eq!(
        (said["status"].as_u64(), said["reason"].as_str()),
        (Some(408), Some("body-timeout"))
    );
    assert!(
        (ms(450)..ms(1500)).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
    let whole = site
        .origin
        .take()
        .iter()
        .any(|tape| testkit::strict::requests(tape).is_ok());
    assert!(!whole, "it never becomes a request");
}

// req: GW-15, KN-06
// attack: B-23
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_without_end_does_not_outlast_a_drain() {
    let site = Site::start("[gateway.timeouts]\nrequest_ms = 60000\n", "").await;
    let Peer {
        mut writer,
        mut listener,
    } = Peer::open(site.gateway.door, &[])
        .await
        .expect("a connection");
    let drip = tokio::spawn(async move {
        let _ = writer.write_all(&upload(1)).await;
        let piece = frame(DATA, 0, 1, &[b'x'; 100]);
        while writer.write_all(&piece).await.is_ok() {
            tokio::time::sleep(ms(100)).await;
        }
    });
    eventually("the upload is under way", ms(2000), async || {
        !site.origin.take().is_empty()
    })
    .await;
    assert!(
        site.gateway
            .process
            .signal(libc::SIGTERM)
            .expect("a process")
    );
    let began = Instant::now();
    let mut goodbye = None;
    let hear = async {
        while let Some(frame) = listener.next().await {
            if frame.kind == GOAWAY {
                goodbye.get_or_insert(began.elapsed());
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), hear)
        .await
        .expect("an end");
    let ended = site
        .gateway
        .process
        .wait_exit(PATIENCE)
        .await
        .expect("an end");
    println!(
        "goodbye after {goodbye:?}, over after {:?}: {ended}",
        began.elapsed()
    );
    assert!(goodbye.is_some_and(|after| after < ms(2000)), "{goodbye:?}");
    drip.await.expect("a peer");
}
