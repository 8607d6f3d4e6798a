//! The fields of requests: those that are there for HTTP/2 itself, and those that nobody may send.

use super::*;

const METHOD: (&str, &str) = (":method", "GET");
const SCHEME: (&str, &str) = (":scheme", "http");
const AUTHORITY: (&str, &str) = (":authority", "a");
const PATH: (&str, &str) = (":path", "/tell");

fn requests(fields: &[(&str, &str)]) -> Vec<u8> {
    whole(1, &block(fields))
}

#[tokio::test]
async fn a_request_has_each_pseudo_field_once_and_first() {
    let mut cases = Cases::default();
    let all = [METHOD, SCHEME, AUTHORITY, PATH];
    cases.answered("all of them", requests(&all)).tells(&[
        "method GET",
        "authority a",
        "path /tell",
    ]);
    let turned: Vec<_> = all.into_iter().rev().collect();
    cases
        .answered("in another order", requests(&turned))
        .tells(&["method GET", "path /tell"]);
    cases
        .answered(
            "no authority and no host",
            requests(&[METHOD, SCHEME, PATH]),
        )
        .or(Verdict::Blames);
    let host = requests(&[METHOD, SCHEME, PATH, ("host", "b")]);
    cases
        .answered("a host for an authority", host)
        .tells(&["authority b"]);
    let same = requests(&[METHOD, SCHEME, AUTHORITY, PATH, ("host", "a")]);
    cases
        .answered("a host like the authority", same)
        .tells(&["authority a"]);
    let other = requests(&[METHOD, SCHEME, AUTHORITY, PATH, ("host", "b")]);
    cases
        .malformed("a host unlike the authority", other)
        .or(Verdict::Says(200));
    for (at, (name, value)) in all.into_iter().enumerate() {
        let rest: Vec<_> = all.into_iter().filter(|field| field.0 != name).collect();
        if name != ":authority" {
            cases.malformed(&format!("no {name}"), requests(&rest));
            let empty = [&rest[..], &[(name, "")]].concat();
            cases.malformed(&format!("an empty {name}"), requests(&empty));
        }
        let twice = [&all[..], &[(name, value)]].concat();
        cases.malformed(&format!("{name} twice"), requests(&twice));
        let twice = [&all[..=at], &all[at..]].concat();
        cases.malformed(
            &format!("{name} twice, one behind another"),
            requests(&twice),
        );
        let late = [&rest[..], &[("x", "y"), (name, value)]].concat();
        cases.malformed(&format!("{name} behind a field"), requests(&late));
    }
    for (name, value) in [
        (":status", "200"),
        (":unknown", "x"),
        (":", "x"),
        (":protocol", "websocket"),
        (":host", "a"),
        (":Method", "GET"),
    ] {
        let fields = [&all[..], &[(name, value)]].concat();
        cases.malformed(&format!("{name} in a request"), requests(&fields));
        let fields = [&[(name, value)], &all[..]].concat();
        cases.malformed(&format!("{name} first in a request"), requests(&fields));
    }
    cases.malformed("no path and no authority", requests(&[METHOD, SCHEME]));
    cases.malformed("no scheme and no authority", requests(&[METHOD, PATH]));
    cases.malformed("nothing but a method", requests(&[METHOD]));
    cases.malformed("only fields", requests(&[("x", "y")]));
    cases.hold().await;
}

#[tokio::test]
async fn a_target_fits_its_method() {
    let mut cases = Cases::default();
    let with = |method: &'static str, path: &'static str| {
        requests(&[(":method", method), SCHEME, AUTHORITY, (":path", path)])
    };
    cases
        .answered("a query", with("GET", "/tell?a=b&c"))
        .tells(&["path /tell?a=b&c"]);
    cases
        .answered("a method of its own", with("BREW", "/tell"))
        .tells(&["method BREW"]);
    cases.answered("OPTIONS of all", with("OPTIONS", "*"));
    cases.malformed("GET of all", with("GET", "*"));
    cases.malformed("a path without a slash", with("GET", "tell"));
    cases.malformed("a query without a path", with("GET", "?a=b"));
    cases.malformed("a whole address", with("GET", "http://a/tell"));
    cases.malformed("a blank in a path", with("GET", "/te ll"));
    cases.malformed("a line end in a path", with("GET", "/tell\r\nx: y"));
    cases.malformed("a zero in a path", with("GET", "/te\0ll"));
    cases.malformed("a blank in a method", with("GE T", "/tell"));
    cases.malformed(
        "a line end in a method",
        with("GET / HTTP/1.1\r\nx: y", "/tell"),
    );
    let scheme = |scheme| requests(&[METHOD, (":scheme", scheme), AUTHORITY, PATH]);
    cases.answered("https", scheme("https"));
    cases.malformed("a scheme that is none", scheme("ht tp"));
    let authority = |authority| requests(&[METHOD, SCHEME, (":authority", authority), PATH]);
    cases
        .answered("a port", authority("a:8080"))
        .tells(&["authority a:8080"]);
    cases
        .answered("an address", authority("[::1]:80"))
        .tells(&["authority [::1]:80"]);
    cases.malformed("a blank in an authority", authority("a b"));
    cases.malformed("a path in an authority", authority("a/b"));
    cases.malformed("a line end in an authority", authority("a\r\nb: c"));
    let connect = (":method", "CONNECT");
    let server = (":authority", "a:443");
    // A service that opens no tunnels says so; what it says is up to it.
    let tunnel = requests(&[connect, server]);
    let case = cases.answered("CONNECT", tunnel);
    case.or(Verdict::Blames)
        .or(Verdict::Says(501))
        .or(Verdict::Resets(CANCEL));
    cases.malformed("CONNECT with a path", requests(&[connect, server, PATH]));
    cases.malformed(
        "CONNECT with a scheme",
        requests(&[connect, server, SCHEME]),
    );
    cases.malformed(
        "CONNECT with both",
        requests(&[connect, server, SCHEME, PATH]),
    );
    cases.malformed("CONNECT to nobody", requests(&[connect]));
    let extended = [connect, (":protocol", "websocket"), SCHEME, AUTHORITY, PATH];
    cases.malformed("CONNECT of a protocol nobody offered", requests(&extended));
    cases.hold().await;
}

#[tokio::test]
async fn what_no_field_may_be_is_refused() {
    let mut cases = Cases::default();
    let with = |extra: Vec<u8>| whole(1, &[telling(&[]), extra].concat());
    let (one, two) = ([field("x", "y")].concat(), field("x", "z"));
    let several = with([one, two].concat());
    cases
        .answered("several of a name", several)
        .tells(&["field x: y", "field x: z"]);
    cases
        .answered("an empty value", with(field("x", "")))
        .tells(&["field x: "]);
    cases
        .answered("te of trailers", with(field("te", "trailers")))
        .tells(&["field te: trailers"]);
    for value in ["gzip", "trailers, deflate;q=0.5", "chunked", ""] {
        cases.malformed(&format!("te of {value:?}"), with(field("te", value)));
    }
    for (name, value) in [
        ("connection", "close"),
        ("connection", "keep-alive"),
        ("connection", "x"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("transfer-encoding", "chunked"),
        ("transfer-encoding", "identity"),
        ("upgrade", "websocket"),
    ] {
        cases.malformed(&format!("{name}: {value}"), with(field(name, value)));
    }
    let stored = [vec![0x40 | 57], text(b"chunked")].concat();
    cases.malformed("transfer-encoding by its index", with(stored));
    for name in [
        "X-Upper", "uPper", "uppeR", "", "a b", "a:b", "a\0", "a\r\nb", "a\x7f", "a\tb",
    ] {
        cases.malformed(&format!("the name {name:?}"), with(field(name, "y")));
    }
    let high = [&[0, 2, b'a', 0xe9][..], &text(b"y")].concat();
    cases.malformed("a name beyond ASCII", with(high));
    for value in ["a\0b", "\0", "a\rb", "a\nb", "a\r\nx: y", "\n", "a\r"] {
        cases.malformed(&format!("the value {value:?}"), with(field("x", value)));
    }
    for value in [" a", "a ", "\ta", "a\t", " "] {
        cases.malformed(&format!("the value {value:?}"), with(field("x", value)));
    }
    cases
        .answered("blanks within a value", with(field("x", "a b\tc")))
        .tells(&["field x: a b\tc"]);
    cases
        .answered("a value beyond ASCII", with(field("x", [b'a', 0xe9])))
        .tells(&["field x: a\u{fffd}"]);
    let never = [vec![0x10], text(b"x"), text(b"secret")].concat();
    cases
        .answered("a field nobody may keep", with(never))
        .tells(&["field x: secret"]);
    cases.hold().await;
}

#[tokio::test]
async fn crumbs_of_a_cookie_reach_the_service_whole() {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    let crumbs = telling(&[
        ("cookie", "a=b"),
        ("x", "y"),
        ("cookie", "c=d"),
        ("cookie", "e=f"),
    ]);
    peer.send(&whole(1, &crumbs)).await;
    let told = peer.answer(1).await.text();
    let lines = told
        .lines()
        .filter_map(|line| line.strip_prefix("field cookie: "));
    assert_eq!(
        lines.collect::<Vec<_>>().join("; "),
        "a=b; c=d; e=f",
        "{told}"
    );
    assert!(told.contains("field x: y\n"), "{told}");
}
