//! Where requests go: routes, rewrites, redirects, canaries, and the choice among endpoints that come and go.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use e2e::gateway::{Gateway, PATIENCE, assert_refusal};
use e2e::readiness::Watch;
use e2e::wait::eventually;
use testkit::http::{self, request_bytes};
use testkit::load::{Load, Stream};
use testkit::upstream::{Reply, Upstream};

/// Header lines.
type Fields<'a> = &'a [(&'a str, &'a str)];

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// An origin that answers with its name.
async fn origin(name: &str) -> Upstream {
    let origin = Upstream::start().await.unwrap();
    origin.set_default(Reply::default().body(name));
    origin.set_journal(0);
    origin
}

async fn origins(names: &[&str]) -> Vec<Upstream> {
    let mut all = Vec::new();
    for name in names {
        all.push(origin(name).await);
    }
    all
}

/// An upstream of these endpoints, with further keys.
fn upstream(name: &str, endpoints: &[Upstream], keys: &str) -> String {
    let urls: Vec<_> = endpoints
        .iter()
        .map(|one| format!("\"http://{}\"", one.addr()))
        .collect();
    let urls = urls.join(", ");
    format!("[gateway.upstreams.{name}]\nendpoints = [{urls}]\n{keys}\n")
}

/// A gateway with one route to one upstream of these endpoints.
async fn balanced(endpoints: &[Upstream], keys: &str) -> Gateway {
    let route = "[[gateway.routes]]\nupstream = \"main\"\n";
    Gateway::start(&format!("{route}{}", upstream("main", endpoints, keys))).await
}

/// Who answers a request on a connection of its own.
async fn asked(gateway: &Gateway, line: &str, headers: &[(&str, &str)]) -> String {
    let mut words = line.split(' ');
    let (method, host, path) = (
        words.next().unwrap(),
        words.next().unwrap(),
        words.next().unwrap(),
    );
    let headers = [headers, &[("connection", "close")]].concat();
    let request = request_bytes(method, host, path, &headers, b"");
    let answer = http::exchange(gateway.door, &request, PATIENCE).await;
    let answer = answer.unwrap_or_else(|failure| panic!("{line}: {failure}"));
    match answer.status {
        200 => answer.text(),
        status => status.to_string(),
    }
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_most_specific_route_wins() {
    let names = [
        "host", "below", "exact", "long", "short", "regex", "method", "header", "rest",
    ];
    let all = origins(&names).await;
    let matches = [
        "hosts = [\"api.example.com\"]\npath = \"/h\"",
        "hosts = [\"*.example.com\"]\npath = \"/h\"",
        "exact = \"/a/b\"",
        "path = \"/a/b\"",
        "path = \"/a\"",
        "regex = \"/r/[0-9]+\"",
        "path = \"/m\"\nmethods = [\"PUT\", \"PATCH\"]",
        "path = \"/k\"\nheaders = { \"x-beta\" = \"1\", \"x-any\" = \"*\" }",
        "path = \"/k\"",
    ];
    let mut section = String::new();
    for (name, matched) in names.iter().zip(matches) {
        section +=
            &format!("[[gateway.routes]]\nname = \"{name}\"\nupstream = \"{name}\"\n{matched}\n");
    }
    for (name, one) in names.iter().zip(&all) {
        section += &upstream(name, std::slice::from_ref(one), "");
    }
    let gateway = Gateway::start(&section).await;
    let both: &[(&str, &str)] = &[("x-beta", "1"), ("x-any", "x")];
    let cases: [(&str, Fields<'_>, &str); 25] = [
        ("GET api.example.com /h", &[], "host"),
        ("GET API.Example.COM /h", &[], "host"),
        ("GET api.example.com:8080 /h/x", &[], "host"),
        ("GET b.example.com /h", &[], "below"),
        ("GET a.b.example.com /h", &[], "below"),
        ("GET example.com /h", &[], "404"),
        ("GET evil-example.com /h", &[], "404"),
        ("GET x /a/b", &[], "exact"),
        ("GET x /a/b?query", &[], "exact"),
        ("GET x /a/b/", &[], "long"),
        ("GET x /a/b/c", &[], "long"),
        ("GET x /a/bc", &[], "short"),
        ("GET x /a", &[], "short"),
        ("GET x /ab", &[], "404"),
        ("GET x /r/42", &[], "regex"),
        ("GET x /r/42x", &[], "404"),
        ("GET x /y/r/42", &[], "404"),
        ("PUT x /m", &[], "method"),
        ("PATCH x /m/1", &[], "method"),
        ("GET x /m", &[], "405"),
        ("GET x /k", both, "header"),
        ("GET x /k", &[("x-beta", "1")], "rest"),
        ("GET x /k", &[("x-beta", "2"), ("x-any", "x")], "rest"),
        ("GET x /", &[], "404"),
        ("GET api.example.com /a", &[], "short"),
    ];
    for (line, headers, expected) in cases {
        assert_eq!(
            asked(&gateway, line, headers).await,
            expected,
            "{line} {headers:?}"
        );
    }
    assert_refusal(&gateway.get("/nowhere").await, 404, "no-route");
    let answer = gateway.get("/m").await;
    assert_refusal(&answer, 405, "method-not-allowed");
    assert_eq!(answer.header("allow"), Some("PUT, PATCH"));
    assert_eq!(gateway.rejected("no-route").await, 7);
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_hosts_and_headers_are_changed_as_the_route_says() {
    let origin = Upstream::start().await.unwrap();
    let answer = Reply::default()
        .header("x-inner", "secret")
        .header("server", "origin");
    origin.set_default(answer);
    let section = format!(
        "[[gateway.routes]]\npath = \"/api\"\nrewrite = \"/v1\"\nupstream = \"main\"\nupstream_host = \"inner.test\"\n\
         set_request = {{ \"x-by\" = \"gate\" }}\nremove_request = [\"cookie\"]\n\
         set_response = {{ \"server\" = \"gate\" }}\nremove_response = [\"x-inner\"]\n\
         [[gateway.routes]]\nexact = \"/old\"\nrewrite = \"/new\"\nupstream = \"main\"\n\
         [[gateway.routes]]\nregex = \"/u/([a-z]+)/(.*)\"\nrewrite = \"/users/$2/$1\"\nupstream = \"main\"\n\
         [[gateway.routes]]\npath = \"/strip\"\nrewrite = \"/\"\nupstream = \"main\"\n\
         [[gateway.routes]]\npath = \"/own\"\nrewrite = \"/v2?tenant=7\"\nupstream = \"main\"\n\
         [gateway.upstreams.main]\nendpoints = [\"http://{}\"]\n",
        origin.addr()
    );
    let gateway = Gateway::start(&section).await;
    let paths = [
        ("/api", "/v1"),
        ("/api/x?a=1&b=%20", "/v1/x?a=1&b=%20"),
        ("/old?q", "/new?q"),
        ("/u/ann/photos/1?s=2", "/users/photos/1/ann?s=2"),
        ("/strip/a/b", "/a/b"),
        ("/strip", "/"),
        ("/own/users?x=1", "/v2/users?tenant=7&x=1"),
    ];
    for (path, expected) in paths {
        assert_eq!(gateway.get(path).await.status, 200, "{path}");
        let seen = origin.requests().pop().unwrap().head.unwrap();
        assert_eq!(seen.target, expected, "{path}");
    }
    let sent = [("cookie", "a=1"), ("x-by", "client"), ("x-kept", "yes")];
    let answer = gateway.get_with("/api/h", &sent).await;
    assert_eq!(answer.header("server"), Some("gate"));
    assert_eq!(answer.header("x-inner"), None);
    let seen = origin.requests().pop().unwrap().head.unwrap().headers;
    assert_eq!(seen.get("host"), Some("inner.test"));
    assert_eq!(seen.all("x-by").collect::<Vec<_>>(), ["gate"]);
    assert_eq!(seen.get("cookie"), None);
    assert_eq!(seen.get("x-kept"), Some("yes"));
    assert_eq!(seen.get("x-forwarded-host"), Some("gate.test"));
    gateway.get_with("/old", &sent).await;
    let seen = origin.requests().pop().unwrap().head.unwrap().headers;
    assert_eq!(
        seen.get("host"),
        Some("gate.test"),
        "one authority everywhere"
    );
    assert_eq!(seen.get("cookie"), Some("a=1"));
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_needs_no_upstream() {
    let section = "[[gateway.routes]]\npath = \"/\"\nredirect = \"https://{host}{path}{query}\"\n\
                   [[gateway.routes]]\npath = \"/moved\"\nredirect = \"https://new.test/{query}\"\n\
                   redirect_status = 302\n";
    let gateway = Gateway::start(section).await;
    let answer = gateway.get("/a/b?c=d").await;
    assert_eq!(answer.status, 308);
    assert_eq!(answer.header("location"), Some("https://gate.test/a/b?c=d"));
    let answer = gateway.get("/moved?x").await;
    assert_eq!(answer.status, 302);
    assert_eq!(answer.header("location"), Some("https://new.test/?x"));
    let answer = gateway.ask("POST", "/a", &[], b"body").await.unwrap();
    assert_eq!(answer.status, 308);
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

// req: GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_gets_the_part_it_is_meant_to_get() {
    let all = origins(&["stable", "canary"]).await;
    let section = |weight: u32| {
        format!(
            "[[gateway.routes]]\nsplit = [{{ upstream = \"stable\", weight = {} }}, \
             {{ upstream = \"canary\", weight = {weight} }}]\n{}{}",
            100 - weight,
            upstream("stable", &all[..1], ""),
            upstream("canary", &all[1..], ""),
        )
    };
    let gateway = Gateway::start(&section(20)).await;
    for (weight, expected) in [(20, 0.2), (50, 0.5), (0, 0.0)] {
        if weight != 20 {
            gateway.reload(&section(weight)).await;
        }
        let got = counts(&gateway, &all, 8, ms(1500)).await;
        let canary = share(got[1], got[0] + got[1]);
        assert!(
            (canary - expected).abs() <= 0.05,
            "{got:?} by weight {weight}"
        );
    }
}

/// But for a request now and then that finds out whether it is well again.
// req: GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_that_is_down_leaves_its_part_to_the_others() {
    let stable = origins(&["stable"]).await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = closed.local_addr().unwrap();
    drop(closed);
    let gateway = Gateway::start(&format!(
        "[[gateway.routes]]\nsplit = [{{ upstream = \"stable\", weight = 70 }}, \
         {{ upstream = \"canary\", weight = 30 }}]\n{}\
         [gateway.upstreams.canary]\nendpoints = [\"http://{nobody}\"]\n",
        upstream("stable", &stable, ""),
    ))
    .await;
    let mut failed = 0;
    for _ in 0..60 {
        failed += u32::from(gateway.get("/").await.status != 200);
    }
    assert!(failed > 0, "it was tried");
    let mut failed = 0;
    for _ in 0..300 {
        failed += u32::from(gateway.get("/").await.status != 200);
    }
    assert!(failed < 15, "{failed} of 300 failed");
}

/// How many requests each endpoint gets of a closed loop.
async fn counts(
    gateway: &Gateway,
    endpoints: &[Upstream],
    workers: usize,
    lasts: Duration,
) -> Vec<u64> {
    let before: Vec<_> = endpoints.iter().map(Upstream::received).collect();
    let report = Load::new(gateway.door)
        .stream(Stream::new("get", 0.0))
        .closed(workers)
        .duration(lasts)
        .timeout(PATIENCE)
        .run()
        .await;
    assert_eq!(report.ok(), report.stream("get").intended, "{report}");
    let after = endpoints.iter().map(Upstream::received);
    let counts = after.zip(before).map(|(after, before)| after - before);
    let counts: Vec<_> = counts.collect();
    println!("{counts:?}");
    counts
}

// req: GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn round_robin_gives_each_its_turn_by_weight() {
    let all = origins(&["a", "b", "c"]).await;
    let keys = "balance = \"round_robin\"\nweights = [1, 2, 1]\nslow_start_ms = 0";
    let gateway = balanced(&all, keys).await;
    let mut turns = BTreeMap::new();
    let mut client = gateway.connect().await;
    for _ in 0..200 {
        let request = request_bytes("GET", "gate.test", "/", &[], b"");
        let answer = client.exchange(&request, PATIENCE).await.unwrap();
        *turns.entry(answer.text()).or_insert(0) += 1;
    }
    for (name, expected) in [("a", 50), ("b", 100), ("c", 50)] {
        let got: i32 = turns[name];
        assert!((got - expected).abs() <= 1, "{turns:?}");
    }
}

// req: GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balancers_by_load_spare_the_slow() {
    for balance in ["least_request", "peak_ewma"] {
        let all = origins(&["slow", "quick", "quick"]).await;
        all[0].set_default(Reply::default().delay(ms(100)));
        for quick in &all[1..] {
            quick.set_default(Reply::default().delay(ms(5)));
        }
        let keys = format!("balance = \"{balance}\"\nslow_start_ms = 0\nlimit = 100");
        let gateway = balanced(&all, &keys).await;
        let got = counts(&gateway, &all, 12, ms(1500)).await;
        let whole: u64 = got.iter().sum();
        assert!(share(got[0], whole) < 0.15, "{balance}: {got:?}");
        let even = share(got[1], got[1] + got[2]);
        assert!((0.35..0.65).contains(&even), "{balance}: {got:?}");
    }
}

/// Who answers each of these keys.
async fn homes(gateway: &Gateway) -> Vec<String> {
    let mut homes = Vec::new();
    for key in 0..60 {
        let answer = gateway.get_with("/", &[("x-key", &key.to_string())]).await;
        homes.push(answer.text());
    }
    homes
}

// req: GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_stays_where_it_is_and_only_those_of_the_gone_move() {
    let mut all = origins(&["a", "b", "c"]).await;
    let keys = "balance = \"hash\"\nhash_header = \"x-key\"\nslow_start_ms = 0";
    let gateway = balanced(&all, keys).await;
    let first = homes(&gateway).await;
    assert_eq!(first, homes(&gateway).await);
    for name in ["a", "b", "c"] {
        let got = first.iter().filter(|home| *home == name).count();
        assert!((8..=35).contains(&got), "{name} has {got} of 60");
    }
    let gone = all.pop().unwrap();
    let route = "[[gateway.routes]]\nupstream = \"main\"\n";
    gateway
        .reload(&format!("{route}{}", upstream("main", &all, keys)))
        .await;
    let second = homes(&gateway).await;
    for (before, after) in first.iter().zip(&second) {
        assert!(
            before == after || before == "c",
            "{before} moved to {after}"
        );
    }
    drop(gone);
}

// req: GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn active_health_takes_an_endpoint_out_and_in_and_it_comes_back_slowly() {
    let all = origins(&["a", "b"]).await;
    let keys = "balance = \"round_robin\"\nslow_start_ms = 3000\n\
                health = { path = \"/health\", every_ms = 50, timeout_ms = 500, up_after = 2, down_after = 2 }";
    let gateway = balanced(&all, keys).await;
    let works = |origin: usize, status: u16| all[origin].set("/health", Reply::status(status));
    works(1, 500);
    let first = Instant::now();
    eventually("b is out", PATIENCE, async || {
        let mut answers = Vec::new();
        for _ in 0..10 {
            answers.push(gateway.get("/").await.text());
        }
        answers.iter().all(|name| name == "a")
    })
    .await;
    println!("out after {:?}", first.elapsed());
    // Long enough for a's own slow start to be over.
    tokio::time::sleep(ms(3000)).await;
    works(1, 204);
    eventually("b is in", PATIENCE, async || {
        gateway.get("/").await.text() == "b"
    })
    .await;
    let part = async || {
        let mut got = 0;
        for _ in 0..60 {
            got += u32::from(gateway.get("/").await.text() == "b");
        }
        got
    };
    let begun = part().await;
    tokio::time::sleep(ms(3500)).await;
    let settled = part().await;
    println!("b has {begun} of 60 at first, {settled} later");
    assert!(begun <= 20, "{begun} of 60 at once");
    assert!((28..=32).contains(&settled), "{settled} of 60");

    works(0, 500);
    works(1, 500);
    let mut watch = Watch::start(gateway.admin);
    watch.is("degraded", PATIENCE).await;
    let answer = gateway.get("/").await;
    assert_refusal(&answer, 503, "no-endpoint");
    assert!(answer.header("retry-after").is_some());
    assert_eq!(gateway.metrics().await.sum("gateway_degraded", &[]), 1.0);
    works(0, 200);
    watch.is("ready", PATIENCE).await;
    assert_eq!(gateway.get("/").await.text(), "a");
}

// req: GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_may_be_a_name() {
    let origin = origin("here").await;
    let port = origin.addr().port();
    let section = format!(
        "[[gateway.routes]]\nupstream = \"main\"\n[gateway.upstreams.main]\nendpoints = [\"http://localhost:{port}\"]\n"
    );
    let gateway = Gateway::start(&section).await;
    // A name is looked up once the node is up.
    eventually("the name is resolved", PATIENCE, async || {
        gateway.get("/").await.status == 200
    })
    .await;
    for _ in 0..20 {
        assert_eq!(gateway.get("/").await.text(), "here");
    }
}
