//! Any number of tenants: what is known of them has its bounds.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::net::SocketAddr;

use e2e::gateway::{Gateway, TRUSTED, to};
use testkit::upstream::Upstream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request of each of these tenants, in batches on one connection; how many were answered 200.
async fn crowd(door: SocketAddr, tenants: std::ops::Range<u32>) -> usize {
    const BATCH: usize = 200;
    let mut stream = TcpStream::connect(door).await.unwrap();
    let (names, mut passed) = (tenants.collect::<Vec<_>>(), 0);
    for batch in names.chunks(BATCH) {
        let request = |name: &u32| {
            format!("GET / HTTP/1.1\r\nhost: gate.test\r\nx-tenant: tenant-{name}\r\n\r\n")
        };
        let requests: String = batch.iter().map(request).collect();
        let (mut reading, mut writing) = stream.split();
        let write = async { writing.write_all(requests.as_bytes()).await.unwrap() };
        let read = async {
            let (mut text, mut whole, mut answers) = (String::new(), 0, 0);
            while answers < batch.len() {
                let mut piece = [0; 32 * 1024];
                let length = reading.read(&mut piece).await.unwrap();
                assert!(length > 0, "closed");
                text.push_str(std::str::from_utf8(&piece[..length]).unwrap());
                // A line may have come in part: only what is whole is counted.
                let until = text.rfind("\r\n").map_or(0, |end| end + 2);
                for line in text[..until].lines() {
                    answers += usize::from(line.starts_with("x-request-id:"));
                    whole += usize::from(line.contains("HTTP/1.1 200 "));
                }
                text.drain(..until);
            }
            whole
        };
        // What is still on its way of the last answer is read with the next batch, and counts for nothing.
        passed += tokio::join!(write, read).1;
    }
    passed
}

/// The same in four lanes.
async fn crowds(door: SocketAddr, tenants: std::ops::Range<u32>) -> usize {
    let part = tenants.len() as u32 / 4;
    let lane = |lane: u32| {
        let first = tenants.start + lane * part;
        tokio::spawn(crowd(door, first..first + part))
    };
    let lanes: Vec<_> = (0..4).map(lane).collect();
    let mut passed = 0;
    for lane in lanes {
        passed += lane.await.unwrap();
    }
    passed
}

// req: KN-22
// attack: H-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_tenants_take_no_more_metrics_than_a_few_and_bounded_memory() {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_journal(0);
    // Most are refused, and so come into every table there is.
    let section = format!(
        "{TRUSTED}[gateway.quota]\nper_tenant = {{ per_second = 1 }}\nglobal = {{ per_second = 100 }}\n\
         [gateway.access_log]\nlevel = \"off\"\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let passed = crowds(gateway.door, 0..100_000).await;
    let resident = gateway.process.resident_bytes().unwrap();
    let page = testkit::http::get(gateway.admin, "/metrics").await;
    let page = page.unwrap().text();
    let series = page.lines().filter(|line| !line.starts_with('#')).count();
    println!("{passed} passed; {series} series; {resident} bytes resident");
    assert!(passed >= 100, "{passed}");
    assert!(series <= 1_000, "{series} series");
    assert!(!page.contains("tenant-"), "a tenant's name is a label");
    // Who is known is kept in tables of fixed size, the last of which is full after twice as many.
    assert!(resident <= 112 << 20, "{resident} bytes");
}

/// A section with so many upstreams, all of them this one, and routes; their names begin with a word.
fn many(word: &str, upstream: SocketAddr, upstreams: usize, routes: usize) -> String {
    let upstream = |number: usize| {
        format!(
            "[gateway.upstreams.{word}-u{number}]\nendpoints = [\"http://{upstream}\"]\nlimit = 10\n"
        )
    };
    let route = |number: usize| {
        format!(
            "[[gateway.routes]]\nname = \"{word}-r{number}\"\npath = \"/{number}\"\nupstream = \"{word}-u{}\"\n",
            number % upstreams
        )
    };
    let upstreams_text: String = (0..upstreams).map(upstream).collect();
    let routes_text: String = (0..routes).map(route).collect();
    format!("dispatch = \"pool\"\n{upstreams_text}{routes_text}")
}

// req: KN-22
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_routes_share_a_label_yet_are_seen_apart_and_those_of_a_past_config_leave_none() {
    let upstream = Upstream::start().await.unwrap();
    let gateway = Gateway::start(&many("first", upstream.addr(), 40, 100)).await;
    for path in ["/7", "/90", "/90", "/91"] {
        assert_eq!(gateway.get(path).await.status, 200);
    }
    let page = async |path| {
        let page = testkit::http::get(gateway.admin, path).await;
        page.unwrap().text()
    };
    let view: serde_json::Value = serde_json::from_str(&page("/gateway").await).unwrap();
    let seen = |route: usize| view["routes"][route]["requests"].as_u64();
    let seen = [7, 90, 91, 92].map(seen);
    assert_eq!(seen, [Some(1), Some(2), Some(1), Some(0)]);
    let metrics = page("/metrics").await;
    let series = metrics
        .lines()
        .filter(|line| !line.starts_with('#'))
        .count();
    assert!(series <= 1_000, "{series} series");
    let has = |metrics: &str, text: &str| metrics.contains(text);
    assert!(
        has(&metrics, "{route=\"other\",status=\"2xx\"} 3"),
        "{metrics}"
    );
    assert!(
        has(&metrics, "upstream_limit{upstream=\"other\"} 240"),
        "{metrics}"
    );
    gateway
        .reload(&many("second", upstream.addr(), 2, 70))
        .await;
    gateway.get("/7").await;
    let metrics = page("/metrics").await;
    assert!(!has(&metrics, "first-"), "{metrics}");
    assert!(
        has(&metrics, "{route=\"second-r7\",status=\"2xx\"} 1"),
        "{metrics}"
    );
    assert!(
        has(&metrics, "upstream_limit{upstream=\"second-u1\"} 10"),
        "{metrics}"
    );
    assert!(!has(&metrics, "upstream=\"other\""), "{metrics}");
}
