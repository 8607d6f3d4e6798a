//! Who is asking, and what that one may do: keys, tokens, passports, the word of trusted hops, policy.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::command::{macronode, ran};
use e2e::gateway::{Gateway, PATIENCE, TRUSTED, assert_refusal, config, program, to};
use e2e::wait::eventually;
use std::time::Duration;
use testkit::http::request_bytes;
use testkit::upstream::Upstream;

/// Header lines.
type Fields<'a> = &'a [(&'a str, &'a str)];

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

// req: GW-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_rule_allows_is_denied() {
    let upstream = Upstream::start().await.unwrap();
    let rules = "[[gateway.policy.rules]]\nverdict = \"deny\"\ntenants = [\"bad\"]\n\
                 [[gateway.policy.rules]]\nverdict = \"deny\"\nbody_over = 10\n\
                 [[gateway.policy.rules]]\nverdict = \"allow\"\nroutes = [\"all\"]\nmethods = [\"GET\", \"POST\"]\n\
                 tenants = [\"good\", \"bad\"]\nhosts = [\"gate.test\"]\n";
    let section = format!("{TRUSTED}{rules}{}", to(upstream.addr(), ""));
    let gateway = Gateway::start(&section).await;
    let good = ("x-tenant", "good");
    let cases: [(&str, Fields<'_>, &[u8], bool); 6] = [
        ("GET", &[good], b"", true),
        ("POST", &[good], b"ten bytes!", true),
        ("POST", &[good], b"more than ten", false),
        ("DELETE", &[good], b"", false),
        ("GET", &[("x-tenant", "bad")], b"", false),
        ("GET", &[], b"", false),
    ];
    for (method, headers, body, allowed) in cases {
        let answer = gateway.ask(method, "/", headers, body).await.unwrap();
        match allowed {
            true => assert_eq!(answer.status, 200, "{method} {headers:?}"),
            false => assert_refusal(&answer, 403, "forbidden"),
        }
    }
    let elsewhere = request_bytes("GET", "other.test", "/", &[good], b"");
    let mut client = gateway.connect().await;
    let answer = client.exchange(&elsewhere, PATIENCE).await.unwrap();
    assert_refusal(&answer, 403, "forbidden");
    assert_eq!(upstream.received(), 2);
}

// req: GW-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_whose_file_is_missing_or_bad_lets_nobody_start_and_changes_nothing() {
    let upstream = Upstream::start().await.unwrap();
    let section = |file: &str| {
        format!(
            "[gateway.policy]\nfile = \"{file}\"\n{}",
            to(upstream.addr(), "")
        )
    };
    let missing = program(&section("missing.toml")).start().unwrap();
    let status = missing.wait_exit(PATIENCE).await.unwrap();
    assert_ne!(status.code(), Some(0), "fails closed");

    let good = program("");
    let path = good.file(
        "rules.toml",
        "[[rules]]\nverdict = \"allow\"\nmethods = [\"GET\"]\n",
    );
    let path = path.unwrap();
    let text = section(path.to_str().unwrap());
    let gateway = Gateway::of(program(&text)).await;
    assert_eq!(gateway.get("/").await.status, 200);
    std::fs::write(&path, "[[rules]]\nverdict = \"maybe\"\n").unwrap();
    let other = format!("{text}\n[gateway.timeouts]\nrequest_ms = 1500\n");
    gateway.process.replace_config(&config(&other)).unwrap();
    eventually("the config is refused", PATIENCE, async || {
        gateway.config_status().await["last_error"] != ""
    })
    .await;
    assert_eq!(gateway.get("/").await.status, 200, "the old rules hold");
    let answer = gateway.ask("POST", "/", &[], b"").await.unwrap();
    assert_refusal(&answer, 403, "forbidden");
}

// req: GW-13, KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permission_that_is_revoked_in_the_policys_file_is_gone_by_itself_and_at_once_by_a_reload()
 {
    let upstream = Upstream::start().await.unwrap();
    let other = program("");
    let allow =
        |method: &str| format!("[[rules]]\nverdict = \"allow\"\nmethods = [\"{method}\"]\n");
    let path = other.file("rules.toml", allow("GET")).unwrap();
    let section = format!(
        "[gateway.policy]\nfile = {path:?}\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    assert_eq!(gateway.get("/").await.status, 200);
    std::fs::write(&path, allow("PUT")).unwrap();
    assert!(gateway.process.signal(libc::SIGHUP).unwrap());
    eventually("it is revoked", PATIENCE, async || {
        gateway.get("/").await.status == 403
    })
    .await;
    std::fs::write(&path, "[[rules]]\nverdict = \"maybe\"\n").unwrap();
    eventually("the bad file is told of", PATIENCE, async || {
        gateway.config_status().await["last_result"] == "invalid"
    })
    .await;
    assert_eq!(gateway.get("/").await.status, 403, "the old rules hold");
    std::fs::write(&path, allow("GET")).unwrap();
    eventually("it is given again", PATIENCE, async || {
        gateway.get("/").await.status == 200
    })
    .await;
}

// req: GW-02, GW-12, GW-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_is_for_those_who_may_ask_and_looks_as_its_route_says() {
    let section = format!(
        "{TRUSTED}[[gateway.policy.rules]]\nverdict = \"deny\"\nroutes = [\"closed\"]\n\
         [[gateway.policy.rules]]\nverdict = \"allow\"\n\
         [[gateway.routes]]\npath = \"/\"\nredirect = \"/a{{path}}\"\nset_response = {{ x-a = \"1\" }}\n\
         [[gateway.routes]]\npath = \"/known\"\nidentity = true\nredirect = \"/b\"\n\
         [[gateway.routes]]\nname = \"closed\"\npath = \"/closed\"\nredirect = \"/c\"\n\
         [[gateway.routes]]\npath = \"/rare\"\nredirect = \"/d\"\nrate = {{ per_second = 1, burst = 1 }}\n"
    );
    let gateway = Gateway::start(&section).await;
    let answer = gateway.get("/x").await;
    assert_eq!((answer.status, answer.header("x-a")), (308, Some("1")));
    assert_refusal(&gateway.get("/known").await, 401, "identity-missing");
    let known = gateway.get_with("/known", &[("x-tenant", "good")]).await;
    assert_eq!(known.status, 308);
    assert_refusal(&gateway.get("/closed").await, 403, "forbidden");
    let first = gateway.get("/rare").await;
    assert_eq!(first.status, 308);
    assert!(first.header("ratelimit").is_some());
    assert_eq!(gateway.get("/rare").await.status, 429);
    let large = vec![b'x'; 2 << 20];
    let answer = gateway.ask("POST", "/x", &[], &large).await;
    assert_eq!(answer.unwrap().status, 308, "nothing of it is taken in");
}

/// The headers an upstream saw with the last request.
fn last(upstream: &Upstream) -> testkit::wire::Headers {
    upstream.requests().pop().unwrap().head.unwrap().headers
}

// req: GW-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_key_names_its_tenant_and_goes_no_further() {
    let made = ran(&mut macronode(["key", "new", "--tenant", "gold"]));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let (key, lines) = made.stdout.split_once('\n').unwrap();
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "[gateway.identity]\nrequired = true\n{lines}\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let bearer = format!("Bearer {key}");
    for header in [("x-api-key", key), ("authorization", &bearer)] {
        let answer = gateway
            .get_with("/", &[header, ("x-tenant", "other")])
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let seen = last(&upstream);
        assert_eq!(seen.all("x-tenant").collect::<Vec<_>>(), ["gold"]);
        assert_eq!(seen.get("x-api-key"), None);
        assert_eq!(seen.get("authorization"), None);
    }
    let others = ("authorization", "Basic dTpw");
    gateway.get_with("/", &[("x-api-key", key), others]).await;
    assert_eq!(last(&upstream).get("authorization"), Some("Basic dTpw"));
    let (kept, last) = key.split_at(key.len() - 1);
    let wrong = format!("{kept}{}", if last == "x" { "y" } else { "x" });
    let cases: [(Fields<'_>, u16, &str); 4] = [
        (&[], 401, "identity-missing"),
        (&[("x-api-key", &wrong)], 401, "identity-refused"),
        (
            &[("x-api-key", key), ("x-api-key", key)],
            400,
            "identity-ambiguous",
        ),
        (&[("authorization", "Basic dTpw")], 401, "identity-missing"),
    ];
    for (headers, status, reason) in cases {
        let answer = gateway.get_with("/", headers).await;
        assert_refusal(&answer, status, reason);
        assert!(!answer.text().contains(key));
        let challenge = answer.header("www-authenticate").is_some();
        assert_eq!(challenge, status == 401, "{reason}");
    }
    assert_eq!(upstream.received(), 3);
    gateway.end().await;
    let said = format!("{:?}", gateway.process.lines());
    assert!(!said.contains(key), "the key is in the log");
}

// req: GW-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_the_upstreams_costs_no_verification_and_goes_well_with_a_key() {
    let made = ran(&mut macronode(["key", "new", "--tenant", "gold"]));
    let (key, lines) = made.stdout.split_once('\n').unwrap();
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "{lines}\n[gateway.quota]\nverifications_per_ip = {{ per_second = 1, burst = 2 }}\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    for user in 0..20 {
        let foreign = format!("Bearer eyJhbGciOiJSUzI1NiJ9.e30.user{user}");
        let foreign = ("authorization", foreign.as_str());
        assert_eq!(gateway.get_with("/", &[foreign]).await.status, 200);
        assert_eq!(last(&upstream).get("x-tenant"), None);
        let both = gateway.get_with("/", &[("x-api-key", key), foreign]).await;
        assert_eq!(both.status, 200, "{}", both.text());
        let seen = last(&upstream);
        assert_eq!(seen.get("x-tenant"), Some("gold"));
        assert_eq!(seen.get("x-api-key"), None);
        assert_eq!(seen.get("authorization"), Some(foreign.1));
    }
    let bearer = format!("Bearer {key}");
    let twice = [("x-api-key", key), ("authorization", &bearer)];
    let answer = gateway.get_with("/", &twice).await;
    assert_refusal(&answer, 400, "identity-ambiguous");
}

// req: GW-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_passport_is_good_for_what_it_says_and_no_more() {
    let upstream = Upstream::start().await.unwrap();
    let root = "0123456789abcdef".repeat(4);
    let section = format!(
        "[gateway.identity]\nrequired = true\n[gateway.identity.passport]\nroot_key = \"{root}\"\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let file = gateway.process.dir().join("macronode.toml");
    let said = |args: &[&str]| {
        let ran = ran(&mut macronode([&["passport"], args].concat()));
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        ran.stdout.trim().to_owned()
    };
    let whole = said(&[
        "mint",
        "--config",
        file.to_str().unwrap(),
        "--tenant",
        "gold",
        "--for",
        "1h",
    ]);
    let narrow = said(&[
        "attenuate",
        &whole,
        "--path",
        "/a",
        "--methods",
        "GET",
        "--max-body",
        "10",
    ]);
    let brief = said(&["attenuate", &whole, "--for", "1s"]);
    let ask = async |token: &str, method: &str, path: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        gateway.ask(method, path, &headers, b"").await.unwrap()
    };
    for (method, path) in [("GET", "/a"), ("POST", "/b")] {
        assert_eq!(ask(&whole, method, path).await.status, 200);
        assert_eq!(last(&upstream).get("x-tenant"), Some("gold"));
    }
    assert_eq!(ask(&narrow, "GET", "/a/x").await.status, 200);
    assert_refusal(&ask(&narrow, "POST", "/a").await, 403, "beyond-credential");
    assert_refusal(&ask(&narrow, "GET", "/b").await, 403, "beyond-credential");
    assert_refusal(&ask(&narrow, "GET", "/ab").await, 403, "beyond-credential");
    tokio::time::sleep(ms(2100)).await;
    assert_refusal(&ask(&brief, "GET", "/a").await, 401, "identity-expired");
    let mut forged = narrow.clone();
    forged.replace_range(forged.len() - 6.., "AAAAAA");
    assert_refusal(&ask(&forged, "GET", "/a").await, 401, "identity-refused");
}

// req: GW-12
// attack: H-02, H-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_header_is_believed_from_a_trusted_hop_and_removed_from_any_other() {
    let upstream = Upstream::start().await.unwrap();
    let section = |hops: &str| {
        format!(
            "trusted_hops = [\"{hops}\"]\n[gateway.identity]\ntenant_header = \"x-tenant\"\n\
             [gateway.quota]\nper_tenant = {{ per_second = 1, burst = 5 }}\n{}",
            to(upstream.addr(), "")
        )
    };
    let strict = Gateway::start(&section("10.0.0.0/8")).await;
    let mut passed = 0;
    for tenant in 0..20 {
        let answer = strict
            .get_with("/", &[("x-tenant", &format!("t{tenant}"))])
            .await;
        passed += u32::from(answer.status == 200);
        assert_eq!(last(&upstream).get("x-tenant"), None);
    }
    assert!(
        (5..=7).contains(&passed),
        "a new name brings no new share: {passed}"
    );

    let trusting = Gateway::start(&section("127.0.0.1")).await;
    assert_eq!(
        trusting.get_with("/", &[("x-tenant", "gold")]).await.status,
        200
    );
    assert_eq!(last(&upstream).get("x-tenant"), Some("gold"));
    let long = "t".repeat(10_000);
    let cases: [(&[(&str, &str)], &str); 3] = [
        (
            &[("x-tenant", "a"), ("x-tenant", "b")],
            "identity-ambiguous",
        ),
        (&[("x-tenant", &long)], "tenant-malformed"),
        (&[("x-tenant", "a b")], "tenant-malformed"),
    ];
    for (headers, reason) in cases {
        assert_refusal(&trusting.get_with("/", headers).await, 400, reason);
    }
}

// req: GW-14
// attack: H-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_a_request_came_from_is_said_by_trusted_hops_only() {
    let upstream = Upstream::start().await.unwrap();
    let section = |hops: &str| {
        format!(
            "trusted_hops = [\"{hops}\"]\n[gateway.quota]\nper_ip = {{ per_second = 1, burst = 5 }}\n{}",
            to(upstream.addr(), "")
        )
    };
    let strict = Gateway::start(&section("10.0.0.0/8")).await;
    let mut passed = 0;
    for host in 0..20 {
        let spoofed = format!("203.0.113.{host}");
        let headers = [
            ("x-forwarded-for", spoofed.as_str()),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "evil.test"),
            ("forwarded", "for=203.0.113.1;host=evil.test"),
        ];
        passed += u32::from(strict.get_with("/", &headers).await.status == 200);
        let seen = last(&upstream);
        assert_eq!(
            seen.all("x-forwarded-for").collect::<Vec<_>>(),
            ["127.0.0.1"]
        );
        assert_eq!(seen.get("x-forwarded-proto"), Some("http"));
        assert_eq!(seen.get("x-forwarded-host"), Some("gate.test"));
        assert!(!format!("{seen:?}").contains("203.0.113"), "{seen:?}");
    }
    assert!((5..=7).contains(&passed), "{passed} by another name each");

    let trusting = Gateway::start(&section("127.0.0.1")).await;
    for host in 0..10 {
        let real = format!("203.0.113.{host}");
        // What stands before the last untrusted address is anybody's word.
        let trail = format!("198.51.100.9, {real}");
        let answer = trusting.get_with("/", &[("x-forwarded-for", &trail)]).await;
        assert_eq!(answer.status, 200, "each has a rate of its own");
        let seen = last(&upstream);
        let trail: Vec<_> = seen.all("x-forwarded-for").collect();
        assert!(
            trail.join(", ").ends_with(&format!("{real}, 127.0.0.1")),
            "{trail:?}"
        );
    }
    for host in 10..20 {
        let said = format!("for=203.0.113.{host};proto=https");
        let answer = trusting.get_with("/", &[("forwarded", &said)]).await;
        assert_eq!(answer.status, 200, "however it is said");
    }
    let mut passed = 0;
    for host in 0..20 {
        let trail = format!("198.51.100.{host}, 203.0.113.77");
        let answer = trusting.get_with("/", &[("x-forwarded-for", &trail)]).await;
        passed += u32::from(answer.status == 200);
    }
    assert!((5..=7).contains(&passed), "{passed} from one address");
}

// req: GW-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guessing_keys_is_charged_to_where_it_comes_from() {
    let made = ran(&mut macronode(["key", "new", "--tenant", "gold"]));
    let (key, lines) = made.stdout.split_once('\n').unwrap();
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "[gateway.identity]\nrequired = true\n{lines}\n\
         [gateway.quota]\nverifications_per_ip = {{ per_second = 1, burst = 5 }}\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    assert_eq!(
        gateway.get_with("/", &[("x-api-key", key)]).await.status,
        200
    );
    let mut refused = 0;
    for guess in 0..20 {
        let guess = format!("mk_{guess:043}");
        let answer = gateway.get_with("/", &[("x-api-key", &guess)]).await;
        match answer.status {
            429 => {
                assert_refusal(&answer, 429, "rate-verifications");
                refused += 1;
            }
            _ => assert_refusal(&answer, 401, "identity-refused"),
        }
    }
    assert!(refused >= 13, "{refused} of 20 guesses were refused unseen");
    let answer = gateway.get_with("/", &[("x-api-key", key)]).await;
    assert_eq!(answer.status, 200, "who is known is not asked again");
}
