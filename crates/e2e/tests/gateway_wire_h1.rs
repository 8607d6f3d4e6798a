//! HTTP/1 that means two things: refused, or sent on as the one thing it means, byte for byte at the origin.

use Wanted::{Broken, Passes, PassesLast, Refused};
use e2e::site::{Meant, Site, Wanted, cases, meant, request};

const MALFORMED: Wanted = Refused(400, "malformed");
const ALIAS: Wanted = Refused(400, "underscore-in-header-name");
const TE: Wanted = Refused(400, "bad-transfer-encoding");
const CL: Wanted = Refused(400, "bad-content-length");
const BROKEN: Wanted = Broken(400, "body-broken");

fn got() -> Meant {
    meant("GET", "/t")
}

fn posted(body: &str) -> Meant {
    meant("POST", "/t").body(body)
}

fn get(lines: &str) -> Vec<u8> {
    request("GET", "/t", lines, "")
}

fn post(lines: &str, body: &str) -> Vec<u8> {
    request("POST", "/t", lines, body)
}

// req: GW-15
// attack: A-01, A-02, A-03, A-04, A-05, A-06, A-07, A-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_encoding_is_one_plain_word_or_an_error() {
    let site = Site::start("", "").await;
    let chunks = |lines: &str| post(lines, "5\r\nhello\r\n0\r\n\r\n");
    let plain = || posted("hello").without("content-length");
    let good = [
        "Transfer-Encoding: chunked\r\n",
        "TRANSFER-ENCODING: CHUNKED\r\n",
        "transfer-encoding: \t chunked \t \r\n",
        "transfer-encoding:chunked\r\n",
        "connection: transfer-encoding\r\ntransfer-encoding: chunked\r\n",
        "te: gzip, chunked\r\ntransfer-encoding: chunked\r\n",
    ];
    site.check(cases(&Passes(plain()), good, chunks)).await;
    let both = [
        "content-length: 4\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 4\r\n",
        "content-length: 0\r\ntransfer-encoding: chunked\r\n",
        "Transfer-Encoding: Chunked\r\nx: y\r\ncontent-length: 400\r\n",
        "connection: content-length\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n",
    ];
    site.check(cases(&PassesLast(plain()), both, chunks)).await;
    let several = [
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: cow\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding:\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked, chunked\r\n",
        "transfer-encoding: identity, chunked\r\n",
        "transfer-encoding: gzip, chunked\r\n",
        "transfer-encoding: ,chunked\r\n",
        "transfer-encoding: , chunked\r\n",
        "transfer-encoding: \t,\tchunked\r\n",
    ];
    site.check(cases(&TE, several, chunks)).await;
    let none = [
        "transfer-encoding: chunked\r\ntransfer-encoding: cow\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding:\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding: chunked,\r\n",
        "transfer-encoding: identity\r\n",
        "transfer-encoding:\r\n",
        "transfer-encoding: cow\r\n",
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding: chunkedx\r\n",
        "transfer-encoding: \"chunked\"\r\n",
        "transfer-encoding: chunked;q=1\r\n",
        "transfer-encoding: chunked;\r\n",
        "transfer-encoding: chun\tked\r\n",
        "transfer-encoding: \x0bchunked\r\n",
        "transfer-encoding: chunked\x0b\r\n",
        "transfer-encoding: chunked\x0c\r\n",
        "transfer-encoding: chunked\0\r\n",
        "transfer-encoding: chunked\x08\r\n",
        "transfer-encoding: chunked\r\r\n",
        "transfer-encoding: chunked\u{a0}\r\n",
        "transfer-encoding: chunke\u{212a}\r\n",
        "transfer-encoding : chunked\r\n",
        "transfer-encoding\t: chunked\r\n",
        "transfer-encoding\0: chunked\r\n",
        "transfer-encoding\x0b: chunked\r\n",
        "transfer\u{ad}encoding: chunked\r\n",
        "x: y\r\n transfer-encoding: chunked\r\n",
        "transfer-encoding:\r\n chunked\r\n",
        "transfer-encoding\r\n: chunked\r\n",
        "x: y\ntransfer-encoding: chunked\r\n",
        "x: y\rtransfer-encoding: chunked\r\n",
        "content-length: 4x\r\ntransfer-encoding: chunked\r\n",
    ];
    site.check(cases(&MALFORMED, none, chunks)).await;
    site.check(cases(&ALIAS, ["transfer_encoding: chunked\r\n"], chunks))
        .await;
    let old = |lines: &str| {
        let sent = String::from_utf8(chunks(lines)).unwrap();
        sent.replace("HTTP/1.1", "HTTP/1.0").into_bytes()
    };
    let lines = [
        "transfer-encoding: chunked\r\n",
        "connection: keep-alive\r\ntransfer-encoding: chunked\r\n",
        "content-length: 15\r\ntransfer-encoding: chunked\r\n",
    ];
    site.check(cases(&MALFORMED, lines, old)).await;
}

// req: GW-15
// attack: A-09, A-10, A-11, A-12, A-13, A-14, A-15, A-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_content_length_is_one_plain_number_or_an_error() {
    let site = Site::start("", "").await;
    let hello = |lines: &str| post(lines, "hello");
    let good = [
        "Content-Length: 5\r\n",
        "content-length: \t5 \t\r\n",
        "content-length:5\r\n",
        "content-length: 5\r\nContent-Length: 5\r\n",
        "content-length: 5\r\nx: y\r\ncontent-length: 5\r\ncontent-length: 5\r\n",
        "connection: content-length\r\ncontent-length: 5\r\n",
    ];
    let five = Passes(posted("hello").field("content-length", "5"));
    site.check(cases(&five, good, hello)).await;
    let zeros = [
        "content-length: 05\r\n",
        "content-length: 0005\r\n",
        "content-length: 000000000000000000000000000005\r\n",
    ];
    site.check(cases(&CL, zeros, hello)).await;
    let bad = [
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: 0\r\ncontent-length: 5\r\n",
        "content-length: 5\r\ncontent-length: +5\r\n",
        "content-length: 5\r\ncontent-length:\r\n",
        "content-length: 5, 5\r\n",
        "content-length: 5,5\r\n",
        "content-length: 5,\r\n",
        "content-length: ,5\r\n",
        "content-length: 5 5\r\n",
        "content-length: 5\t5\r\n",
        "content-length: +5\r\n",
        "content-length: -5\r\n",
        "content-length: -0\r\n",
        "content-length: 0x5\r\n",
        "content-length: 0b101\r\n",
        "content-length: 5h\r\n",
        "content-length: 5.0\r\n",
        "content-length: 5e0\r\n",
        "content-length: 0_5\r\n",
        "content-length: \"5\"\r\n",
        "content-length:\r\n",
        "content-length: \t \r\n",
        "content-length: 5;\r\n",
        "content-length: chunked\r\n",
        "content-length: \u{ff15}\r\n",
        "content-length: \x0b5\r\n",
        "content-length: 5\0\r\n",
        "content-length: 18446744073709551616\r\n",
        "content-length: 18446744073709551621\r\n",
        "content-length: 5\r\ncontent-length: 05\r\n",
        "content-length: 05\r\ncontent-length: 5\r\n",
        "content-length : 5\r\n",
        "content-length: 5\r\n 0\r\n",
        "content-length:\r\n\t5\r\n",
        "x: y\ncontent-length: 5\r\n",
    ];
    site.check(cases(&MALFORMED, bad, hello)).await;
    site.check(cases(&ALIAS, ["content_length: 5\r\n"], hello))
        .await;
    let most = ["content-length: 18446744073709551615\r\n"];
    site.check(cases(&Refused(431, "head-too-large"), most, hello))
        .await;
    let much = [
        "content-length: 9223372036854775808\r\n",
        "content-length: 4294967301\r\n",
    ];
    site.check(cases(&Refused(413, "body-too-large"), much, hello))
        .await;
    for method in ["GET", "HEAD", "DELETE", "OPTIONS", "PUT", "PATCH", "PURGE"] {
        let sent = |method: &str| request(method, "/t", "content-length: 5\r\n", "hello");
        let whole = Passes(meant(method, "/t").body("hello"));
        site.check(cases(&whole, [method], sent)).await;
        let nothing = |method: &str| request(method, "/t", "content-length: 0\r\n", "");
        site.check(cases(&Passes(meant(method, "/t")), [method], nothing))
            .await;
    }
}

// req: GW-15
// attack: A-17, A-18, A-19, A-20, A-21, A-22, A-23, A-24, A-25, A-51
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_is_a_name_a_colon_and_a_value_or_an_error() {
    let site = Site::start("", "").await;
    let good = [
        "y: caf\u{e9}\r\n",
        "meta.-09az: 1\r\n",
        "y: a\r\nY: b\r\n",
        "y: GET /evil HTTP/1.1\r\n",
        "y: a,\t\"b\"\r\n",
    ];
    site.check(cases(&Passes(got()), good, get)).await;
    for (line, value) in [
        ("x: a\tb\r\n", "a\tb"),
        ("x:\r\n", ""),
        ("X:a: b \r\n", "a: b"),
    ] {
        let same = Passes(got().field("x", value));
        site.check(cases(&same, [line], get)).await;
    }
    let bad = [
        "x : y\r\n",
        "x\t: y\r\n",
        " x: y\r\n",
        "\tx: y\r\n",
        "x: y\r\n z\r\n",
        "x: y\r\n\tz\r\n",
        "x: y\r\n \r\n",
        "x: y\nz: w\r\n",
        "x: y\n",
        "x: y\n\n",
        "x: y\r\n\n",
        "\n",
        "x: a\rb\r\n",
        "x: a\rz: b\r\n",
        "x\ry: a\r\n",
        "x: a\r\r\n",
        "\r",
        "x: a\0b\r\n",
        "x: \0\r\n",
        "x\0: a\r\n",
        "x: a\x07b\r\n",
        "x: a\x1bb\r\n",
        "x: a\x0bb\r\n",
        "x: a\x7fb\r\n",
        "x\u{e9}: a\r\n",
        "\u{feff}x: a\r\n",
        ": a\r\n",
        " : a\r\n",
        ":\r\n",
        "nothing\r\n",
        "GET /evil HTTP/1.1\r\n",
        "x y: a\r\n",
        "x\x7f: a\r\n",
    ];
    site.check(cases(&MALFORMED, bad, get)).await;
    let names = [
        "x@y", "x/y", "x(y)", "x\"y", "x{y}", "x[y]", "x,y", "x;y", "x=y", "x?y", "x<y>", "x\\y",
    ];
    let named = |name: &str| get(&format!("{name}: a\r\n"));
    site.check(cases(&MALFORMED, names, named)).await;
    let aliases = [
        "X_Tenant",
        "x_forwarded_for",
        "X-Forwarded_For",
        "_",
        "x_",
        "content_type",
    ];
    site.check(cases(&ALIAS, aliases, named)).await;
    let others = [
        "X.Tenant",
        "x!tenant",
        "X-Forwarded.For",
        "content.type",
        "!#$%&'*+-.^`|~",
    ];
    let alias = Refused(400, "header-name-alias");
    site.check(cases(&alias, others, named)).await;
}

// req: GW-15
// attack: A-19, A-39
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_line_is_three_words_or_an_error() {
    let site = Site::start("", "").await;
    let bad = [
        "GET /t\r\n",
        "GET /t \r\nhost: a.test\r\n\r\n",
        "GET\r\nhost: a.test\r\n\r\n",
        "GET HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/1.2\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/2.0\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/0.9\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/1.10\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/01.1\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/1\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/1.1.1\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP 1.1\r\nhost: a.test\r\n\r\n",
        "GET /t http/1.1\r\nhost: a.test\r\n\r\n",
        "GET /t ICY/1.1\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/1.1 \r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/1.1\t\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/1.1 HTTP/1.1\r\nhost: a.test\r\n\r\n",
        " GET /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "GET  /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "GET /t  HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "GET\t/t\tHTTP/1.1\r\nhost: a.test\r\n\r\n",
        "GET\x0b/t\x0bHTTP/1.1\r\nhost: a.test\r\n\r\n",
        "GET /t t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "GET /t\tt HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "GET /t HTTP/1.1\nhost: a.test\r\n\r\n",
        "GET /t HTTP/1.1\nhost: a.test\n\n",
        "GET /t HTTP/1.1\r\nhost: a.test\n\n",
        "GET /t HTTP/1.1\rhost: a.test\r\n\r\n",
        "GET /t HTTP/1.1\r\r\nhost: a.test\r\n\r\n",
        "\nGET /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "\rGET /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "\0GET /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "G\x01T /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "G\u{e9}T /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "GET: /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "GET,POST /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "x: y\r\nGET /t HTTP/1.1\r\nhost: a.test\r\n\r\n",
        "\x16\x03\x01\x02\0\x01\0\x01\r\n\r\n",
        "PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n",
        "HTTP/1.1 200 OK\r\nhost: a.test\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n",
    ];
    let as_is = |text: &str| text.as_bytes().to_vec();
    site.check(cases(&MALFORMED, bad, as_is)).await;
    let empty = ["\r\nGET /t HTTP/1.1\r\nhost: a.test\r\n\r\n"];
    site.check(cases(&Passes(got()), empty, as_is)).await;
    for method in [
        "PURGE",
        "M-SEARCH",
        "X!#$%&'*+.^`|~",
        "LONGLONGLONGLONGLONGLONG",
    ] {
        let sent = |method: &str| request(method, "/t", "", "");
        site.check(cases(&Passes(meant(method, "/t")), [method], sent))
            .await;
    }
}

// req: GW-15
// attack: A-26, A-27, A-28, A-29, A-30, A-31, A-32, A-33
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chunks_are_counted_and_written_anew_or_the_body_is_broken() {
    let site = Site::start("", "").await;
    let chunks = |body: &str| post("transfer-encoding: chunked\r\ntrailer: x-sum\r\n", body);
    let good = [
        "5\r\nhello\r\n0\r\n\r\n",
        "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n",
        "0005\r\nhello\r\n000\r\n\r\n",
        "5;a=b\r\nhello\r\n0;c\r\n\r\n",
        "5;a=\"b;c\"\r\nhello\r\n0\r\n\r\n",
        "5;\r\nhello\r\n0;\r\n\r\n",
        "5 ;a\r\nhello\r\n0\r\n\r\n",
        "5 \t\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n",
        "5\r\nhello\r\n0\r\ncontent-length: 50\r\n\r\n",
        "5\r\nhello\r\n0\r\nHost: evil.test\r\n\r\n",
        "5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "5\r\nhello\r\n0\r\nAuthorization: a\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n",
        "5\r\nhello\r\n0\r\nX_Sum: 1\r\nconnection: close\r\n\r\n",
    ];
    let hello = Passes(posted("hello").without("content-length"));
    site.check(cases(&hello, good, chunks)).await;
    let inner = Passes(posted("\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"));
    let end = ["1d\r\n\r\n0\r\n\r\nGET /evil HTTP/1.1\r\n\r\n\r\n0\r\n\r\n"];
    site.check(cases(&inner, end, chunks)).await;
    let capitals = ["A\r\n0123456789\r\n0\r\n\r\n"];
    site.check(cases(&Passes(posted("0123456789")), capitals, chunks))
        .await;
    let nothing = ["0\r\n\r\n", "0;x=y\r\n\r\n"];
    site.check(cases(&Passes(posted("")), nothing, chunks))
        .await;
    let long = format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(20_000));
    let bad = [
        &*long,
        "0x5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "0_5\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        " \r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "\t5\r\nhello\r\n0\r\n\r\n",
        "5 5\r\nhello\r\n0\r\n\r\n",
        ";a\r\nhello\r\n0\r\n\r\n",
        "g\r\nhello\r\n0\r\n\r\n",
        "5,5\r\nhello\r\n0\r\n\r\n",
        "5\x0b\r\nhello\r\n0\r\n\r\n",
        "5\0\r\nhello\r\n0\r\n\r\n",
        "\u{ff15}\r\nhello\r\n0\r\n\r\n",
        "10000000000000000\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\rhello\r\n0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello\r0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\r\n0\n\n",
        "5\r\nhello\r\n0\n\r\n",
        "5\r\nhello\r\n0\r\n\n",
        "5\r\nhello!\r\n0\r\n\r\n",
        "6\r\nhello\r\n0\r\n\r\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "5;a\rb\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nnothing\r\n\r\n",
        "5\r\nhello\r\n0\r\n x: y\r\n\r\n",
        "5\r\nhello\r\n0\r\nx : y\r\n\r\n",
        "5\r\nhello\r\n0\r\nx: y\nz: w\r\n\r\n",
    ];
    site.check(cases(&BROKEN, bad, chunks)).await;
}
