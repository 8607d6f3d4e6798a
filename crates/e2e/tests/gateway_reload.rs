//! Changes under load: another config, other endpoints, the end of the node. Nobody notices.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::command::{macronode, ran};
use e2e::gateway::{
    Gateway, MODES, PATIENCE, ROOMY, assert_all_well, assert_refusal, config, origin, to,
};
use e2e::log;
use e2e::rounds;
use e2e::wait::eventually;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use testkit::http::{Failure, request_bytes};
use testkit::load::{Load, Outcome, Stream};
use testkit::sim::Rng;
use testkit::upstream::{Fault, Reply, Upstream};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Reads and writes, a hundred of each a second.
fn mixed(door: SocketAddr, lasts: Duration) -> Load {
    Load::new(door)
        .stream(Stream::new("get", 100.0).path("/a"))
        .stream(Stream::new("post", 100.0).path("/a").body("POST", "once"))
        .duration(lasts)
        .timeout(PATIENCE)
}

/// One of many configs under each of which every request goes well.
fn variant(dispatch: &str, all: &[Upstream], rng: &mut Rng) -> String {
    let first = rng.usize(..all.len());
    let endpoints: Vec<_> = (0..=rng.usize(..all.len()))
        .map(|step| format!("\"http://{}\"", all[(first + step) % all.len()].addr()))
        .collect();
    let weights: Vec<_> = endpoints
        .iter()
        .map(|_| rng.u32(1..5).to_string())
        .collect();
    let balances = ["peak_ewma", "round_robin", "least_request", "hash"];
    let further = [
        "",
        "[[gateway.routes]]\npath = \"/other\"\nupstream = \"spare\"\n",
    ];
    let limits = [String::new(), format!("limit = {}\n", rng.u32(50..500))];
    format!(
        "dispatch = \"{dispatch}\"\n{ROOMY}upstream_ms = {}\n[gateway.limits]\nbody_bytes = {}\n\
         [gateway.classes]\nanon = {}\n[gateway.quota]\nper_ip = {{ per_second = {} }}\n{}\
         [[gateway.routes]]\nname = \"all\"\n\
         split = [{{ upstream = \"main\", weight = {} }}, {{ upstream = \"spare\", weight = {} }}]\n\
         [gateway.upstreams.main]\nendpoints = [{}]\nweights = [{}]\nbalance = \"{}\"\nslow_start_ms = {}\n{}\
         [gateway.upstreams.spare]\nendpoints = [\"http://{}\"]\n",
        rng.u32(5_000..9_000),
        rng.u32(1_000..2_000_000),
        rng.u32(1..10),
        rng.u32(5_000..9_000),
        further[rng.usize(..2)],
        rng.u32(1..10),
        rng.u32(0..10),
        endpoints.join(", "),
        weights.join(", "),
        balances[rng.usize(..4)],
        rng.u32(0..2_000),
        limits[rng.usize(..2)],
        all[rng.usize(..all.len())].addr(),
    )
}

// req: GW-16
// attack: I-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_routes_endpoints_weights_and_limits_fail_no_request() {
    for dispatch in MODES {
        let all = [
            origin(ms(5)).await,
            origin(ms(5)).await,
            origin(ms(20)).await,
        ];
        let mut rng = Rng::with_seed(0x009e_10ad);
        let gateway = Gateway::start(&variant(dispatch, &all, &mut rng)).await;
        let running = mixed(gateway.door, Duration::from_secs(5)).start();
        let until = running.started() + Duration::from_secs(5);
        let mut changes = 0;
        while Instant::now() < until {
            let text = config(&variant(dispatch, &all, &mut rng));
            gateway.process.replace_config(&text).unwrap();
            changes += 1;
            tokio::time::sleep(ms(100)).await;
        }
        let report = running.finish().await;
        let metrics = gateway.metrics().await;
        let applied = metrics.sum("config_reloads_total", &[("result", "applied")]);
        println!("{dispatch}: {changes} changes, {applied} applied\n{report}");
        assert_all_well(report.stream("get"));
        assert_all_well(report.stream("post"));
        assert!(applied >= 8.0, "{applied} of {changes} changes applied");
        let reached: u64 = all.iter().map(Upstream::received).sum();
        assert_eq!(reached, report.ok(), "none was sent twice");
        let each = all.iter().all(|one| one.received() > 20);
        assert!(each, "{:?}", all.each_ref().map(Upstream::received));
        gateway.end().await;
    }
}

// req: GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_under_way_at_an_endpoint_that_goes_comes_to_its_end() {
    let (old, new) = (origin(ms(600)).await, origin(ms(1)).await);
    let gateway = Gateway::start(&to(old.addr(), "limit = 50")).await;
    let asked: Vec<_> = (0..20)
        .map(|turn| {
            let method = if turn % 2 == 0 { "GET" } else { "POST" };
            let request = request_bytes(method, "gate.test", "/", &[("connection", "close")], b"x");
            let door = gateway.door;
            tokio::spawn(async move { testkit::http::exchange(door, &request, PATIENCE).await })
        })
        .collect();
    eventually("all are under way", PATIENCE, async || old.received() == 20).await;
    gateway.reload(&to(new.addr(), "limit = 50")).await;
    for _ in 0..10 {
        assert_eq!(gateway.get("/").await.status, 200);
    }
    for one in asked {
        assert_eq!(one.await.unwrap().unwrap().status, 200);
    }
    assert_eq!((old.received(), new.received()), (20, 10));
}

// req: GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_that_are_asked_how_they_are_may_all_be_replaced_at_once() {
    let all = [origin(ms(2)).await, origin(ms(2)).await];
    let health = "health = { path = \"/health\", every_ms = 1000, timeout_ms = 500, up_after = 3 }";
    let section = |turn: usize| format!("{ROOMY}{}", to(all[turn % 2].addr(), health));
    let gateway = Gateway::start(&section(0)).await;
    eventually("the first is up", PATIENCE, async || {
        gateway.get("/").await.status == 200
    })
    .await;
    let running = mixed(gateway.door, Duration::from_secs(3)).start();
    for turn in 1..9 {
        tokio::time::sleep(ms(250)).await;
        gateway.reload(&section(turn)).await;
    }
    let report = running.finish().await;
    assert_all_well(report.stream("get"));
    assert_all_well(report.stream("post"));
}

// req: GW-16
// attack: I-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_that_cannot_be_followed_changes_nothing() {
    let (old, new) = (origin(ms(0)).await, origin(ms(0)).await);
    let gateway = Gateway::start(&to(old.addr(), "")).await;
    let broken = format!(
        "{}[gateway.upstreams.z]\nendpoints = [\"https://127.0.0.1:9\"]\nca = \"missing.pem\"\n",
        to(new.addr(), "")
    );
    gateway.process.replace_config(&config(&broken)).unwrap();
    eventually("it is refused", PATIENCE, async || {
        let status = gateway.config_status().await;
        status["last_error"]
            .as_str()
            .unwrap()
            .contains("missing.pem")
    })
    .await;
    for _ in 0..10 {
        assert_eq!(gateway.get("/").await.status, 200);
    }
    assert_eq!((old.received(), new.received()), (10, 0));
}

/// Whether a request was handed over before the signal was sent.
fn accepted(outcome: &Outcome, asked: Instant) -> bool {
    outcome.written_at.is_some_and(|written| written <= asked)
}

/// Whether this should not have happened: what left after the signal may find the door closed, or a kept connection
/// being closed under it, but never gets half an answer.
fn is_fault(outcome: &Outcome, asked: Instant) -> bool {
    match outcome.result {
        Ok(status) if accepted(outcome, asked) => status >= 400,
        Ok(status) => status >= 400 && status != 503,
        Err(_) if accepted(outcome, asked) => true,
        Err(failure) => !matches!(
            failure,
            Failure::ConnectRefused
                | Failure::ConnectFailed
                | Failure::ClosedBeforeByte
                | Failure::ResetBeforeByte
        ),
    }
}

async fn drain_once(mut rng: Rng) {
    let dispatch = MODES[rng.usize(..2)];
    let origin = origin(ms(0)).await;
    let section = format!(
        "dispatch = \"{dispatch}\"\n{ROOMY}{}[drain]\ndeadline_ms = 8000\n",
        to(origin.addr(), "limit = 1000")
    );
    let gateway = Gateway::start(&section).await;
    let mut load = Load::new(gateway.door)
        .duration(Duration::from_secs(20))
        .timeout(PATIENCE)
        .keep_outcomes(100_000);
    for delay in [5, 50, 300, 900] {
        let path = format!("/?delay_ms={delay}");
        let (get, post) = (format!("get {delay}"), format!("post {delay}"));
        load = load
            .stream(Stream::new(&get, 6.0).path(&path))
            .stream(Stream::new(&post, 6.0).path(&path).body("POST", "once"));
    }
    let running = load.start();
    tokio::time::sleep(Duration::from_micros(rng.u64(500_000..1_500_000))).await;
    let asked = Instant::now();
    assert!(gateway.process.signal(libc::SIGTERM).unwrap());
    let status = gateway.process.wait_exit(PATIENCE).await.unwrap();
    let took = asked.elapsed();
    running.stop();
    let report = running.finish().await;
    assert_eq!(status.code(), Some(0), "{dispatch}: {status}");
    let faults: Vec<_> = report
        .outcomes
        .iter()
        .filter(|outcome| is_fault(outcome, asked))
        .collect();
    assert!(
        faults.is_empty(),
        "{dispatch}, signal at {asked:?}: {faults:#?}"
    );
    assert!(took <= Duration::from_secs(5), "{dispatch}: {took:?}");
    let books = log::books(&gateway.process).await;
    assert_eq!(books["connection"].aborted, 0, "{dispatch}: {books:?}");
}

// req: AC-01, GW-16
// attack: K-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_under_load_answers_all_that_was_accepted() {
    rounds("gateway drain", 8, drain_once).await;
}

// req: GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_lets_streams_finish_up_to_its_deadline() {
    let origin = origin(ms(0)).await;
    let events = |fault| {
        let reply = Reply::default().header("content-type", "text/event-stream");
        reply
            .body("data: tick\n\n".repeat(15))
            .chunked()
            .fault(fault)
    };
    origin.set("/short", events(Fault::Slow { bytes_per_s: 180 }));
    origin.set("/endless", events(Fault::StallAt(12)));
    let section = format!("{}[drain]\ndeadline_ms = 2000\n", to(origin.addr(), ""));
    let gateway = Gateway::start(&section).await;
    let (mut short, mut endless) = (gateway.connect().await, gateway.connect().await);
    for (client, path) in [(&mut short, "/short"), (&mut endless, "/endless")] {
        let request = request_bytes("GET", "gate.test", path, &[], b"");
        client.send(&request).await.unwrap();
    }
    eventually("both are open", PATIENCE, async || {
        gateway.metrics().await.sum("gateway_streams", &[]) == 2.0
    })
    .await;
    let asked = Instant::now();
    assert!(gateway.process.signal(libc::SIGTERM).unwrap());
    let whole = short.response(PATIENCE).await.unwrap();
    assert_eq!(whole.text(), "data: tick\n\n".repeat(15));
    let (_, closed) = endless.read_until_close(PATIENCE).await;
    assert!(closed);
    let status = gateway.process.wait_exit(PATIENCE).await.unwrap();
    assert_eq!(status.code(), Some(0), "{status}");
    let took = asked.elapsed();
    assert!((ms(1900)..ms(3000)).contains(&took), "{took:?}");
}

// req: GW-12, GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_makes_strangers_of_nobody_and_lets_nobody_stay_whom_it_revokes() {
    let made = |_| ran(&mut macronode(["key", "new", "--tenant", "gold"])).stdout;
    let made: Vec<String> = (0..20).map(made).collect();
    let made: Vec<(&str, &str)> = made.iter().map(|m| m.split_once('\n').unwrap()).collect();
    let upstream = Upstream::start().await.unwrap();
    // As many verifications as there are keys, and no more while the test lasts.
    let section = |weight: u32, keys: &[(&str, &str)]| {
        let lines: String = keys.iter().map(|(_, lines)| *lines).collect();
        format!(
            "{lines}\n[gateway.tenants.gold]\nweight = {weight}\n[gateway.quota]\n\
             verifications_per_ip = {{ per_second = 1, burst = 20 }}\n{}",
            to(upstream.addr(), "")
        )
    };
    let gateway = Gateway::start(&section(1, &made)).await;
    let ask = async |key: &str| gateway.get_with("/", &[("x-api-key", key)]).await;
    for (key, _) in &made {
        assert_eq!(ask(key).await.status, 200);
    }
    gateway.reload(&section(2, &made)).await;
    for (key, _) in &made {
        assert_eq!(ask(key).await.status, 200, "its tenant's weight is another");
    }
    let (revoked, stay) = made.split_first().unwrap();
    gateway.reload(&section(3, stay)).await;
    assert_refusal(&ask(revoked.0).await, 401, "identity-refused");
    for (key, _) in stay {
        assert_eq!(ask(key).await.status, 200, "there is one key less");
    }
}
