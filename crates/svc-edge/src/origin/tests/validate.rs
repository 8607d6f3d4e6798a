use super::*;

fn not_modified(headers: &[(&str, &str)]) -> Reply {
    let reply = Reply::status(304).body("");
    headers
        .iter()
        .fold(reply, |reply, (name, value)| reply.header(name, value))
}

// req: ED-05
#[tokio::test]
async fn what_is_stale_is_asked_about_and_freshened_by_a_304() {
    let site = Site::start().await;
    let first = fresh("one", 10)
        .header("etag", "\"a\"")
        .header("x-kept", "1")
        .header("x-new", "old");
    site.origin.set(
        "/a",
        first.header("last-modified", "Mon, 09 Nov 2026 00:00:00 GMT"),
    );
    site.get("/o/a").await;
    site.later(11);
    let news = [
        ("etag", "\"a\""),
        ("cache-control", "max-age=50"),
        ("x-new", "new"),
    ];
    site.origin.set("/a", not_modified(&news));
    let second = site.get("/o/a").await;
    assert_eq!(site.origin_saw("if-none-match").unwrap(), "\"a\"");
    assert_eq!(
        site.origin_saw("if-modified-since").unwrap(),
        "Mon, 09 Nov 2026 00:00:00 GMT"
    );
    assert_eq!((second.status, second.text()), (200, "one"));
    assert_eq!(
        (second.header("x-kept"), second.header("x-new")),
        ("1", "new")
    );
    assert_eq!(
        second.did(),
        "macronode; fwd=stale; fwd-status=304; ttl=50; stored"
    );
    site.later(49);
    let third = site.get("/o/a").await;
    assert!(third.is_hit());
    assert_eq!(
        (third.header("age"), third.header("content-length")),
        ("49", "3")
    );
    assert_eq!(site.asked(), 2);
}

// req: ED-05
#[tokio::test]
async fn a_304_says_nothing_about_the_bytes_that_are_kept() {
    let site = Site::start().await;
    let first = fresh("one", 10)
        .header("etag", "W/\"a\"")
        .header("content-encoding", "x-own")
        .header("content-language", "de")
        .header("age", "5");
    site.origin.set("/a", first);
    site.get("/o/a").await;
    site.later(11);
    let news = [
        ("etag", "W/\"a\""),
        ("cache-control", "max-age=50"),
        ("content-encoding", "gzip"),
        ("content-range", "bytes 0-0/1"),
        ("content-language", "en"),
        ("connection", "x-hop"),
        ("x-hop", "1"),
    ];
    site.origin.set("/a", not_modified(&news));
    for hit in [false, true] {
        let answer = site.get("/o/a").await;
        assert_eq!((answer.text(), answer.is_hit()), ("one", hit));
        let said = ["content-length", "content-encoding", "content-range"];
        let said = said.map(|name| answer.header(name));
        assert_eq!(said, ["3", "x-own", ""]);
        assert_eq!(answer.header("content-language"), "en");
        assert_eq!(answer.header("x-hop"), "");
    }
    site.later(40);
    assert_eq!(site.get("/o/a").await.header("age"), "40");
    assert_eq!(site.asked(), 2);
}

// req: ED-05
#[tokio::test]
async fn a_304_may_end_the_keeping_and_one_to_a_client_is_not_kept() {
    let site = Site::start().await;
    site.origin
        .set("/a", fresh("one", 10).header("etag", "\"a\""));
    site.get("/o/a").await;
    site.later(11);
    let news = [("etag", "\"a\""), ("cache-control", "no-store")];
    site.origin.set("/a", not_modified(&news));
    for _ in 0..2 {
        let answer = site.get("/o/a").await;
        assert_eq!((answer.status, answer.text()), (200, "one"));
        assert!(answer.did().contains("detail=no-store"), "{}", answer.did());
    }
    assert_eq!(site.asked(), 3);
    site.origin
        .set("/b", fresh("whole", 10).header("etag", "\"b\""));
    let asked = [("if-none-match", "\"b\"")];
    assert_eq!(site.get_with("/o/b", &asked).await.status, 304);
    assert_eq!(site.get("/o/b").await.text(), "whole");
}

// req: ED-05
#[tokio::test]
async fn what_changed_replaces_what_was_kept() {
    let site = Site::start().await;
    site.origin
        .set("/a", fresh("one", 10).header("etag", "\"a\""));
    site.get("/o/a").await;
    site.later(11);
    site.origin
        .set("/a", fresh("two", 10).header("etag", "\"b\""));
    assert_eq!(site.get("/o/a").await.text(), "two");
    assert_eq!(site.get("/o/a").await.text(), "two");
    assert_eq!(site.asked(), 2);
}

// req: ED-05
#[tokio::test]
async fn a_304_about_something_else_is_not_believed() {
    let site = Site::start().await;
    site.origin
        .set("/a", fresh("one", 10).header("etag", "\"a\""));
    site.get("/o/a").await;
    site.later(11);
    site.origin.set("/a", not_modified(&[("etag", "\"b\"")]));
    let answer = site.get("/o/a").await;
    // Asked again without a condition it says the same: that is no answer to what was asked.
    assert_eq!((answer.status, answer.text()), (200, "one"));
    assert!(
        answer.did().contains("detail=origin-wrong"),
        "{}",
        answer.did()
    );
    assert_eq!(site.asked(), 3);
    assert_eq!(site.origin_saw("if-none-match"), None);
}

// req: ED-05
#[tokio::test]
async fn no_cache_is_kept_and_always_asked_about() {
    let site = Site::start().await;
    let headers = [
        ("cache-control", "no-cache, max-age=100"),
        ("etag", "\"a\""),
    ];
    site.origin.set("/a", reply("one", &headers));
    site.get("/o/a").await;
    site.origin.set("/a", not_modified(&[("etag", "\"a\"")]));
    let second = site.get("/o/a").await;
    assert_eq!((second.status, second.text()), (200, "one"));
    assert_eq!(site.asked(), 2);
}

// req: ED-05, ED-06
#[tokio::test]
async fn a_clients_own_conditions_are_answered_here() {
    let site = Site::start().await;
    let first = fresh("one", 100).header("etag", "\"a\"");
    site.origin.set(
        "/a",
        first.header("last-modified", "Mon, 09 Nov 2026 00:00:00 GMT"),
    );
    for round in 0..2 {
        let same = site
            .get_with("/o/a", &[("if-none-match", "\"x\", \"a\"")])
            .await;
        assert_eq!((same.status, same.text()), (304, ""), "round {round}");
        assert_eq!(same.header("etag"), "\"a\"");
        assert_eq!(same.header("content-length"), "");
    }
    assert_eq!(site.asked(), 1);
    assert_eq!(site.origin_saw("if-none-match"), None);
    assert_eq!(
        site.get_with("/o/a", &[("if-none-match", "\"b\"")])
            .await
            .status,
        200
    );
    let since = [("if-modified-since", "Tue, 10 Nov 2026 00:00:00 GMT")];
    assert_eq!(site.get_with("/o/a", &since).await.status, 304);
    assert_eq!(
        site.get_with("/o/a", &[("if-match", "\"b\"")]).await.status,
        412
    );
}
