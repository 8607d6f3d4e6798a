//! What a request claims about its sender: believed from those who are trusted, gone from all others.

use Wanted::{Declined, Passes, Refused};
use e2e::gateway::PATIENCE;
use e2e::site::{Meant, Site, Wanted, cases, meant, request};
use testkit::strict;

fn got() -> Meant {
    meant("GET", "/t")
}

fn get(lines: &str) -> Vec<u8> {
    request("GET", "/t", lines, "")
}

// req: GW-12
// attack: H-02, H-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_stranger_claims_to_be_goes_no_further() {
    let site = Site::start(
        "trusted_hops = [\"10.0.0.0/8\"]\n[gateway.identity]\ntenant_header = \"x-tenant\"\n",
        "",
    )
    .await;
    let unclaimed = got()
        .without("x-tenant")
        .without("forwarded")
        .without("x-real-ip")
        .without("x-original-url")
        .field("x-forwarded-for", "127.0.0.1")
        .field("x-forwarded-proto", "http")
        .field("x-forwarded-host", "a.test");
    let claims = [
        "x-tenant: acme\r\n",
        "X-Tenant: acme\r\nx-tenant: other\r\n",
        "connection: x-tenant\r\nx-tenant: acme\r\n",
        "x-forwarded-for: 6.6.6.6\r\n",
        "X-Forwarded-For: 6.6.6.6\r\nx-forwarded-for: 7.7.7.7, 127.0.0.1\r\n",
        "connection: x-forwarded-for, x-forwarded-host, x-forwarded-proto\r\n",
        "x-forwarded-proto: https\r\nx-forwarded-host: evil\r\nx-forwarded-port: 443\r\n",
        "x-real-ip: 6.6.6.6\r\nx-original-url: /admin\r\n",
    ];
    site.check(cases(&Passes(unclaimed), claims, get)).await;
    let forwarded = ["forwarded: for=6.6.6.6;host=evil\r\n"];
    let own = got().field("forwarded", "for=127.0.0.1;proto=http;host=\"a.test\"");
    let left_out = Passes(got().without("forwarded"));
    let written = Passes(own);
    // Whichever it is, nothing of the claim is left.
    let told = site
        .gateway
        .ask("GET", "/t", &[("forwarded", "for=6.6.6.6")], b"")
        .await;
    assert_eq!(told.expect("an answer").status, 200);
    let tape = site.origin.take().concat();
    let seen = strict::requests(&tape).expect("one request");
    let wanted = if seen[0].one("forwarded").is_some() {
        written
    } else {
        left_out
    };
    site.check(cases(&wanted, forwarded, get)).await;
}

// req: GW-12
// attack: A-51
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dotted_name_does_not_stand_in_for_a_header_of_the_config() {
    let site = Site::start(
        "trusted_hops = [\"10.0.0.0/8\"]\n[gateway.identity]\ntenant_header = \"acme-tenant\"\n",
        "",
    )
    .await;
    let alias = Refused(400, "header-name-alias");
    let claims = ["acme.tenant: gold\r\n", "Acme.Tenant: gold\r\na.b: 1\r\n"];
    site.check(cases(&alias, claims, get)).await;
    let others = ["acme.tenants: 1\r\n", "a.b: 1\r\n"];
    site.check(cases(&Passes(got()), others, get)).await;
}

// req: GW-12
// attack: H-02, H-03, H-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_trusted_hop_says_is_one_thing_or_refused() {
    let section =
        "trusted_hops = [\"127.0.0.0/8\"]\n[gateway.identity]\ntenant_header = \"x-tenant\"\n";
    let site = Site::start(section, "").await;
    let believed = got()
        .field("x-tenant", "acme")
        .field("x-forwarded-for", "9.9.9.9, 127.0.0.1");
    let said = ["x-tenant: acme\r\nx-forwarded-for: 9.9.9.9\r\n"];
    site.check(cases(&Passes(believed), said, get)).await;
    let twice = [
        "x-tenant: acme\r\nx-tenant: acme\r\n",
        "x-tenant: acme\r\nX-Tenant: other\r\n",
    ];
    site.check(cases(&Declined(400, "identity-ambiguous"), twice, get))
        .await;
    let huge = format!("x-tenant: {}\r\n", "a".repeat(64 << 10));
    site.check(cases(&Refused(431, "head-too-large"), [huge], get))
        .await;
    let odd = [
        format!("x-tenant: {}\r\n", "a".repeat(4 << 10)),
        "x-tenant: a b\r\n".to_owned(),
        "x-tenant: caf\u{e9}\r\n".to_owned(),
    ];
    for line in odd {
        let mut connection = site.gateway.connect().await;
        let answer = connection
            .exchange(&get(&line), PATIENCE)
            .await
            .expect("an answer");
        assert_eq!(answer.status, 400, "{line:.80}: {}", answer.text());
        assert!(site.origin.take().is_empty(), "{line:.80}");
    }
}

// req: GW-09
// attack: H-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_is_within_what_the_route_allows() {
    let site = Site::start("", "").await;
    let wishes = [
        "request-timeout: 999999999999\r\n",
        "request-timeout: 1e99\r\n",
        "request-timeout: nan\r\n",
        "request-timeout: -1\r\n",
        "request-timeout: 18446744073709551616\r\n",
        "request-timeout: 1\r\nrequest-timeout: 900\r\n",
        "grpc-timeout: 99999999H\r\n",
        "grpc-timeout: -1S\r\n",
        "x-request-deadline: 99999999999999\r\n",
        "x-request-deadline: never\r\n",
        "request-timeout: 0\r\n",
        "grpc-timeout: 0n\r\n",
        "x-request-deadline: 0\r\n",
    ];
    for line in wishes {
        let mut connection = site.gateway.connect().await;
        let answer = connection
            .exchange(&get(line), PATIENCE)
            .await
            .expect("an answer");
        assert!(
            matches!(answer.status, 200 | 504),
            "{line}: {}",
            answer.text()
        );
        for tape in site.origin.take() {
            for seen in strict::requests(&tape).expect("one request") {
                let left: f64 = seen
                    .one("request-timeout")
                    .expect("a deadline")
                    .parse()
                    .expect("a number");
                assert!((0.0..=2.0).contains(&left), "{line}: {left}");
            }
        }
    }
}

// req: GW-14
// attack: H-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_trusted_hop_says_in_forwarded_alone_is_believed_and_told_in_both_ways() {
    let site = Site::start("trusted_hops = [\"127.0.0.0/8\"]\n", "").await;
    let told = |client: &str, proto: &str| {
        let trail = match client {
            "" => "127.0.0.1".to_owned(),
            _ => format!("{client}, 127.0.0.1"),
        };
        let told = got().field("x-forwarded-for", &trail);
        Passes(told.field("x-forwarded-proto", proto))
    };
    let all = [
        ("for=9.9.9.9;proto=https", told("9.9.9.9", "https")),
        ("for=6.6.6.6, for=9.9.9.9", told("9.9.9.9", "http")),
        ("for=\"9.9.9.9:47\"", told("9.9.9.9", "http")),
        (
            "for=\"[2001:db8::7]:47\";proto=https",
            told("2001:db8::7", "https"),
        ),
        (
            "for=9.9.9.9;proto=https, for=127.0.0.9;proto=http",
            told("9.9.9.9", "https"),
        ),
        ("for=9.9.9.9, for=_hidden;proto=https", told("", "https")),
        ("for=9.9.9.9, for=unknown", told("", "http")),
        ("for=\"9.9.9.9", told("", "http")),
    ];
    for (line, wanted) in all {
        let line = format!("forwarded: {line}\r\n");
        site.check(cases(&wanted, [line.as_str()], get)).await;
    }
    for (lines, host) in [
        ("forwarded: for=9.9.9.9;host=o.test\r\n", "o.test"),
        (
            "forwarded: for=9.9.9.9;host=\"o.test:81\", for=127.0.0.9;host=i.test\r\n",
            "o.test:81",
        ),
        ("forwarded: for=9.9.9.9;host=\"o.test, x\"\r\n", "a.test"),
        (
            "forwarded: for=9.9.9.9;host=o.test\r\nx-forwarded-host: x.test\r\n",
            "x.test",
        ),
        (
            "x-forwarded-for: 9.9.9.9\r\nforwarded: for=6.6.6.6;host=o.test\r\n",
            "a.test",
        ),
    ] {
        let told = Passes(
            got()
                .field("x-forwarded-host", host)
                .field("host", "a.test"),
        );
        site.check(cases(&told, [lines], get)).await;
    }
    let both = ["x-forwarded-for: 9.9.9.9\r\nforwarded: for=6.6.6.6;proto=https\r\n"];
    site.check(cases(&told("9.9.9.9", "http"), both, get)).await;
}

// req: GW-12
// attack: H-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nobody_is_known_a_stranger_names_no_tenant_either() {
    let claims = ["x-tenant: acme\r\n", "X-Tenant: a\r\nx-tenant: b\r\n"];
    for trusted in ["", "trusted_hops = [\"10.0.0.0/8\"]\n"] {
        let site = Site::start(trusted, "").await;
        let unclaimed = Passes(got().without("x-tenant"));
        site.check(cases(&unclaimed, claims, get)).await;
    }
    let site = Site::start("trusted_hops = [\"127.0.0.0/8\"]\n", "").await;
    let believed = Passes(got().field("x-tenant", "acme"));
    site.check(cases(&believed, [claims[0]], get)).await;
}

// req: GW-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_known_of_a_trace_goes_on_with_it_and_not_without() {
    let site = Site::start("", "").await;
    let parent = "00-0123456789abcdeffedcba9876543211-0000000000000007-01";
    let both = [format!("traceparent: {parent}\r\ntracestate: a=1\r\n")];
    let kept = got()
        .field("traceparent", parent)
        .field("tracestate", "a=1");
    site.check(cases(&Passes(kept), both, get)).await;
    let alone = [
        "tracestate: a=1\r\n".to_owned(),
        "tracestate: a=1\r\ntracestate: b=2\r\n".to_owned(),
        "traceparent: junk\r\ntracestate: a=1\r\n".to_owned(),
        format!("traceparent: {parent}\r\ntraceparent: {parent}\r\ntracestate: a=1\r\n"),
    ];
    let gone = Passes(got().without("tracestate"));
    site.check(cases(&gone, alone, get)).await;
}
