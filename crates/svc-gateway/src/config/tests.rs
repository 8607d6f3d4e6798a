use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strict_config::{ConfigText, Report, SourceFile, Sources, load};

use super::*;

mod routes;

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(deny_unknown_fields, default)]
struct Root {
    /// The gateway.
    gateway: GatewayText,
}

impl ConfigText for Root {
    const ENV_PREFIX: &'static str = "TEST__";

    fn contradictions(&self, report: &mut Report) {
        report.within("gateway", |report| self.gateway.contradictions(report));
    }
}

fn mistakes(text: &str) -> String {
    let file = Some(SourceFile::new("test.toml", text));
    let sources = Sources {
        file,
        ..Sources::default()
    };
    load::<Root>(&sources).map_or_else(|mistakes| mistakes.to_string(), |_| String::new())
}

const TO: &str = "[gateway]\nto = 'http://127.0.0.1:9000'\n";

// req: GW-01
#[test]
fn two_lines_make_a_proxy() {
    assert_eq!(mistakes(TO), "");
}

#[test]
fn what_may_have_a_meaning_is_not_refused() {
    for text in [
        "routes = [{ upstream = 'main', regex = 'a?/b' }]",
        "routes = [{ upstream = 'main', regex = 'a|/b' }]",
        "routes = [{ upstream = 'main', regex = '.*' }]",
        "routes = [{ upstream = 'main', regex = '^/a$' }]",
        "routes = [{ upstream = 'main', headers = { 'acme.id' = '1' } }]",
        "identity.key_header = 'acme.key-id'",
        "policy.rules = [{ verdict = 'deny', methods = ['TRACE'] }]",
    ] {
        assert_eq!(mistakes(&format!("{TO}{text}\n")), "", "{text}");
    }
}

// attack: I-02, I-03
#[test]
fn what_contradicts_is_told_with_its_place_and_what_to_do() {
    let cases = [
        ("[gateway]", "nowhere to send requests"),
        ("[gateway]\nto = 'ftp://x'", "neither http nor https"),
        (
            "[gateway]\nto = 'http://a/path'",
            "neither path, query nor user",
        ),
        ("trusted_hops = ['10.0.0.0/99']", "is no network"),
        ("proxy_protocol = true", "set trusted_hops"),
        ("listen = []", "has no door"),
        (
            "listen = ['127.0.0.1:1', '127.0.0.1:1']",
            "listened on twice",
        ),
        ("identity.tenant_header = 'x-tenant'", "trusted hops only"),
        ("identity.tenant_header = 'x tenant'", "no header name"),
        (
            "identity.tenant_header = 'x_tenant'",
            "`x_tenant` is refused",
        ),
        (
            "identity.key_header = 'x.api.key'",
            "`x.api.key` is refused",
        ),
        ("identity.tenant_header = 'host'", "where a request goes"),
        ("identity.key_header = 'content-length'", "how it is framed"),
        (
            "identity.key_header = 'transfer-encoding'",
            "how it is framed",
        ),
        (
            "routes = [{ upstream = 'main', methods = ['GET', 'TRACE'] }]",
            "with TRACE is refused before any route",
        ),
        (
            "routes = [{ upstream = 'main', methods = ['CONNECT'] }]",
            "with CONNECT is refused before any route",
        ),
        (
            "routes = [{ upstream = 'main', headers = { a_b = '1' } }]",
            "`a_b` is refused before any route",
        ),
        (
            "routes = [{ upstream = 'main', regex = 'api/.*' }]",
            "begin it with a slash",
        ),
        ("identity.keys = [{ tenant = 'a', hash = 'x' }]", "71"),
        (
            "identity.passport = { root_key = 'short' }",
            "not 64 hexadecimal digits",
        ),
        (
            "identity.jwt = { issuer = 'a', audience = 'b' }",
            "set exactly one of them",
        ),
        (
            "identity.certificates = [{ subject = 'a', tenant = 'b' }]",
            "gateway.tls.client_certificates",
        ),
        (
            "queue = { items = 10, per_tenant = 11 }",
            "lower queue.per_tenant",
        ),
        ("routes = [{ upstream = 'nobody' }]", "no upstream `nobody`"),
        (
            "routes = [{ path = '/' }]",
            "one of upstream, split and redirect",
        ),
        (
            "routes = [{ path = '/', exact = '/', upstream = 'main' }]",
            "one of path, exact and regex",
        ),
        (
            "routes = [{ regex = '(', upstream = 'main' }]",
            "no regular expression",
        ),
        (
            "routes = [{ upstream = 'main', rewrite = 'x' }]",
            "does not begin at the root",
        ),
        (
            "routes = [{ upstream = 'main', regex = '/(a)', rewrite = '/$2' }]",
            "`/$2` names a group that is not there",
        ),
        (
            "routes = [{ upstream = 'main', set_request = { Connection = 'close' } }]",
            "about a connection",
        ),
        (
            "routes = [{ upstream = 'main', set_response = { content-length = '5' } }]",
            "about a connection",
        ),
        (
            "routes = [{ upstream = 'main', waiting = 3 }]",
            "set inflight too",
        ),
        (
            "routes = [{ redirect = '/x', redirect_status = 200 }]",
            "is no redirect",
        ),
        (
            "routes = [{ split = [{ upstream = 'main', weight = 0 }] }]",
            "raise a weight",
        ),
        (
            "routes = [{ name = 'a', upstream = 'main' }, { name = 'a', upstream = 'main' }]",
            "two routes are named `a`",
        ),
        (
            "upstreams.x = { endpoints = ['nonsense'] }",
            "http://host:port",
        ),
        (
            "upstreams.x = { endpoints = ['http://a'], weights = [1, 2] }",
            "as many weights as endpoints",
        ),
        (
            "upstreams.x = { endpoints = ['http://a'], limit = 5000 }",
            "above max_limit",
        ),
        (
            "upstreams.main = { endpoints = ['http://a'] }",
            "remove one of them",
        ),
        ("policy = { file = 'no-such-file.toml' }", "mend the rules"),
        (
            "policy.rules = [{ verdict = 'deny', routes = ['mian'] }, { verdict = 'allow' }]",
            "no route `mian`",
        ),
        ("identity.required = true", "no way to"),
        (
            "routes = [{ upstream = 'main', identity = true }]",
            "no way to",
        ),
        (
            "identity.passport = { root_key = 'short', key_id = 'a b' }",
            "cannot name a root key",
        ),
        (
            "identity.jwt = { issuer = 'a', audience = 'b', jwks_url = 'ftp://a/b' }",
            "write https://host/path",
        ),
        (
            "identity.jwt = { issuer = 'a', audience = 'b', jwks_url = 'keys.json' }",
            "write https://host/path",
        ),
        (
            "routes = [{ upstream = 'main', upstream_host = 'a b' }]",
            "`a b` is no host",
        ),
        (
            "routes = [{ upstream = 'main', redirect_status = 302 }]",
            "leave redirect_status out",
        ),
        (
            "routes = [{ redirect = '/x', rewrite = '/y' }]",
            "leave rewrite out",
        ),
        ("routes = [{ redirect = \"/a\\nb\" }]", "is no location"),
        ("routes = [{ redirect = '/x{pth}' }]", "filled in"),
        (
            "routes = [{ path = '/a?b', upstream = 'main' }]",
            "without query",
        ),
        (
            "routes = [{ exact = '/a b', upstream = 'main' }]",
            "blanks are %20",
        ),
        (
            "upstreams.x = { endpoints = ['http://a'], health = { path = '/a b' } }",
            "is no path that can be asked for",
        ),
        (
            "upstreams.x = { endpoints = ['http://a'], health = { path = 'a' } }",
            "is no path that can be asked for",
        ),
        (
            "upstreams.x = { endpoints = ['http://a'], balance = 'hash', hash_header = 'a b' }",
            "is no header name",
        ),
        (
            "upstreams.x = { endpoints = ['http://a'], hash_header = 'x-user' }",
            "leave hash_header out",
        ),
        ("tenants.a = { weight = 0 }", "out of range"),
        (
            "tls = { listen = ['127.0.0.1:2'], certificates = [{ cert = 'no.pem', key = 'no.pem' }] }",
            "no.pem",
        ),
    ];
    for (text, expected) in cases {
        let whole = match text.starts_with('[') {
            true => text.to_owned(),
            false => format!("{TO}{text}\n"),
        };
        let said = mistakes(&whole);
        assert!(said.contains(expected), "{text}\nsays: {said}");
        // What nobody wrote has no line; everything else has one.
        let placed = said.contains("test.toml:") || text == "[gateway]";
        assert!(placed, "{text}\nsays: {said}");
    }
}

// req: KN-13
#[test]
fn what_is_missing_is_told_where_it_would_have_to_be() {
    let section = mistakes("# Somewhere.\n[gateway]\nlisten = ['127.0.0.1:0']\n");
    let place = "test.toml:2:1: gateway.routes: the gateway has nowhere";
    assert!(section.starts_with(place), "{section}");
    let tls = "tls = { listen = ['127.0.0.1:0'] }\n";
    let inner = mistakes(&format!("{TO}{tls}"));
    assert!(inner.starts_with("test.toml:3:7: gateway.tls"), "{inner}");
}

// req: KN-13
#[test]
fn of_two_routes_of_one_name_the_later_is_told() {
    let route = |name: &str| format!("{{ name = '{name}', path = '/{name}', upstream = 'main' }}");
    let twice = format!(
        "{TO}routes = [{}, {}, {}]\n",
        route("a"),
        route("b"),
        "{ name = 'a', path = '/c', upstream = 'main' }"
    );
    let said = mistakes(&twice);
    assert!(said.contains("gateway.routes[2].name"), "{said}");
    assert!(said.contains("routes[0] is the other"), "{said}");
}

// req: KN-13
#[test]
fn a_route_that_gets_no_request_is_told_with_the_one_that_has_them() {
    let said = |first: &str, second: &str| {
        let route = |asks: &str| format!("{{ {asks}, upstream = 'main' }}");
        mistakes(&format!(
            "{TO}routes = [{}, {}]\n",
            route(first),
            route(second)
        ))
    };
    let unreachable = [
        ("path = '/a'", "path = '/a'"),
        ("exact = '/a'", "exact = '/a'"),
        ("regex = '/a.*'", "regex = '/a.*'"),
        ("path = '/'", "hosts = []"),
        ("hosts = ['b.c', 'a.c']", "hosts = ['A.c']"),
        ("methods = ['GET', 'HEAD']", "methods = ['HEAD']"),
        ("headers = { x = '*' }", "headers = { x = '1' }"),
        ("headers = { x = '1' }", "headers = { X = '1' }"),
    ];
    for (first, second) in unreachable {
        let said = said(first, second);
        assert!(
            said.contains("routes[0] has them all"),
            "{first}, {second}: {said}"
        );
        assert!(said.contains("test.toml:3"), "{first}, {second}: {said}");
    }
    let both = [
        ("path = '/a'", "path = '/a/'"),
        ("path = '/a'", "exact = '/a'"),
        ("path = '/a'", "path = '/a', methods = ['GET']"),
        (
            "path = '/a', headers = { x = '1' }",
            "path = '/a', methods = ['GET']",
        ),
        ("methods = ['HEAD']", "methods = ['GET', 'HEAD']"),
        ("headers = { x = '1' }", "headers = { x = '*' }"),
        ("hosts = ['a.c']", "hosts = ['a.c', 'b.c']"),
        ("hosts = ['*.c']", "hosts = ['a.c']"),
        ("path = '/'", "hosts = ['a.c']"),
    ];
    for (first, second) in both {
        assert_eq!(said(first, second), "", "{first}, {second}");
    }
}

// req: KN-13
#[test]
fn several_contradictions_are_told_at_once() {
    let text = format!(
        "{TO}proxy_protocol = true\nqueue = {{ items = 1, per_tenant = 2 }}\n\
         routes = [{{ upstream = 'a', rewrite = 'x' }}, {{ upstream = 'b', waiting = 1 }}, \
         {{ regex = '(', upstream = 'main', rewrite = '/$1' }}]\n"
    );
    let said = mistakes(&text);
    for part in [
        "set trusted_hops",
        "lower queue.per_tenant",
        "no upstream `a`",
        "does not begin at the root",
        "no upstream `b`",
        "set inflight too",
        "no regular expression",
    ] {
        assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
    }
}

// req: KN-13, GW-12
#[test]
fn a_credential_is_one_tenants_alone_and_the_tenant_can_be_one() {
    let hash = |digit: &str| format!("blake3:{}", digit.repeat(64));
    let key = |tenant: &str, hash: String| format!("{{ tenant = '{tenant}', hash = '{hash}' }}");
    let keys = |first: String, second: String| format!("{TO}identity.keys = [{first}, {second}]\n");
    let good = keys(key("a", hash("a")), key("a", hash("b")));
    assert_eq!(mistakes(&good), "");
    let twice = mistakes(&keys(key("a", hash("a")), key("b", hash("A"))));
    assert!(twice.contains("identity.keys[1].hash"), "{twice}");
    assert!(twice.contains("listed before"), "{twice}");
    let blank = mistakes(&keys(key("a", hash("a")), key("two words", hash("b"))));
    assert!(blank.contains("identity.keys[1].tenant"), "{blank}");
    assert!(blank.contains("cannot be a tenant"), "{blank}");
    let tagged = "{ tenant = 'a', tags = ['x,y'], hash = 'HASH' }".replace("HASH", &hash("c"));
    let tagged = mistakes(&keys(key("a", hash("a")), tagged));
    assert!(tagged.contains("cannot be a tag"), "{tagged}");
}

// req: KN-13, GW-13
#[test]
fn a_rule_is_about_routes_that_there_are_wherever_it_stands() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rules.toml");
    let rule = |name: &str| format!("[[rules]]\nverdict = 'deny'\nroutes = ['{name}']\n");
    let text = format!(
        "{TO}policy = {{ file = '{}' }}\n\
         routes = [{{ name = 'a', path = '/a', upstream = 'main' }}, {{ path = '/b', upstream = 'main' }}]\n",
        file.display()
    );
    for name in ["a", "route-1", "main"] {
        std::fs::write(&file, rule(name)).unwrap();
        assert_eq!(mistakes(&text), "", "{name}");
    }
    std::fs::write(&file, format!("{}{}", rule("a"), rule("b"))).unwrap();
    let said = mistakes(&text);
    for part in [
        "gateway.policy.file",
        "rule 2",
        "no route `b`",
        "a, route-1, main",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

// req: KN-13
#[test]
fn every_certificate_that_cannot_be_had_is_told() {
    let tls = "[gateway.tls]\nlisten = ['127.0.0.1:0']\ncertificates = [\n\
               { cert = '/nope/a.pem', key = '/nope/a.key' },\n\
               { cert = '/nope/b.pem', key = '/nope/b.key' },\n]\n";
    let said = mistakes(&format!("{TO}{tls}"));
    for file in ["/nope/a.pem", "/nope/b.pem"] {
        assert!(said.contains(file), "{said}");
    }
}

// req: KN-13
#[test]
fn every_bad_rule_is_told_with_its_place() {
    let rules = "[[gateway.policy.rules]]\nverdict = 'deny'\nmethods = ['get']\n\
                 [[gateway.policy.rules]]\nverdict = 'allow'\n\
                 [[gateway.policy.rules]]\nverdict = 'deny'\nhosts = ['https://x']\nroutes = ['nope']\n\
                 [[gateway.policy.rules]]\nverdict = 'deny'\ntenants = ['a b']\ntags = ['a,b']\n";
    let said = mistakes(&format!("{TO}{rules}"));
    for part in [
        "test.toml:5:11: gateway.policy.rules[0].methods: `get` is no method",
        "gateway.policy.rules[2].hosts: `https://x` is no host",
        "gateway.policy.rules[2].routes: there is no route `nope`",
        "test.toml:14:11: gateway.policy.rules[3].tenants: `a b` cannot be a tenant",
        "gateway.policy.rules[3].tags: `a,b` cannot be a tag",
    ] {
        assert!(said.contains(part), "{said}");
    }
}
