use super::*;
use testkit::upstream::filler;

/// One try, of so many milliseconds. What is not about time gets more of it than any machine needs.
async fn once(fill_ms: u64) -> Site {
    Site::with(|text| {
        text.tries = 1;
        text.fill_ms = fill_ms;
        text.object_bytes = 200_000;
    })
    .await
}

const LONG_MS: u64 = 60_000;

// req: ED-04
// attack: K-10, K-12
#[tokio::test]
async fn an_origin_that_takes_too_long_is_a_504_and_nothing_is_kept() {
    let site = once(400).await;
    site.origin.set("/silent", Fault::Silence);
    site.origin
        .set("/stalls", fresh("0123456789", 100).fault(Fault::StallAt(5)));
    site.origin.set(
        "/drips",
        fresh("0123456789", 100).fault(Fault::Slow { bytes_per_s: 1 }),
    );
    for path in ["/o/silent", "/o/stalls", "/o/drips"] {
        let answer = site.get(path).await;
        assert_eq!(
            (answer.status, answer.reason),
            (504, "origin-timeout"),
            "{path}"
        );
    }
    assert_eq!(site.origins.desk.kept.count(), 0);
}

// req: ED-04
// attack: K-11, K-13, K-14, K-15, K-16, F-20, L-16
#[tokio::test]
async fn an_answer_that_is_not_whole_or_not_true_is_a_502_and_nothing_is_kept() {
    let long = || fresh("0123456789", 100);
    let faults = [
        ("resets", long().fault(Fault::ResetAt(5)), "origin-broken"),
        ("half", long().fault(Fault::HalfCloseAt(5)), "origin-broken"),
        ("garbage", Reply::from(Fault::Garbage), "origin-broken"),
        (
            "huge-head",
            long().fault(Fault::HugeHeaders { bytes: 500_000 }),
            "origin-broken",
        ),
        (
            "interim",
            long().fault(Fault::InterimFlood { count: 10_000 }),
            "origin-broken",
        ),
        (
            "longer",
            long().fault(Fault::LengthLong(5)),
            "origin-broken",
        ),
        (
            "shorter",
            long().fault(Fault::LengthShort(5)),
            "origin-broken",
        ),
        (
            "endless",
            long().fault(Fault::EndlessBody),
            "origin-too-large",
        ),
        (
            "announced",
            Reply::status(200).body(filler(200_001)),
            "origin-too-large",
        ),
        (
            "chunked",
            Reply::status(200).body(filler(200_001)).chunked(),
            "origin-too-large",
        ),
    ];
    for (name, reply, reason) in faults {
        // Each at an origin of its own: one that fails too often is left alone.
        let site = once(LONG_MS).await;
        site.origin
            .set("/a", reply.header("cache-control", "max-age=100"));
        let answer = site.get("/o/a").await;
        assert_eq!((answer.status, answer.reason), (502, reason), "{name}");
        assert_eq!(site.origins.desk.kept.count(), 0);
    }
    let site = once(LONG_MS).await;
    site.origin
        .set("/fits", Reply::status(200).body(filler(200_000)).chunked());
    assert_eq!(site.get("/o/fits").await.status, 200);
}

// req: ED-04
// attack: K-11
#[tokio::test]
async fn a_long_answer_that_breaks_off_is_broken_off_for_all_and_not_kept() {
    let site = once(LONG_MS).await;
    let long = Reply::status(200)
        .body(filler(150_000))
        .header("cache-control", "max-age=100");
    site.origin.set("/a", long.fault(Fault::ResetAt(100_000)));
    let answer = site.get("/o/a").await;
    assert!(answer.body.is_err() || answer.status == 502, "{answer:?}");
    assert_eq!(site.origins.desk.kept.count(), 0);
}

// req: ED-04
// attack: F-19
#[tokio::test]
async fn a_digest_that_does_not_fit_is_believed_over_the_bytes() {
    let site = once(LONG_MS).await;
    // Of "hello".
    let digest = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:";
    for name in ["repr-digest", "content-digest"] {
        site.origin
            .set("/true", fresh("hello", 100).header(name, digest));
        site.origin
            .set("/false", fresh("hellO", 100).header(name, digest));
        assert_eq!(site.get(&format!("/o/true?{name}")).await.status, 200);
        assert_eq!(
            site.get(&format!("/o/false?{name}")).await.reason,
            "origin-wrong"
        );
    }
}

// req: ED-04
#[tokio::test]
async fn what_may_pass_is_tried_three_times_and_what_will_not_once() {
    for fault in [Reply::status(503), Reply::from(Fault::Reset)] {
        let site = Site::start().await;
        site.origin.set("/a", fault);
        let answer = site.get("/o/a").await;
        assert!(matches!(answer.status, 502 | 503), "{answer:?}");
        assert_eq!(site.asked(), 3);
    }
    let site = Site::start().await;
    for status in [400, 404, 500, 501] {
        let before = site.asked();
        site.origin.set(
            "/once",
            Reply::status(status).header("cache-control", "no-store"),
        );
        assert_eq!(site.get(&format!("/o/once?{status}")).await.status, status);
        assert_eq!(site.asked() - before, 1, "{status}");
    }
    site.origin.set("/comes", Reply::status(503));
    let (answer, ()) = tokio::join!(site.get("/o/comes"), async {
        let before = site.asked();
        site.until(|| site.asked() > before).await;
        site.origin.set("/comes", fresh("well again", 100));
    });
    assert_eq!(answer.text(), "well again");
}

// req: ED-10
#[tokio::test]
async fn addresses_that_always_fail_do_not_close_the_way_to_the_others() {
    let site = Site::with(|text| text.tries = 1).await;
    for address in 0..20 {
        assert_eq!(site.get(&format!("/o/good{address}")).await.status, 200);
    }
    site.origin.set("/bad", Fault::Garbage);
    for _ in 0..12 {
        assert_eq!(site.get("/o/bad").await.reason, "origin-broken");
    }
    assert_eq!(site.get("/o/good").await.status, 200);
    let mut failures = 0;
    while site.get("/o/bad").await.reason != "origin-breaker" {
        failures += 1;
        assert!(failures < 60, "an origin that only fails is left alone");
    }
}
