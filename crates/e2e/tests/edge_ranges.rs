//! A pack by ranges, as clients read it that need no tile server: single, many, suffixes, hostile ones.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::edge::{Edge, picture};
use e2e::gateway::assert_refusal;
use e2e::packfile::PackFile;
use testkit::http::{Response, request_bytes};

async fn ranged(edge: &Edge, range: &str) -> Response {
    edge.get_with("/packs/p", &[("range", range)]).await
}

fn content_range(answer: &Response) -> &str {
    answer.header("content-range").unwrap_or("")
}

// req: ED-06, ED-01
// attack: E-01, E-04
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_range_is_exactly_those_bytes() {
    let file = picture(9);
    let length = file.len();
    let edge = Edge::start(&[("p.pmtiles", file.clone())], "").await;
    let whole = edge.get("/packs/p").await;
    assert_eq!(whole.status, 200);
    assert_eq!(
        whole.header("content-type"),
        Some("application/vnd.pmtiles")
    );
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    assert!(whole.body == file);
    for (range, first, last) in [
        ("bytes=0-0", 0, 0),
        ("bytes=0-126", 0, 126),
        ("bytes=100-", 100, length - 1),
        ("bytes=-5", length - 5, length - 1),
        ("bytes=-99999999", 0, length - 1),
        ("bytes=10-99999999999", 10, length - 1),
        ("bytes= 3-4 , ", 3, 4),
        ("BYTES=3-4", 3, 4),
    ] {
        let answer = ranged(&edge, range).await;
        assert_eq!(answer.status, 206, "{range}");
        let said = format!("bytes {first}-{last}/{length}");
        assert_eq!(content_range(&answer), said, "{range}");
        assert!(answer.body == file[first..=last], "{range}");
    }
    edge.end().await;
}

// req: ED-06, ED-09
// attack: E-02, E-03, E-05, E-06, E-07, E-10, L-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_that_is_none_is_left_out_and_one_that_is_outside_refused() {
    let file = picture(9);
    let edge = Edge::start(&[("p.pmtiles", file.clone())], "").await;
    for void in [
        "bytes=5-2",
        "items=0-1",
        "bytes",
        "bytes=a-b",
        "bytes=0-1;2",
        "bytes=--1",
        "bytes=1",
    ] {
        let answer = ranged(&edge, void).await;
        assert_eq!(answer.status, 200, "{void}");
        assert!(answer.body == file, "{void}");
    }
    for outside in [
        "bytes=",
        "bytes=-0",
        "bytes=9999999-",
        "bytes=18446744073709551616-",
        "bytes=9999999-9999999",
    ] {
        let answer = ranged(&edge, outside).await;
        assert_refusal(&answer, 416, "range-outside");
        assert_eq!(
            content_range(&answer),
            format!("bytes */{}", file.len()),
            "{outside}"
        );
    }
    let twice = [("range", "bytes=0-0"), ("range", "bytes=1-1")];
    assert_eq!(edge.get_with("/packs/p", &twice).await.status, 200);
    assert_eq!(edge.rejected("invalid_range").await, 5);
    edge.end().await;
}

/// The parts of a multipart answer: where each begins, and its bytes.
fn parts(answer: &Response) -> Vec<(usize, Vec<u8>)> {
    let kind = answer.header("content-type").unwrap();
    let boundary = kind
        .strip_prefix("multipart/byteranges; boundary=")
        .unwrap();
    let (mut rest, delimiter) = (&answer.body[..], format!("\r\n--{boundary}"));
    let mut parts = Vec::new();
    let find = |text: &[u8], what: &[u8]| {
        text.windows(what.len())
            .position(|seen| seen == what)
            .unwrap()
    };
    while !rest.starts_with(format!("{delimiter}--").as_bytes()) {
        let head_end = find(rest, b"\r\n\r\n") + 4;
        let head = String::from_utf8(rest[..head_end].to_vec()).unwrap();
        let range = head.split_once("Content-Range: bytes ").unwrap().1;
        let (first, range) = range.split_once('-').unwrap();
        let last = range.split_once('/').unwrap().0;
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        let length = last - first + 1;
        parts.push((first, rest[head_end..head_end + length].to_vec()));
        rest = &rest[head_end + length..];
    }
    parts
}

// req: ED-06
// attack: E-08, E-09, L-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_ranges_are_their_parts_and_never_more_than_the_whole() {
    let file = picture(9);
    let edge = Edge::start(&[("p.pmtiles", file.clone())], "").await;
    let answer = ranged(&edge, "bytes=0-9, 5000-5009, -10").await;
    assert_eq!(answer.status, 206);
    let found = parts(&answer);
    assert_eq!(found.len(), 3);
    for (first, bytes) in &found {
        assert!(file[*first..first + bytes.len()] == bytes[..], "{first}");
    }
    let declared = answer.header("content-length").unwrap().parse();
    assert_eq!(declared, Ok(answer.body.len()));
    let endless = format!("bytes={}", "0-,".repeat(199));
    let tiny: Vec<_> = (0..190).map(|n| format!("{0}-{0}", n * 2)).collect();
    let backwards: Vec<_> = (0..150).rev().map(|n| format!("{0}-{0}", n * 60)).collect();
    let many = format!("bytes={}", vec!["0-0"; 1000].join(","));
    for range in [
        endless,
        format!("bytes={}", tiny.join(",")),
        format!("bytes={}", backwards.join(",")),
        many,
    ] {
        let answer = ranged(&edge, &range).await;
        assert!(matches!(answer.status, 200 | 206), "{}", &range[..40]);
        assert!(
            answer.body.len() <= file.len() + 200,
            "{} of {}",
            answer.body.len(),
            file.len()
        );
    }
    edge.end().await;
}

// req: ED-06
// attack: E-11, E-12, L-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_of_something_else_is_the_whole() {
    let file = picture(9);
    let edge = Edge::start(&[("p.pmtiles", file.clone())], "").await;
    let etag = edge
        .get("/packs/p")
        .await
        .header("etag")
        .unwrap()
        .to_owned();
    let (weak, date) = (format!("W/{etag}"), "Sun, 15 Nov 2020 10:00:00 GMT");
    for (if_range, status) in [
        (etag.as_str(), 206),
        (&weak, 200),
        ("\"other\"", 200),
        (date, 200),
        ("x", 200),
    ] {
        let headers = [("range", "bytes=0-9"), ("if-range", if_range)];
        let answer = edge.get_with("/packs/p", &headers).await;
        assert_eq!(answer.status, status, "{if_range}");
        let expected = if status == 206 {
            &file[..10]
        } else {
            &file[..]
        };
        assert!(answer.body == expected, "{if_range}");
    }
    let unchanged = [("range", "bytes=0-9"), ("if-none-match", etag.as_str())];
    assert_eq!(edge.get_with("/packs/p", &unchanged).await.status, 304);
    let changed = [("range", "bytes=0-9"), ("if-match", "\"other\"")];
    assert_eq!(edge.get_with("/packs/p", &changed).await.status, 412);
    let head = edge
        .ask("HEAD", "/packs/p", &[("range", "bytes=0-9")])
        .await
        .unwrap();
    assert_eq!(head.status, 200);
    let post = edge
        .ask("POST", "/packs/p", &[("range", "bytes=0-9")])
        .await
        .unwrap();
    assert_eq!(post.status, 405);
    edge.end().await;
}

// req: ED-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiles_and_lists_have_ranges_too() {
    let edge = Edge::start(&[("p.pmtiles", picture(9))], "").await;
    for path in ["/tiles/p/0/0/0.png", "/tiles/p.json", "/packs"] {
        let whole = edge.get(path).await.body;
        let answer = edge.get_with(path, &[("range", "bytes=2-11")]).await;
        assert_eq!(answer.status, 206, "{path}");
        assert!(answer.body == whole[2..12], "{path}");
    }
    edge.end().await;
}

// req: ED-01, ED-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_pack_comes_whole_to_who_reads_in_pieces() {
    let tile: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7) as u8).collect();
    let file = PackFile::default().tile(0, 0, 0, &tile).bytes();
    let edge = Edge::start(&[("p.pmtiles", file.clone())], "").await;
    assert!(edge.get("/packs/p").await.body == file);
    let range = format!("bytes=1000-{}", file.len() - 7);
    let part = ranged(&edge, &range).await;
    assert!(part.body == file[1000..file.len() - 6]);
    // One connection, range after range, as a map client does it.
    let mut connection = edge.connect().await;
    for (at, chunk) in file.chunks(16_384).enumerate().take(64) {
        let (first, last) = (at * 16_384, at * 16_384 + chunk.len() - 1);
        let range = format!("bytes={first}-{last}");
        let headers = [("range", range.as_str()), ("accept-encoding", "identity")];
        let request = request_bytes("GET", "tiles.test", "/packs/p", &headers, b"");
        let answer = connection
            .exchange(&request, e2e::gateway::PATIENCE)
            .await
            .unwrap();
        assert_eq!(answer.status, 206);
        assert!(answer.body == chunk, "{range}");
    }
    edge.end().await;
}
