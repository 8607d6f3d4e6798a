//! A strict boot: not ready before every upstream was well once, and no stricter afterwards.

use e2e::gateway::{Gateway, PATIENCE, assert_refusal, program};
use e2e::wait::eventually;
use e2e::{START, readiness::Watch};
use std::time::Duration;
use testkit::http;
use testkit::process::Port;
use testkit::upstream::{Fault, Reply, Upstream};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

// req: GW-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strict_boot_waits_for_its_upstreams_and_another_says_that_it_lacks_them() {
    let (admin, place) = (Port::reserve().unwrap(), Port::reserve().unwrap());
    let asked = "health = { path = \"/health\", every_ms = 50, timeout_ms = 500, up_after = 1 }";
    let section = |strict: bool, health: &str| {
        format!(
            "strict_boot = {strict}\n[[gateway.routes]]\nupstream = \"main\"\n\
             [gateway.upstreams.main]\nendpoints = [\"http://{}\"]\n{health}\n",
            place.addr()
        )
    };
    let listen = format!("admin.listen={}", admin.addr());
    for health in [asked, ""] {
        let strict = program(&section(true, health)).arg("--set").arg(&listen);
        let strict = strict.start().unwrap();
        let mut watch = Watch::start(admin.addr());
        watch.is("unready", START).await;
        tokio::time::sleep(ms(1000)).await;
        assert_eq!(
            http::get(admin.addr(), "/readyz").await.unwrap().status,
            503,
            "no traffic before its upstream is there"
        );
        let origin = Upstream::bind(place.addr()).await.unwrap();
        watch.is("ready", PATIENCE).await;
        drop((watch, strict, origin));
    }

    let other = Gateway::start(&section(false, asked)).await;
    let mut watch = Watch::start(other.admin);
    watch.is("degraded", PATIENCE).await;
    assert_refusal(&other.get("/").await, 503, "no-endpoint");
}

// req: GW-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_after_a_strict_boot_takes_nobody_from_the_others() {
    let [well, ill] = [
        Upstream::start().await.unwrap(),
        Upstream::start().await.unwrap(),
    ];
    let section = format!(
        "strict_boot = true\n[[gateway.routes]]\npath = \"/well\"\nupstream = \"well\"\n\
         [[gateway.routes]]\npath = \"/ill\"\nupstream = \"ill\"\n\
         [gateway.upstreams.well]\nendpoints = [\"http://{}\"]\n\
         [gateway.upstreams.ill]\nendpoints = [\"http://{}\"]\n\
         health = {{ path = \"/health\", every_ms = 50, timeout_ms = 500, down_after = 1, up_after = 1 }}\n",
        well.addr(),
        ill.addr(),
    );
    let gateway = Gateway::start(&section).await;
    let mut watch = Watch::of_ready(gateway.admin, PATIENCE).await;
    ill.set("/health", Reply::status(500));
    watch.is("degraded", PATIENCE).await;
    assert_eq!(gateway.get("/well").await.status, 200);
    ill.clear("/health");
    watch.is("ready", PATIENCE).await;
    let nobody = Port::reserve().unwrap();
    let more = format!(
        "[gateway.upstreams.more]\nendpoints = [\"http://{}\"]\nhealth = {{ path = \"/\" }}\n\
         [[gateway.routes]]\npath = \"/more\"\nupstream = \"more\"\n",
        nobody.addr()
    );
    gateway.reload(&(section + &more)).await;
    watch.is("degraded", PATIENCE).await;
    let states = watch.words();
    assert!(!states.contains(&"unready".to_owned()), "{states:?}");
}

// What no health check asks is known by its breaker alone.
// req: GW-11, GW-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_whose_breakers_are_all_open_has_nobody_until_one_closes() {
    for strict in [false, true] {
        let [one, other] = [
            Upstream::start().await.unwrap(),
            Upstream::start().await.unwrap(),
        ];
        let section = format!(
            "strict_boot = {strict}\n[[gateway.routes]]\nupstream = \"main\"\nretry.tries = 1\n\
             [gateway.upstreams.main]\nbalance = \"round_robin\"\n\
             endpoints = [\"http://{}\", \"http://{}\"]\n\
             [gateway.upstreams.main.breaker]\nopen_ms = 500\n",
            one.addr(),
            other.addr(),
        );
        let gateway = Gateway::start(&section).await;
        let mut watch = Watch::of_ready(gateway.admin, PATIENCE).await;
        let degraded = async || gateway.metrics().await.sum("gateway_degraded", &[]);
        one.set_default(Fault::Reset);
        for _ in 0..60 {
            gateway.get("/").await;
        }
        eventually("one is left", PATIENCE, async || {
            gateway.get("/").await.status == 200
        })
        .await;
        // Longer than it takes to be seen.
        tokio::time::sleep(ms(1500)).await;
        assert_eq!(degraded().await, 0.0);
        other.set_default(Fault::Reset);
        eventually("all are left alone", PATIENCE, async || {
            let answer = gateway.get("/").await;
            answer.header("x-macronode-reason") == Some("open-circuit")
        })
        .await;
        watch.is("degraded", PATIENCE).await;
        eventually("it is counted", PATIENCE, async || degraded().await == 1.0).await;
        other.set_default(Reply::default());
        eventually("one is found well", PATIENCE, async || {
            gateway.get("/").await.status == 200
        })
        .await;
        watch.is("ready", PATIENCE).await;
        eventually("all is well", PATIENCE, async || degraded().await == 0.0).await;
        assert_eq!(watch.words(), ["ready", "degraded", "ready"]);
    }
}
