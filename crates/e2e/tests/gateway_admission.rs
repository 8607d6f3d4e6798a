//! Who is let in: rates, and turns in fair order; and what those are told who are not.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::gateway::{Gateway, PATIENCE, TRUSTED, assert_refusal, to};
use e2e::log;
use e2e::wait::eventually;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use testkit::http::{Response, request_bytes};
use testkit::load::{Load, Stream};
use testkit::upstream::{Reply, Upstream};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What a refusal says about when to come again, to the millisecond.
fn advice(answer: &Response) -> Duration {
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let advice = ms(body["retry_after_ms"].as_u64().unwrap());
    let header: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(header, advice.as_secs_f64().ceil().max(1.0) as u64);
    advice
}

// req: GW-06, GW-08
// attack: H-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_over_a_rate_is_told_when_to_come_again_and_that_is_true() {
    let rate = "{ per_second = 4, burst = 3 }";
    let cases = [
        (
            format!("[gateway.quota]\nper_ip = {rate}\n"),
            "",
            "rate-ip",
            "ip",
        ),
        (
            format!("[gateway.quota]\nglobal = {rate}\n"),
            "",
            "rate-global",
            "global",
        ),
        (
            format!("[gateway.quota]\nper_tenant = {rate}\n"),
            "",
            "rate-tenant",
            "tenant",
        ),
        (
            String::new(),
            "rate = { per_second = 4, burst = 3 }",
            "rate-route",
            "route",
        ),
    ];
    for (quota, route, reason, policy) in cases {
        let upstream = Upstream::start().await.unwrap();
        let section = format!(
            "{TRUSTED}{quota}[[gateway.routes]]\nupstream = \"main\"\n{route}\n\
             [gateway.upstreams.main]\nendpoints = [\"http://{}\"]\n",
            upstream.addr()
        );
        let gateway = Gateway::start(&section).await;
        let tenant = [("x-tenant", "gold")];
        for left in [2, 1, 0] {
            let answer = gateway.get_with("/", &tenant).await;
            assert_eq!(answer.status, 200, "{reason}");
            let told = answer.header("ratelimit").unwrap();
            assert!(
                told.starts_with(&format!("\"{policy}\";r={left};")),
                "{told}"
            );
            let told = answer.header("ratelimit-policy").unwrap();
            assert_eq!(told, format!("\"{policy}\";q=4;w=1"));
        }
        let refused = gateway.get_with("/", &tenant).await;
        assert_refusal(&refused, 429, reason);
        let told = refused.header("ratelimit").unwrap();
        assert!(told.starts_with(&format!("\"{policy}\";r=0;")), "{told}");
        let wait = advice(&refused);
        assert!(wait <= ms(250), "{wait:?}");
        assert_eq!(gateway.rejected(reason).await, 1);
        tokio::time::sleep(wait).await;
        let answer = gateway.get_with("/", &tenant).await;
        assert_eq!(answer.status, 200, "{reason}: the advice was true");
        assert_eq!(upstream.received(), 4, "what is refused goes no further");
    }
}

// req: GW-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_has_its_own_rate_and_draws_on_nobody_elses() {
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "{TRUSTED}[gateway.tenants.gold]\nrate = {{ per_second = 1, burst = 20 }}\n\
         [gateway.quota]\nper_tenant = {{ per_second = 1, burst = 2 }}\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let passed = async |tenant: &str| {
        let mut passed = 0;
        for _ in 0..10 {
            let answer = gateway.get_with("/", &[("x-tenant", tenant)]).await;
            passed += u32::from(answer.status == 200);
        }
        passed
    };
    assert_eq!(passed("gold").await, 10);
    assert!((2..=3).contains(&passed("one").await));
    assert!((2..=3).contains(&passed("two").await));
    assert_eq!(passed("gold").await, 10);
}

/// An origin that takes four requests at once, each for 40 ms: a hundred a second.
async fn small() -> Upstream {
    let upstream = Upstream::start().await.unwrap();
    upstream.set_places(4);
    upstream.set_default(Reply::default().delay(ms(40)));
    upstream.set_journal(0);
    upstream
}

fn fair(upstream: SocketAddr, tenants: &str) -> String {
    let timeouts = "[gateway.timeouts]\nrequest_ms = 9000\n[gateway.access_log]\nlevel = \"off\"\n";
    format!("{TRUSTED}{tenants}{timeouts}{}", to(upstream, "limit = 4"))
}

// req: AC-05, GW-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_noisy_tenant_does_not_starve_the_others() {
    for dispatch in ["inline", "pool"] {
        let upstream = small().await;
        let section = format!("dispatch = \"{dispatch}\"\n{}", fair(upstream.addr(), ""));
        let gateway = Gateway::start(&section).await;
        let quiet = ["a", "b", "c"];
        let mut load = Load::new(gateway.door)
            .stream(Stream::new("noisy", 400.0).tenant("noisy"))
            .duration(Duration::from_secs(4))
            .warm_up(ms(500))
            .timeout(PATIENCE);
        for name in quiet {
            load = load.stream(Stream::new(name, 8.0).tenant(name));
        }
        let report = load.run().await;
        println!("{dispatch}: {report}");
        for name in quiet {
            let stream = report.stream(name);
            assert!(stream.ok_share() >= 0.95, "{report}");
            assert!(stream.latency.p95() <= ms(1000), "{report}");
        }
        let noisy = report.stream("noisy");
        assert!(noisy.ok >= 120, "what is left over is used: {report}");
        let refused = noisy.by_reason.get("share-full").copied().unwrap_or(0);
        assert!(refused > 500, "{report}");
        assert!(noisy.refusal_latency.p95() <= ms(500), "{report}");
    }
}

// req: FQ-01, FQ-02, AC-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tenants_and_classes_are_served_by_their_weights() {
    let upstream = small().await;
    let tenants = "[gateway.tenants.gold]\nweight = 3\n[gateway.tenants.ours]\nclass = \"internal\"\n\
                   [gateway.classes]\nanon = 1\nauthed = 4\ninternal = 8\n\
                   [gateway.queue]\nwait_ms = 9000\n";
    let gateway = Gateway::start(&fair(upstream.addr(), tenants)).await;
    let contest = async |tenants: &[&str]| {
        let mut load = Load::new(gateway.door)
            .closed(30 * tenants.len())
            .duration(Duration::from_secs(5))
            .warm_up(ms(1000))
            .timeout(PATIENCE);
        for tenant in tenants {
            let stream = Stream::new(tenant, 0.0);
            load = load.stream(match *tenant {
                "nobody" => stream,
                named => stream.tenant(named),
            });
        }
        let report = load.run().await;
        println!("{report}");
        let served = tenants.iter().map(|name| report.stream(name).ok as f64);
        served.collect::<Vec<_>>()
    };
    let served = contest(&["gold", "silver"]).await;
    let ratio = served[0] / served[1];
    assert!((2.7..=3.3).contains(&ratio), "3 to 1: {served:?}");
    let served = contest(&["ours", "silver", "nobody"]).await;
    let (ours, theirs) = (served[0] / served[1], served[1] / served[2]);
    assert!((1.8..=2.2).contains(&ours), "8 to 4: {served:?}");
    assert!((3.2..=5.0).contains(&theirs), "4 to 1: {served:?}");
}

/// A gateway with one place, which is taken for so long.
async fn occupied(keys: &str, lasts_ms: u64) -> (Upstream, Gateway) {
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "{TRUSTED}[gateway.timeouts]\nrequest_ms = 5000\n[gateway.queue]\n{keys}\n{}",
        to(upstream.addr(), "limit = 1")
    );
    let gateway = Gateway::start(&section).await;
    waiting(&gateway, "first", &format!("/?delay_ms={lasts_ms}"));
    eventually("the place is taken", PATIENCE, async || {
        upstream.received() == 1
    })
    .await;
    (upstream, gateway)
}

type Answer = tokio::task::JoinHandle<Response>;

/// A tenant's request on its way.
fn waiting(gateway: &Gateway, tenant: &str, path: &str) -> Answer {
    let headers = [("x-tenant", tenant), ("connection", "close")];
    let request = request_bytes("GET", "gate.test", path, &headers, b"");
    let door = gateway.door;
    tokio::spawn(async move {
        let answer = testkit::http::exchange(door, &request, PATIENCE).await;
        answer.unwrap()
    })
}

async fn queued(gateway: &Gateway, count: f64) {
    eventually("they wait", PATIENCE, async || {
        gateway.metrics().await.sum("upstream_waiting", &[]) == count
    })
    .await;
}

// req: FQ-04, GW-07, GW-08, GW-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_share_and_a_full_queue_are_refused_at_once_and_say_so_everywhere() {
    let (_upstream, gateway) = occupied("items = 8\nper_tenant = 2\nwait_ms = 5000", 1500).await;
    let mut kept = vec![waiting(&gateway, "a", "/"), waiting(&gateway, "a", "/")];
    queued(&gateway, 2.0).await;
    let began = Instant::now();
    let share = gateway.get_with("/", &[("x-tenant", "a")]).await;
    assert!(began.elapsed() <= ms(1000), "{:?}", began.elapsed());
    assert_refusal(&share, 429, "share-full");
    for (tenant, count) in ["b", "c", "d", "e", "f", "g"].into_iter().zip(3..) {
        kept.push(waiting(&gateway, tenant, "/"));
        queued(&gateway, f64::from(count)).await;
    }
    let full = gateway.get_with("/", &[("x-tenant", "h")]).await;
    assert_refusal(&full, 429, "queue-full");
    for refused in [&share, &full] {
        assert!(advice(refused) <= Duration::from_secs(5), "{refused:?}");
    }
    for waiter in kept {
        assert_eq!(waiter.await.unwrap().status, 200, "who waits is served");
    }
    assert_eq!(gateway.rejected("share-full").await, 1);
    assert_eq!(gateway.rejected("queue-full").await, 1);
    gateway.end().await;
    let events = log::events(&gateway.process);
    for (answer, reason, tenant) in [(&share, "share-full", "a"), (&full, "queue-full", "h")] {
        let id = answer.header("x-request-id").unwrap();
        let line = events.iter().find(|event| event["id"] == id);
        let line = line.expect("a line in the access log");
        assert_eq!(line["reason"], reason, "{line}");
        assert_eq!(line["status"], 429, "{line}");
        assert_eq!(line["tenant"], tenant, "{line}");
    }
}

// req: FQ-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_oldest_goes_it_is_told_why() {
    let keys = "items = 8\nper_tenant = 2\nwait_ms = 5000\noverflow = \"drop_oldest\"";
    let (_upstream, gateway) = occupied(keys, 1000).await;
    let oldest = waiting(&gateway, "a", "/oldest");
    queued(&gateway, 1.0).await;
    let second = waiting(&gateway, "a", "/second");
    queued(&gateway, 2.0).await;
    let newest = waiting(&gateway, "a", "/newest");
    let dropped = oldest.await.unwrap();
    assert_refusal(&dropped, 429, "dropped-oldest");
    advice(&dropped);
    assert_eq!(second.await.unwrap().status, 200);
    assert_eq!(newest.await.unwrap().status, 200);
}

// req: GW-07, GW-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_a_place_for_longer_than_is_allowed() {
    let (upstream, gateway) = occupied("wait_ms = 300", 1500).await;
    let began = Instant::now();
    let refused = gateway.get_with("/", &[("x-tenant", "a")]).await;
    let took = began.elapsed();
    assert_refusal(&refused, 429, "queue-wait");
    advice(&refused);
    assert!((ms(290)..ms(500)).contains(&took), "{took:?}");
    assert_eq!(gateway.rejected("queue-wait").await, 1);
    assert_eq!(upstream.received(), 1, "it never reached the upstream");
}
