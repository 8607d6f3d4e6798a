use super::*;
use futures_util::FutureExt;
use futures_util::future::{join_all, select};
use std::pin::pin;

// req: ED-04
// attack: L-24
#[tokio::test]
async fn a_thousand_who_want_the_same_are_one_request_to_the_origin() {
    let site = Site::start().await;
    site.origin
        .set("/a", fresh("one", 100).delay(Duration::from_millis(200)));
    let answers = join_all((0..1000).map(|_| site.get("/o/a"))).await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.status == 200 && answer.text() == "one")
    );
    assert_eq!(site.asked(), 1);
    let collapsed = answers
        .iter()
        .filter(|answer| answer.did().contains("; collapsed"));
    assert_eq!(collapsed.count(), 999);
}

// req: ED-04
// attack: L-24
#[tokio::test]
async fn whoever_leaves_harms_nobody() {
    let site = Site::start().await;
    site.origin
        .set("/a", fresh("one", 100).delay(Duration::from_millis(300)));
    let others = async {
        site.until(|| site.asked() == 1).await;
        join_all((0..10).map(|_| site.get("/o/a"))).await
    };
    {
        let leader = pin!(site.get("/o/a"));
        let departure = pin!(site.until(|| site.asked() == 1));
        select(leader, departure).await;
    }
    let answers = others.await;
    assert!(answers.iter().all(|answer| answer.text() == "one"));
    assert_eq!(site.asked(), 1);
    // With nobody left at all it is fetched and kept all the same.
    site.origin
        .set("/b", fresh("two", 100).delay(Duration::from_millis(100)));
    {
        let only = pin!(site.get("/o/b"));
        let departure = pin!(site.until(|| site.asked() == 2));
        select(only, departure).await;
    }
    site.until(|| site.origins.desk.board.count() == 0).await;
    assert!(site.get("/o/b").await.is_hit());
}

// req: ED-04
// attack: L-24
#[tokio::test]
async fn a_long_answer_is_given_out_as_it_comes() {
    let site = Site::start().await;
    let long = Reply::status(200).body(testkit::upstream::filler(300_000));
    site.origin.set("/a", long.fault(Fault::StallAt(100_000)));
    let mut request = Request::new(());
    *request.uri_mut() = "/o/a".parse().unwrap();
    let (parts, ()) = request.into_parts();
    let mount = site.origins.find("/o/a").unwrap();
    // Neither the first nor who comes later has to wait for the end, which does not come.
    for _ in 0..2 {
        let answer = site.origins.answer(&mount, &parts, Full::new(Bytes::new()));
        let mut body = answer.await.unwrap().into_body();
        let mut got = 0;
        while got < 100_000 {
            got += body
                .frame()
                .await
                .unwrap()
                .unwrap()
                .into_data()
                .unwrap()
                .len();
        }
    }
    assert_eq!(site.asked(), 1);
}

// req: ED-04
// attack: L-24
#[tokio::test]
async fn all_who_read_a_long_answer_read_the_same() {
    let site = Site::with(|text| text.fill_ms = 60_000).await;
    let long = testkit::upstream::filler(300_000);
    let slow = Reply::status(200)
        .body(long.clone())
        .header("cache-control", "max-age=100");
    site.origin.set(
        "/a",
        slow.fault(Fault::Slow {
            bytes_per_s: 600_000,
        }),
    );
    let late = async {
        site.until(|| site.asked() == 1).await;
        site.get("/o/a").await
    };
    let (first, late) = tokio::join!(site.get("/o/a"), late);
    assert!(first.body.unwrap() == long && late.body.unwrap() == long);
    assert_eq!(site.asked(), 1);
    assert!(site.get("/o/a").await.is_hit());
}

// req: ED-04
#[tokio::test]
async fn what_is_not_for_all_is_fetched_for_each() {
    let site = Site::start().await;
    let own = reply("own", &[("cache-control", "private")]);
    site.origin.set("/a", own.delay(Duration::from_millis(100)));
    let answers = join_all((0..5).map(|_| site.get("/o/a"))).await;
    assert!(
        answers
            .iter()
            .all(|answer| answer.text() == "own" && !answer.did().contains("collapsed"))
    );
    assert_eq!(site.asked(), 5);
}

// req: ED-04, ED-05
// attack: L-09
#[tokio::test]
async fn what_may_not_be_used_again_is_shared_only_by_requests_that_cannot_be_told_apart() {
    let site = Site::with(|text| text.forward.push("x-key".to_owned())).await;
    let kinds: [&[(&str, &str)]; 5] = [
        &[],
        &[("cache-control", "no-cache")],
        &[("cache-control", "no-cache"), ("etag", "\"a\"")],
        &[("cache-control", "max-age=0, must-revalidate")],
        &[("cache-control", "max-age=0"), ("etag", "\"a\"")],
    ];
    for (number, headers) in kinds.into_iter().enumerate() {
        let path = format!("/{number}");
        let slow = reply("own", headers).delay(Duration::from_millis(200));
        site.origin.set(&path, slow);
        let (before, path) = (site.asked(), format!("/o{path}"));
        let ask = |key| {
            let (site, path) = (&site, &path);
            async move { site.get_with(path, &[("x-key", key)]).await }
        };
        let answers = join_all(["one", "one", "two"].map(ask)).await;
        let collapsed = answers
            .iter()
            .map(|answer| answer.did().contains("; collapsed"));
        let collapsed: Vec<bool> = collapsed.collect();
        assert_eq!(collapsed, [false, true, false], "{headers:?}");
        assert_eq!(site.asked() - before, 2, "{headers:?}");
    }
}

// req: ED-04, ED-05
#[tokio::test]
async fn those_who_want_another_variant_wait_together_too() {
    let site = Site::with(|text| text.forward.push("foo".to_owned())).await;
    let reply = fresh("one", 100).header("vary", "foo");
    site.origin
        .set("/a", reply.delay(Duration::from_millis(100)));
    let ask = |number: usize| {
        let foo = if number.is_multiple_of(2) {
            "even"
        } else {
            "odd"
        };
        let site = &site;
        async move { site.get_with("/o/a", &[("foo", foo)]).await }
    };
    let answers = join_all((0..40).map(ask)).await;
    assert!(answers.iter().all(|answer| answer.text() == "one"));
    assert_eq!(site.asked(), 2);
}

// req: ED-04
#[tokio::test]
async fn who_would_be_one_too_many_is_told_to_come_again() {
    let site = Site::with(|text| text.waiters = 3).await;
    site.origin
        .set("/a", fresh("one", 100).delay(Duration::from_millis(300)));
    let answers = join_all((0..5).map(|_| site.get("/o/a"))).await;
    let refused = answers
        .iter()
        .filter(|answer| answer.reason == "fill-waiters");
    assert_eq!(refused.count(), 2);
    assert_eq!(
        answers.iter().filter(|answer| answer.status == 200).count(),
        3
    );
}

// req: ED-04
#[tokio::test]
async fn a_full_queue_says_so_and_warm_hits_do_not_notice() {
    let site = Site::start().await;
    site.origin.set("/warm", fresh("warm", 100));
    site.get("/o/warm").await;
    site.origin.set_default(Fault::Silence);
    let paths: Vec<String> = (0..2000).map(|number| format!("/o/{number}")).collect();
    let crowd = join_all(paths.iter().map(|path| site.get(path)));
    let mut crowd = pin!(crowd);
    // One look at each of them: all have asked, none has been answered.
    let looked = crowd.as_mut().now_or_never();
    assert!(looked.is_none());
    let more = site.get("/o/one-more").await;
    assert_eq!((more.status, more.reason), (429, "fill-queue"));
    assert!(site.get("/o/warm").await.is_hit());
}

// req: ED-04
#[tokio::test]
async fn a_drain_tells_those_who_wait_and_keeps_nothing_half() {
    let site = Site::start().await;
    site.origin
        .set("/a", fresh("one", 100).delay(Duration::from_secs(60)));
    let waiting = site.get("/o/a");
    let told = async {
        site.until(|| site.asked() == 1).await;
        site.kernel.requests.request();
    };
    let (answer, ()) = tokio::join!(waiting, told);
    assert_eq!((answer.status, answer.reason), (503, "fill-given-up"));
    site.node.await.unwrap();
    assert_eq!(site.origins.desk.kept.count(), 0);
}
