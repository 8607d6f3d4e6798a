//! Tiles, TileJSON and the list of packs, over real sockets: what is asked for is what comes, in the form that was
//! asked for, or not again.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::io::{Read, Write};

use e2e::edge::{Edge, picture};
use e2e::gateway::assert_refusal;
use e2e::packfile::PackFile;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use testkit::http::Response;

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn gunzip(coded: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(coded).read_to_end(&mut plain).unwrap();
    plain
}

fn brotli(plain: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut coded, 4096, 5, 22);
    encoder.write_all(plain).unwrap();
    drop(encoder);
    coded
}

/// What a vector tile might hold.
fn geometry() -> Vec<u8> {
    (0..3000_u32).flat_map(|n| (n * n).to_le_bytes()).collect()
}

/// Packs of vector tiles in every coding.
fn vectors() -> Vec<(&'static str, Vec<u8>)> {
    let plain = geometry();
    let zstd = zstd::bulk::compress(&plain, 3).unwrap();
    let packs = [
        ("plain.pmtiles", 1, plain.clone()),
        ("gzip.pmtiles", 2, gzip(&plain)),
        ("brotli.pmtiles", 3, brotli(&plain)),
        ("zstd.pmtiles", 4, zstd),
    ];
    let packs = packs
        .into_iter()
        .map(|(name, coding, tile)| (name, PackFile::vectors(coding).tile(0, 0, 0, &tile).bytes()));
    packs.collect()
}

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.header(name).unwrap_or("")
}

// req: ED-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tile_is_the_packs_own_and_where_there_is_none_nothing_comes() {
    let edge = Edge::start(&[("p.pmtiles", picture(7))], "").await;
    for (path, last) in [
        ("/tiles/p/0/0/0", 0),
        ("/tiles/p/1/0/0.png", 1),
        ("/tiles/p/1/1/0.png", 2),
        ("/tiles/p/1/0/1", 3),
        ("/tiles/p/1/1/1.png?v=2", 4),
    ] {
        let answer = edge.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(header(&answer, "content-type"), "image/png");
        assert_eq!(answer.body.len(), 2001);
        assert_eq!((answer.body[0], answer.body[2000]), (7, last), "{path}");
    }
    let absent = edge.get("/tiles/p/2/0/0.png").await;
    assert_eq!((absent.status, absent.body.len()), (204, 0));
    edge.end().await;
}

// req: ED-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_long_a_tile_may_be_kept_follows_the_config() {
    let edge = Edge::start(&[("p.pmtiles", picture(7))], "").await;
    let kept = async || {
        let answer = edge.get("/tiles/p/0/0/0").await;
        header(&answer, "cache-control").to_owned()
    };
    assert_eq!(kept().await, "public, max-age=300");
    edge.reload("max_age_s = 7\n").await;
    assert_eq!(kept().await, "public, max-age=7");
    edge.end().await;
}

// req: ED-01
// attack: L-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_where_no_tile_can_be_is_refused() {
    let edge = Edge::start(&[("p.pmtiles", picture(7))], "").await;
    for path in [
        "/tiles/p/32/0/0",
        "/tiles/p/256/0/0",
        "/tiles/p/-1/0/0",
        "/tiles/p/01/0/0",
        "/tiles/p/1/2/0",
        "/tiles/p/1/0/4294967296",
        "/tiles/p/1/0/18446744073709551616",
        "/tiles/p/1/0/x",
        "/tiles/p/1/0/0%00.css",
        "/tiles/p/1/0/0;x.css",
    ] {
        let answer = edge.get(path).await;
        let reason = header(&answer, "x-macronode-reason");
        assert_eq!(answer.status, 400, "{path}: {reason}");
    }
    for (path, reason) in [
        ("/tiles/other/0/0/0", "unknown-pack"),
        ("/tiles/other.json", "unknown-pack"),
        ("/packs/other", "unknown-pack"),
        ("/preview/other", "unknown-pack"),
        ("/tiles/p/0/0/0.css", "tile-kind"),
        ("/tiles/p/0/0/0.mvt", "tile-kind"),
        ("/nothing", "not-found"),
        ("/", "not-found"),
    ] {
        assert_refusal(&edge.get(path).await, 404, reason);
    }
    edge.end().await;
}

// req: ED-01
// attack: F-01, F-02, F-03, F-04, F-05, F-06, F-07, L-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_path_leads_out_of_the_packs() {
    let edge = Edge::start(&[("p.pmtiles", picture(7))], "").await;
    for (path, status) in [
        ("/packs/../../etc/passwd", 400),
        ("/packs/%2e%2e%2fetc%2fpasswd", 400),
        ("/packs/%252e%252e%252fetc", 404),
        ("/packs/..\\etc", 400),
        ("/packs/p%00", 400),
        ("/packs/p%c0%ae", 400),
        ("/packs/%2fetc%2fpasswd", 404),
        ("//evil.test/packs", 404),
        ("/packs//p", 404),
        ("/tiles/../packs/p", 400),
        ("/preview/assets/../../p", 400),
        ("/preview/assets/..%2f..%2fCargo.toml", 400),
    ] {
        let answer = edge.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.header("location").is_none(), "{path}");
    }
    let absolute =
        "GET http://elsewhere.test/packs HTTP/1.1\r\nhost: tiles.test\r\nconnection: close\r\n\r\n";
    assert_eq!(edge.raw(absolute).await.status, 400);
    edge.end().await;
}

// req: ED-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_coding_is_sent_as_stored_where_it_is_accepted_and_plain_where_not() {
    let edge = Edge::start(&vectors(), "").await;
    for (pack, coding) in [("gzip", "gzip"), ("brotli", "br"), ("zstd", "zstd")] {
        let path = format!("/tiles/{pack}/0/0/0.mvt");
        let coded = edge
            .get_with(&path, &[("accept-encoding", "gzip, br, zstd")])
            .await;
        assert_eq!(header(&coded, "content-encoding"), coding, "{pack}");
        let plain = edge.get(&path).await;
        assert_eq!(plain.header("content-encoding"), None, "{pack}");
        assert!(plain.body == geometry(), "{pack}");
        assert_ne!(header(&coded, "etag"), header(&plain, "etag"), "{pack}");
        for answer in [&coded, &plain] {
            assert_eq!(header(answer, "vary"), "accept-encoding", "{pack}");
            assert_eq!(
                header(answer, "content-type"),
                "application/vnd.mapbox-vector-tile"
            );
        }
        if coding == "gzip" {
            assert!(gunzip(&coded.body) == geometry());
        }
    }
    // Worth coding once, and kept from then on.
    for _ in 0..2 {
        let made = edge
            .get_with("/tiles/plain/0/0/0.mvt", &[("accept-encoding", "gzip")])
            .await;
        assert_eq!(header(&made, "content-encoding"), "gzip");
        assert!(gunzip(&made.body) == geometry());
    }
    let from = |from| [("from", from)];
    let metrics = edge.metrics().await;
    assert_eq!(metrics.sum("edge_tiles_total", &from("transcoded")), 4.0);
    assert_eq!(metrics.sum("edge_tiles_total", &from("memory")), 1.0);
    let nothing = [("accept-encoding", "br, identity;q=0")];
    let refused = edge.get_with("/tiles/gzip/0/0/0.mvt", &nothing).await;
    assert_refusal(&refused, 406, "not-acceptable");
    edge.end().await;
}

// req: ED-07, ED-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_many_want_in_another_coding_is_made_once() {
    let edge = Edge::start(&vectors(), "").await;
    let asked = (0..64).map(|_| edge.get("/tiles/brotli/0/0/0.mvt"));
    for answer in futures_util::future::join_all(asked).await {
        assert_eq!(answer.status, 200);
        assert!(answer.body == geometry());
    }
    let metrics = edge.metrics().await;
    let made = metrics.sum("edge_tiles_total", &[("from", "transcoded")]);
    assert_eq!(made, 1.0);
    edge.end().await;
}

// req: ED-06
// attack: E-13, E-14, E-15, E-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conditions_hold_in_the_order_of_the_standard() {
    let edge = Edge::start(&[("p.pmtiles", picture(7))], "").await;
    for path in ["/tiles/p/0/0/0.png", "/tiles/p.json", "/packs", "/packs/p"] {
        let first = edge.get(path).await;
        let etag = header(&first, "etag").to_owned();
        assert!(
            etag.starts_with('"') && etag.ends_with('"'),
            "{path}: {etag}"
        );
        let weak = format!("W/{etag}");
        let date = header(&first, "last-modified").to_owned();
        let old = "Thu, 01 Jan 1970 00:00:01 GMT";
        let cases: [(&[(&str, &str)], u16); 12] = [
            (&[("if-none-match", &etag)], 304),
            (&[("if-none-match", &weak)], 304),
            (&[("if-none-match", "\"a\", \"b\"")], 200),
            (&[("if-none-match", "*")], 304),
            (&[("if-match", &etag)], 200),
            (&[("if-match", &weak)], 412),
            (&[("if-match", "\"a\"")], 412),
            (&[("if-match", "*")], 200),
            (
                &[("if-none-match", "\"a\""), ("if-modified-since", &date)],
                200,
            ),
            (&[("if-modified-since", "yesterday")], 200),
            (&[("if-match", "\"a\""), ("if-none-match", &etag)], 412),
            (&[("if-none-match", &etag), ("if-modified-since", old)], 304),
        ];
        for (headers, status) in cases {
            let answer = edge.get_with(path, headers).await;
            assert_eq!(answer.status, status, "{path} {headers:?}");
            if status == 304 {
                assert_eq!(header(&answer, "etag"), etag, "{path}");
                assert!(answer.header("cache-control").is_some(), "{path}");
                assert!(answer.body.is_empty(), "{path}");
            }
        }
        if !date.is_empty() {
            let since = [("if-modified-since", date.as_str())];
            assert_eq!(edge.get_with(path, &since).await.status, 304, "{path}");
            let since = [("if-unmodified-since", old)];
            assert_eq!(edge.get_with(path, &since).await.status, 412, "{path}");
        }
    }
    assert!(edge.rejected("etag_invalid").await > 0);
    edge.end().await;
}

// req: ED-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn head_says_what_get_would_and_a_digest_is_told_to_who_wants_one() {
    let edge = Edge::start(&[("p.pmtiles", picture(7))], "").await;
    for path in [
        "/tiles/p/0/0/0.png",
        "/tiles/p.json",
        "/packs",
        "/packs/p",
        "/preview/p",
    ] {
        let get = edge.get(path).await;
        let head = edge.ask("HEAD", path, &[]).await.unwrap();
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for name in ["etag", "content-type", "content-length", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
        assert_eq!(
            header(&head, "content-length"),
            get.body.len().to_string(),
            "{path}"
        );
        assert_eq!(get.header("repr-digest"), None);
    }
    let wanted = [("want-repr-digest", "sha-256=10")];
    let tile = edge.get_with("/tiles/p/0/0/0.png", &wanted).await;
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &tile.body);
    let hash = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, hash);
    assert_eq!(header(&tile, "repr-digest"), format!("sha-256=:{hash}:"));
    edge.end().await;
}

// req: ED-01
// attack: L-07, L-23
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tilejson_says_where_the_client_asked_and_believes_nobody_else() {
    let script = "<script>alert(1)</script>";
    let layers = r#"[{"id":"water","fields":{}}]"#;
    let said = format!(r#"{{"name":"World","attribution":"{script}","vector_layers":{layers}}}"#);
    let pack = PackFile::vectors(1).metadata(&said);
    let pack = pack.tile(2, 1, 1, b"tile").bytes();
    let edge = Edge::start(&[("w.pmtiles", pack)], "").await;
    let lies = [
        ("x-forwarded-host", "evil.test"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-prefix", "/evil"),
        ("forwarded", "host=evil.test;proto=https"),
        ("x-rewrite-url", "/evil"),
        ("x-original-url", "/evil"),
    ];
    let answer = edge.get_with("/tiles/w.json", &lies).await;
    assert_eq!(header(&answer, "content-type"), "application/json");
    assert_eq!(header(&answer, "x-content-type-options"), "nosniff");
    let json: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(json["tilejson"], "3.0.0");
    assert_eq!(
        json["tiles"][0],
        "http://tiles.test/tiles/w/{z}/{x}/{y}.mvt"
    );
    assert_eq!((&json["minzoom"], &json["maxzoom"]), (&2.into(), &2.into()));
    assert_eq!(
        (&json["name"], &json["attribution"]),
        (&"World".into(), &script.into())
    );
    assert_eq!(json["vector_layers"][0]["id"], "water");
    assert_eq!(json["bounds"][3], 85.0);
    for odd in [
        "a b",
        "tiles.test\"x",
        "user@tiles.test",
        "a,b",
        "tiles.test/x",
    ] {
        let request =
            format!("GET /tiles/w.json HTTP/1.1\r\nhost: {odd}\r\nconnection: close\r\n\r\n");
        assert_eq!(edge.raw(&request).await.status, 400, "{odd}");
    }
    let old = edge.raw("GET /tiles/w.json HTTP/1.0\r\n\r\n").await;
    let json: Value = serde_json::from_slice(&old.body).unwrap();
    let here = format!("http://{}/tiles/w/{{z}}/{{x}}/{{y}}.mvt", edge.door);
    assert_eq!(json["tiles"][0], here);
    edge.reload("public_url = \"https://maps.test/base/\"\n")
        .await;
    let answer = edge.get("/tiles/w.json").await;
    let json: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(
        json["tiles"][0],
        "https://maps.test/base/tiles/w/{z}/{x}/{y}.mvt"
    );
    edge.end().await;
}

// req: ED-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_other_origins_may_read_and_nobody_may_write() {
    let edge = Edge::start(&[("p.pmtiles", picture(7))], "").await;
    let page = [("origin", "https://maps.test")];
    for path in ["/tiles/p/0/0/0", "/packs", "/nothing"] {
        let answer = edge.get_with(path, &page).await;
        assert_eq!(
            header(&answer, "access-control-allow-origin"),
            "*",
            "{path}"
        );
        assert!(header(&answer, "access-control-expose-headers").contains("etag"));
    }
    let preflight = [page[0], ("access-control-request-method", "GET")];
    let answer = edge.ask("OPTIONS", "/packs/p", &preflight).await.unwrap();
    assert_eq!(answer.status, 204);
    assert!(header(&answer, "access-control-allow-headers").contains("range"));
    assert_eq!(header(&answer, "allow"), "GET, HEAD, OPTIONS");
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let answer = edge.ask(method, "/packs/p", &[]).await.unwrap();
        assert_refusal(&answer, 405, "method-not-allowed");
        assert_eq!(header(&answer, "allow"), "GET, HEAD, OPTIONS");
    }
    let whole = "OPTIONS * HTTP/1.1\r\nhost: tiles.test\r\nconnection: close\r\n\r\n";
    assert_eq!(edge.raw(whole).await.status, 204);
    for method in ["TRACE", "CONNECT"] {
        let request =
            format!("{method} /packs HTTP/1.1\r\nhost: tiles.test\r\nconnection: close\r\n\r\n");
        let answer = edge.raw(&request).await;
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(header(&answer, "allow"), "GET, HEAD, OPTIONS");
    }
    edge.reload("cors.origins = [\"https://maps.test\"]\n")
        .await;
    let other = edge
        .get_with("/packs", &[("origin", "https://evil.test")])
        .await;
    assert_eq!(other.header("access-control-allow-origin"), None);
    assert_eq!(header(&other, "vary"), "origin");
    let listed = edge.get_with("/packs", &page).await;
    assert_eq!(
        header(&listed, "access-control-allow-origin"),
        "https://maps.test"
    );
    edge.end().await;
}

// req: ED-12
// attack: L-23
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_preview_runs_nothing_but_itself() {
    let edge = Edge::start(&[("p.pmtiles", picture(7))], "").await;
    let page = edge.get("/preview/p").await;
    assert_eq!(page.status, 200);
    assert_eq!(header(&page, "content-type"), "text/html; charset=utf-8");
    let policy = header(&page, "content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(header(&page, "x-content-type-options"), "nosniff");
    assert_refusal(
        &edge.get("/preview/assets/nothing.js").await,
        404,
        "not-found",
    );
    edge.end().await;
}
