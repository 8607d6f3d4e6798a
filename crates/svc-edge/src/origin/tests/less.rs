use super::*;

// req: ED-05, ED-06
// attack: E-01, E-02, E-03, E-04
#[tokio::test]
async fn parts_come_out_of_the_whole() {
    let site = Site::start().await;
    site.origin.set(
        "/a",
        fresh("0123456789A", 100)
            .header("etag", "\"a\"")
            .header("x-a", "1"),
    );
    let part = async |range: &str| {
        let answer = site.get_with("/o/a", &[("range", range)]).await;
        (
            answer.status,
            answer.text().to_owned(),
            answer.header("content-range").to_owned(),
        )
    };
    let first = site.get_with("/o/a", &[("range", "bytes=0-1")]).await;
    assert_eq!(
        (first.status, first.text(), first.header("x-a")),
        (206, "01", "1")
    );
    assert_eq!(site.origin_saw("range"), None);
    assert_eq!(
        part("bytes=1-").await,
        (206, "123456789A".to_owned(), "bytes 1-10/11".to_owned())
    );
    assert_eq!(
        part("bytes=-1").await,
        (206, "A".to_owned(), "bytes 10-10/11".to_owned())
    );
    assert_eq!(
        part("bytes=9-99").await,
        (206, "9A".to_owned(), "bytes 9-10/11".to_owned())
    );
    assert_eq!(part("bytes=11-").await.0, 416);
    assert_eq!(part("bytes=-0").await.0, 416);
    assert_eq!(part("items=0-1").await.0, 200);
    let other = [("range", "bytes=0-1"), ("if-range", "\"b\"")];
    assert_eq!(site.get_with("/o/a", &other).await.status, 200);
    assert_eq!(site.asked(), 1);
}

// req: ED-05, ED-06
#[tokio::test]
async fn a_digest_of_the_whole_message_does_not_go_with_a_part_of_it() {
    let site = Site::start().await;
    let whole = "sha-256=:x3Xnt1ft5jDNCqERO9ECZhqziCnKUqZCKreChi8mhkY=:";
    let headers = [
        ("cache-control", "max-age=100"),
        ("etag", "\"a\""),
        ("content-md5", "eB5eJF1ptWaXm4bijSPyxw=="),
        ("content-digest", whole),
        ("repr-digest", whole),
    ];
    let set = |path: &str, headers: &[(&str, &str)]| {
        site.origin.set(path, reply("0123456789", headers));
    };
    set("/a", &headers);
    let refused = site.get("/o/a").await;
    assert_eq!((refused.status, refused.reason), (502, "origin-wrong"));
    let right = "sha-256=:hNiYd/DUBB77a/kaFvAkjy/Vc+avBcGflr7bn4gveII=:";
    let mut true_ones = headers;
    (true_ones[3].1, true_ones[4].1) = (right, right);
    set("/b", &true_ones);
    for (asked, status) in [
        (("accept", "*/*"), 200),
        (("range", "bytes=0-4"), 206),
        (("range", "bytes=0-1,5-6"), 206),
        (("if-none-match", "\"a\""), 304),
    ] {
        let answer = site.get_with("/o/b", &[asked]).await;
        assert_eq!(answer.status, status, "{asked:?}");
        let own = if status == 200 { right } else { "" };
        assert_eq!(answer.header("content-digest"), own, "{asked:?}");
        assert_eq!(answer.header("content-md5").is_empty(), own.is_empty());
        assert_eq!(answer.header("repr-digest"), right, "{asked:?}");
    }
}

// req: ED-05, ED-06
#[tokio::test]
async fn a_part_is_given_if_what_the_client_has_is_surely_the_same() {
    let site = Site::start().await;
    let changed = "Mon, 09 Nov 2026 00:00:00 GMT";
    let set = |path: &str, tag: &str| {
        let answer = fresh("0123456789", 100).header("etag", tag);
        site.origin
            .set(path, answer.header("last-modified", changed));
    };
    set("/strong", "\"a\"");
    set("/weak", "W/\"a\"");
    let small = changed.to_ascii_uppercase();
    for (path, has, status) in [
        ("/o/strong", "\"a\"", 206),
        ("/o/strong", "\"b\"", 200),
        ("/o/strong", "W/\"a\"", 200),
        ("/o/strong", changed, 206),
        ("/o/strong", &small, 206),
        ("/o/strong", "Mon, 09 Nov 2026 00:00:01 GMT", 200),
        ("/o/strong", "yesterday", 200),
        ("/o/weak", "W/\"a\"", 200),
        ("/o/weak", "\"a\"", 200),
    ] {
        let asked = [("range", "bytes=2-3"), ("if-range", has)];
        let answer = site.get_with(path, &asked).await;
        assert_eq!(answer.status, status, "{path} {has}");
    }
    assert_eq!(site.asked(), 2);
}

// req: ED-05
#[tokio::test]
async fn a_head_is_answered_from_what_is_kept() {
    let site = Site::start().await;
    site.origin.set("/a", fresh("0123456789", 100));
    for hit in [false, true] {
        let head = site.ask("HEAD", "/o/a", &[]).await;
        assert_eq!((head.status, head.text(), head.is_hit()), (200, "", hit));
        assert_eq!(head.header("content-length"), "10");
    }
    assert!(site.get("/o/a").await.is_hit());
}

// req: ED-05
// attack: L-15
#[tokio::test]
async fn a_part_that_nobody_asked_for_or_that_contradicts_itself_is_refused() {
    let site = Site::start().await;
    let part = Reply::status(206)
        .body("01234")
        .header("content-range", "bytes 0-4/10");
    site.origin
        .set("/a", part.header("cache-control", "max-age=100"));
    assert_eq!(site.get("/o/a").await.reason, "origin-wrong");
    let passing = Site::with(|text| text.ranges = crate::config::RangesText::Pass).await;
    let range = [("range", "bytes=0-4")];
    for bad in [
        "bytes 0-5/10",
        "bytes 4-0/10",
        "bytes */10",
        "bytes 0-4/3",
        "",
    ] {
        let part = Reply::status(206)
            .body("01234")
            .header("content-range", bad);
        passing.origin.set("/a", part);
        let answer = passing.get_with("/o/a", &range).await;
        assert_eq!(
            (answer.status, answer.reason),
            (502, "origin-wrong"),
            "{bad}"
        );
    }
    let part = Reply::status(206)
        .body("01234")
        .header("content-range", "bytes 0-4/10");
    passing.origin.set("/a", part);
    let answer = passing.get_with("/o/a", &range).await;
    assert_eq!((answer.status, answer.text()), (206, "01234"));
    assert_eq!(passing.origin_saw("range").unwrap(), "bytes=0-4");
    assert!(answer.did().contains("fwd=bypass"), "{}", answer.did());
}

// req: ED-05
#[tokio::test]
async fn what_does_not_say_when_it_changed_is_known_by_when_it_was_made() {
    let site = Site::start().await;
    let made = "Tue, 10 Nov 2026 00:00:00 GMT";
    let headers = [("date", made), ("cache-control", "max-age=2000000000")];
    site.origin.set("/a", reply("whole", &headers));
    site.get("/o/a").await;
    for (since, status) in [
        ("Tue, 10 Nov 2026 00:00:00 GMT", 304),
        ("Wed, 11 Nov 2026 00:00:00 GMT", 304),
        ("Mon, 09 Nov 2026 00:00:00 GMT", 200),
        ("yesterday", 200),
    ] {
        let asked = [("if-modified-since", since)];
        assert_eq!(
            site.get_with("/o/a", &asked).await.status,
            status,
            "{since}"
        );
    }
    let other = [("if-modified-since", made), ("if-none-match", "\"b\"")];
    assert_eq!(site.get_with("/o/a", &other).await.status, 200);
    assert_eq!(site.asked(), 1);
}
