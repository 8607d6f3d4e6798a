//! HTTP/2 that no request may be, or that would be another one in HTTP/1: reset or refused, never sent on.

use Came::{End, Reset};
use e2e::site::{Site, meant};
use e2e::streams::{Came, Case, WHOLE, data, fields, get, no, passes, post, refused};
use testkit::frames::kind::HEADERS;
use testkit::frames::{END_STREAM, PADDED, frame};

const PROTOCOL_ERROR: u32 = 1;
const COMPRESSION_ERROR: u32 = 9;

const M: &str = ":method=GET";
const S: &str = ":scheme=http";
const P: &str = ":path=/t";
const A: &str = ":authority=a.test";

fn head(lines: &[&str]) -> Vec<u8> {
    frame(HEADERS, WHOLE, 1, &fields(lines))
}

// req: GW-15
// attack: B-17, B-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_has_each_pseudo_field_once_and_before_all_others() {
    let site = Site::start("", "").await;
    let ends = [
        Reset(PROTOCOL_ERROR),
        End(PROTOCOL_ERROR),
        no(400, "bad-target"),
        no(400, "host-missing"),
    ];
    let heads: [&[&str]; 28] = [
        &[S, P, A],
        &[M, P, A],
        &[M, S, A],
        &[M, S, P],
        &[M, M, S, P, A],
        &[M, S, S, P, A],
        &[M, S, P, ":path=/evil", A],
        &[M, S, P, A, ":authority=evil"],
        &[M, S, P, "x=y", A],
        &[M, S, P, A, ":evil=y"],
        &[M, S, P, A, ":status=200"],
        &[M, S, P, A, ":protocol=websocket"],
        &[M, S, ":path=", A],
        &[M, S, ":path=t", A],
        &[M, S, ":path=*", A],
        &[M, S, ":path=/t HTTP/1.1", A],
        &[M, S, ":path=/t HTTP/1.1\r\nhost: evil\r\n\r\nGET /evil", A],
        &[M, S, ":path=/t\nx-evil: y", A],
        &[M, S, ":path=http://evil/t", A],
        &[":method=GET / HTTP/1.1\r\nx-evil: y\r\n\r\nGET", S, P, A],
        &[":method=GET /evil", S, P, A],
        &[":method=", S, P, A],
        &[M, ":scheme=", P, A],
        &[M, ":scheme=http://evil/?", P, A],
        &[M, S, P, ":authority=a.test\r\nx-evil: y"],
        &[M, S, P, ":authority=a.test evil"],
        &[M, S, P, ":authority=a.test/evil"],
        &[M, S, P, ":authority="],
    ];
    let names = heads.map(|lines| lines.join(" "));
    let cases = heads.iter().zip(&names);
    let cases: Vec<Case<'_>> = cases
        .map(|(lines, name)| (&**name, head(lines), &ends[..]))
        .collect();
    refused(&site, &cases).await;
}

// req: GW-15
// attack: B-18, B-19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_that_would_be_more_than_a_line_or_about_the_connection_never_go_on() {
    let site = Site::start("", "").await;
    let ends = [
        Reset(PROTOCOL_ERROR),
        End(PROTOCOL_ERROR),
        End(COMPRESSION_ERROR),
    ];
    let lines = [
        "x=a\r\nx-evil: b",
        "x=a\nx-evil: b",
        "x=a\rb",
        "x=a\0b",
        "x=\r\n\r\nGET /evil HTTP/1.1",
        "X=capital",
        "x-Evil=capital",
        "x y=blank",
        "x:=colon",
        "x: y=colon",
        "x\r\nx-evil: y=line",
        "=empty",
        "x\0=zero",
        " x=blank before",
        "x =blank behind",
        "x\x7f=delete",
        "x-\u{e9}=latin",
        "connection=close",
        "connection=x-evil",
        "keep-alive=1",
        "proxy-connection=close",
        "transfer-encoding=chunked",
        "transfer-encoding=identity",
        "upgrade=h2c",
        "te=gzip",
        "te=trailers, chunked",
    ];
    let cases: Vec<Case<'_>> = lines
        .iter()
        .map(|line| (*line, get(&[line]), &ends[..]))
        .collect();
    refused(&site, &cases).await;
}

// req: GW-15
// attack: B-17, A-35, A-36, A-38, A-40, A-41, A-46, A-51
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_in_http_1_is_refused_in_http_2_by_the_same_reason() {
    let site = Site::start("", "").await;
    let lines: [(&[&str], u16, &str); 18] = [
        (&[M, S, P, A, "host=evil"], 400, "authority-mismatch"),
        (&[M, S, P, A, "host=a.test:81"], 400, "authority-mismatch"),
        (
            &[M, S, P, A, "host=a.test", "host=a.test"],
            400,
            "host-repeated",
        ),
        (&[M, S, P, A, "host=a.test, evil"], 400, "host-invalid"),
        (&[M, S, P, ":authority=u@a.test"], 400, "userinfo-in-target"),
        (&[M, S, P, ":authority=a,b"], 400, "host-invalid"),
        (&[":method=TRACE", S, P, A], 405, "trace-not-allowed"),
        (&[":method=trace", S, P, A], 405, "trace-not-allowed"),
        (
            &[":method=CONNECT", ":authority=a.test:443"],
            405,
            "connect-not-allowed",
        ),
        (&[M, S, P, A, "expect=x"], 417, "unknown-expectation"),
        (
            &[M, S, P, A, "x_tenant=x"],
            400,
            "underscore-in-header-name",
        ),
        (&[M, S, ":path=/../t", A], 400, "path-dot-segment"),
        (&[M, S, ":path=/%2e%2e/t", A], 400, "path-dot-segment"),
        (&[M, S, ":path=/..;/t", A], 400, "path-dot-segment"),
        (&[M, S, ":path=/%00", A], 400, "path-control"),
        (&[M, S, ":path=/a%0d%0ab", A], 400, "path-control"),
        (&[M, S, ":path=/a\\b", A], 400, "path-backslash"),
        (&[M, S, ":path=/%zz", A], 400, "path-escape"),
    ];
    for (lines, status, reason) in lines {
        // The codec may be stricter, and end the stream before anybody is asked.
        let ends = [no(status, reason), Reset(PROTOCOL_ERROR)];
        refused(&site, &[(&lines.join(" "), head(lines), &ends)]).await;
    }
}

// req: GW-14, GW-15
// attack: B-18, B-19, B-20, A-10, A-33
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_one_request_in_http_2_is_the_same_one_in_http_1() {
    let site = Site::start("", "").await;
    let got = || {
        let plain = meant("GET", "/t").field("host", "a.test");
        plain.without("transfer-encoding").without("te")
    };
    let heads: [&[&str]; 4] = [
        &[M, S, P, A, "x-case=1"],
        &[M, S, P, A, "x-case=1", "host=a.test"],
        &[M, S, P, "host=a.test", "x-case=1"],
        &[M, S, P, A, "x-case=1", "y=GET /evil HTTP/1.1"],
    ];
    for lines in heads {
        passes(&site, &head(lines), got()).await;
    }
    let trailers = meant("GET", "/t").field("te", "trailers");
    passes(&site, &get(&["x-case=1", "te=trailers"]), trailers).await;
    let crumbs = get(&["x-case=1", "cookie=a=b", "cookie=c=d"]);
    passes(&site, &crumbs, got().field("cookie", "a=b; c=d")).await;

    let posted = |body: &[u8]| meant("POST", "/t").field("host", "a.test").body(body);
    let hello = posted(b"hello").without("content-length");
    let end = [data(END_STREAM, b"hello")];
    passes(&site, &post(&["x-case=1"], &end), hello.clone()).await;
    let sized = posted(b"hello").field("content-length", "5");
    let length = ["x-case=1", "content-length=5"];
    passes(
        &site,
        &post(&length, &end),
        sized.without("transfer-encoding"),
    )
    .await;
    let inner = b"0\r\n\r\nGET /evil HTTP/1.1\r\nhost: evil\r\n\r\n";
    let smuggled = [data(END_STREAM, inner)];
    passes(&site, &post(&["x-case=1"], &smuggled), posted(inner)).await;
    let sum = fields(&["x-sum=1", "content-length=50", "host=evil", "x-evil=y"]);
    let bodies = [
        vec![data(0, b"he"), data(0, b"llo"), data(END_STREAM, b"")],
        vec![data(PADDED | END_STREAM, b"\x03hello\0\0\0")],
        vec![data(0, b"hello"), frame(HEADERS, WHOLE, 1, &sum)],
    ];
    for body in bodies {
        passes(&site, &post(&["x-case=1"], &body), hello.clone()).await;
    }
}
