use super::*;

// req: ED-05
#[tokio::test]
async fn while_it_is_asked_for_anew_the_old_answer_will_do() {
    let site = Site::start().await;
    let swr = "max-age=10, stale-while-revalidate=50";
    site.origin
        .set("/a", reply("one", &[("cache-control", swr)]));
    site.get("/o/a").await;
    site.later(20);
    site.origin
        .set("/a", reply("two", &[("cache-control", swr)]));
    let second = site.get("/o/a").await;
    assert_eq!((second.text(), second.header("age")), ("one", "20"));
    assert!(second.did().contains("hit; ttl=-1"), "{}", second.did());
    site.until(|| site.asked() == 2 && site.origins.desk.board.count() == 0)
        .await;
    assert_eq!(site.get("/o/a").await.text(), "two");
    site.later(60);
    assert!(!site.get("/o/a").await.is_hit());
}

// req: ED-05
#[tokio::test]
async fn an_origin_that_fails_is_stood_in_for_as_far_as_it_allows() {
    let site = Site::with(|text| {
        text.tries = 1;
        text.stale_if_error_s = 0;
    })
    .await;
    let faults: [Reply; 4] = [
        Reply::status(500),
        Reply::status(503),
        Fault::Reset.into(),
        Fault::Garbage.into(),
    ];
    for (number, fault) in faults.into_iter().enumerate() {
        let (allowed, forbidden) = (format!("/sie{number}"), format!("/must{number}"));
        site.origin.set(
            &allowed,
            reply("one", &[("cache-control", "max-age=10, stale-if-error=50")]),
        );
        site.origin.set(
            &forbidden,
            reply("one", &[("cache-control", "max-age=10, must-revalidate")]),
        );
        for path in [&allowed, &forbidden] {
            site.get(&format!("/o{path}")).await;
        }
        site.later(11);
        for path in [&allowed, &forbidden] {
            site.origin.set(path, fault.clone());
        }
        let stood_in = site.get(&format!("/o{allowed}")).await;
        assert_eq!(
            (stood_in.status, stood_in.text()),
            (200, "one"),
            "{fault:?}"
        );
        let did = match number {
            0 => "macronode; fwd=stale; fwd-status=500; ttl=-1; detail=origin-broken",
            1 => "macronode; fwd=stale; fwd-status=503; ttl=-1; detail=origin-broken",
            _ => "macronode; fwd=stale; ttl=-1; detail=origin-broken",
        };
        assert_eq!((stood_in.did(), stood_in.header("age")), (did, "11"));
        let refused = site.get(&format!("/o{forbidden}")).await;
        assert!(refused.status >= 500, "{fault:?}");
        site.later(60);
        let too_late = site.get(&format!("/o{allowed}")).await;
        assert!(too_late.status >= 500, "{fault:?}");
    }
}

// req: ED-05
#[tokio::test]
async fn what_stands_in_while_the_origin_is_left_alone_is_a_hit() {
    let site = Site::with(|text| text.tries = 1).await;
    site.origin.set("/a", fresh("one", 10));
    site.get("/o/a").await;
    site.later(11);
    site.origin.set_default(Fault::Reset);
    site.origin.clear("/a");
    for number in 0..40 {
        site.get(&format!("/o/{number}")).await;
    }
    let before = site.asked();
    let stood_in = site.get("/o/a").await;
    assert_eq!((stood_in.status, stood_in.text()), (200, "one"));
    assert_eq!(
        stood_in.did(),
        "macronode; hit; ttl=-1; detail=origin-breaker"
    );
    assert_eq!(site.asked(), before);
}

// req: ED-05
#[tokio::test]
async fn a_long_page_about_an_error_is_an_error_all_the_same() {
    let site = Site::with(|text| text.tries = 1).await;
    site.origin.set("/a", fresh("one", 10));
    site.get("/o/a").await;
    site.later(11);
    let page = Reply::status(500).body(vec![b'x'; 200_000]);
    site.origin.set("/a", page);
    let stood_in = site.get("/o/a").await;
    assert_eq!(
        (stood_in.status, stood_in.body.as_ref().unwrap().len()),
        (200, 3)
    );
    let did = "macronode; fwd=stale; fwd-status=500; ttl=-1; detail=origin-broken";
    assert_eq!(stood_in.did(), did);
}

// req: ED-04, ED-05
#[tokio::test]
async fn who_would_be_one_too_many_gets_what_is_past_its_time_where_that_is_allowed() {
    let site = Site::with(|text| {
        text.waiters = 1;
        text.tries = 1;
    })
    .await;
    let must = [("cache-control", "max-age=10, must-revalidate")];
    site.origin.set("/may", fresh("one", 10));
    site.origin.set("/must", reply("one", &must));
    for path in ["/may", "/must"] {
        site.get(&format!("/o{path}")).await;
    }
    site.later(11);
    for path in ["/may", "/must"] {
        let slow = fresh("two", 10).delay(Duration::from_millis(300));
        site.origin.set(path, slow);
    }
    let (first, second) = tokio::join!(site.get("/o/may"), site.get("/o/may"));
    assert_eq!((first.text(), second.text()), ("two", "one"));
    assert_eq!(second.did(), "macronode; hit; ttl=-1; detail=fill-waiters");
    let (first, second) = tokio::join!(site.get("/o/must"), site.get("/o/must"));
    assert_eq!((first.text(), second.reason), ("two", "fill-waiters"));
}

// req: ED-05
#[tokio::test]
async fn an_error_that_says_how_long_it_holds_is_an_answer_like_others() {
    let site = Site::with(|text| {
        text.tries = 1;
        text.stale_if_error_s = 0;
    })
    .await;
    site.origin.set("/a", fresh("one", 10));
    site.get("/o/a").await;
    site.later(11);
    let busy = Reply::status(503).header("cache-control", "max-age=5");
    site.origin.set("/a", busy);
    assert_eq!(site.get("/o/a").await.status, 503);
    let again = site.get("/o/a").await;
    assert!(again.status == 503 && again.is_hit());
    site.later(6);
    site.origin.set("/a", fresh("two", 10));
    assert_eq!(site.get("/o/a").await.text(), "two");
}

// req: ED-05
#[tokio::test]
async fn an_operator_may_let_old_answers_stand_in() {
    let site = Site::with(|text| text.tries = 1).await;
    site.origin.set("/a", fresh("one", 10));
    site.origin
        .set("/s", reply("one", &[("cache-control", "s-maxage=10")]));
    site.get("/o/a").await;
    site.get("/o/s").await;
    site.later(11);
    site.origin.set_default(Fault::Reset);
    site.origin.clear("/a");
    site.origin.clear("/s");
    assert_eq!(site.get("/o/a").await.text(), "one");
    assert_eq!(site.get("/o/s").await.status, 502);
    site.later(60);
    assert_eq!(site.get("/o/a").await.status, 502);
}
