use super::*;

// req: ED-05, ED-10
#[tokio::test]
async fn what_is_fresh_is_not_asked_for_again_and_says_how_old_it_is() {
    let site = Site::start().await;
    site.origin.set("/a", fresh("one", 100).header("x-a", "1"));
    let first = site.get("/o/a").await;
    assert_eq!((first.status, first.text()), (200, "one"));
    assert_eq!(
        first.did(),
        "macronode; fwd=uri-miss; fwd-status=200; ttl=100; stored"
    );
    assert!(first.headers.get("age").is_none());
    site.later(40);
    let second = site.get("/o/a").await;
    assert_eq!(
        (second.status, second.text(), second.header("x-a")),
        (200, "one", "1")
    );
    assert_eq!(second.header("age"), "40");
    assert_eq!(second.header("date"), first.header("date"));
    assert_eq!(second.did(), "macronode; hit; ttl=60");
    assert_eq!(site.asked(), 1);
    site.later(60);
    assert!(!site.get("/o/a").await.is_hit());
    assert_eq!(site.asked(), 2);
}

// req: ED-05
#[tokio::test]
async fn an_age_it_came_with_is_counted_on() {
    let site = Site::start().await;
    site.origin.set("/a", fresh("one", 100).header("age", "70"));
    site.get("/o/a").await;
    site.later(20);
    assert_eq!(site.get("/o/a").await.header("age"), "90");
    site.later(10);
    assert!(!site.get("/o/a").await.is_hit());
}

// req: ED-05
// attack: F-21, L-09
#[tokio::test]
async fn what_is_for_one_is_given_to_nobody_else() {
    let site = Site::with(|text| text.forward.push("authorization".to_owned())).await;
    let kinds = [
        (
            "/private",
            reply("x", &[("cache-control", "private, max-age=100")]),
        ),
        ("/no-store", reply("x", &[("cache-control", "no-store")])),
        ("/cookie", fresh("x", 100).header("set-cookie", "a=b")),
        ("/star", fresh("x", 100).header("vary", "*")),
    ];
    for (path, reply) in kinds {
        site.origin.set(path, reply);
        let before = site.asked();
        let path = format!("/o{path}");
        for _ in 0..2 {
            let answer = site.get(&path).await;
            assert_eq!((answer.status, answer.text()), (200, "x"), "{path}");
            assert!(!answer.did().contains("stored"), "{path}");
        }
        assert_eq!(site.asked() - before, 2, "{path}");
    }
    site.origin.set("/auth", fresh("mine", 100));
    let authorized = [("authorization", "Basic eDp5")];
    site.get_with("/o/auth", &authorized).await;
    assert!(!site.get("/o/auth").await.is_hit());
    site.origin.set(
        "/shared",
        reply("ours", &[("cache-control", "s-maxage=100")]),
    );
    site.get_with("/o/shared", &authorized).await;
    assert!(site.get("/o/shared").await.is_hit());
}

// req: ED-05
// attack: F-21
#[tokio::test]
async fn a_cookie_that_is_named_as_nobody_elses_is_left_out_and_the_rest_is_kept() {
    let site = Site::start().await;
    for (number, named) in ["no-cache", "private"].into_iter().enumerate() {
        let control = format!("max-age=100, {named}=\"X-A, Set-Cookie\"");
        let headers = [("cache-control", control.as_str()), ("set-cookie", "a=b")];
        let path = format!("/{number}");
        site.origin.set(&path, reply("one", &headers));
        let path = format!("/o{path}");
        assert_eq!(site.get(&path).await.header("set-cookie"), "a=b");
        let again = site.get(&path).await;
        assert!(again.is_hit(), "{named}: {}", again.did());
        assert_eq!(again.header("set-cookie"), "", "{named}");
    }
}

// req: ED-05
// attack: L-10
#[tokio::test]
async fn a_header_that_is_not_forwarded_can_neither_change_nor_split_an_answer() {
    let site = Site::start().await;
    site.origin
        .set("/a", fresh("one", 100).header("vary", "x-unkeyed, cookie"));
    let odd = [
        ("x-unkeyed", "1"),
        ("cookie", "a=b"),
        ("x-forwarded-host", "evil"),
        ("accept", "text/css"),
    ];
    site.get_with("/o/a", &odd).await;
    for name in ["x-unkeyed", "cookie", "x-forwarded-host"] {
        assert_eq!(site.origin_saw(name), None, "{name}");
    }
    assert_eq!(site.origin_saw("accept").unwrap(), "text/css");
    assert!(site.get("/o/a").await.is_hit());
}

// req: ED-05
#[tokio::test]
async fn a_client_may_ask_the_origin_and_may_forbid_to() {
    let site = Site::start().await;
    site.origin.set("/a", fresh("one", 100));
    assert_eq!(
        site.get_with("/o/a", &[("cache-control", "only-if-cached")])
            .await
            .status,
        504
    );
    assert_eq!(site.asked(), 0);
    site.get("/o/a").await;
    assert!(
        site.get_with("/o/a", &[("cache-control", "only-if-cached")])
            .await
            .is_hit()
    );
    for wish in ["no-cache", "max-age=0", "min-fresh=1000"] {
        let answer = site.get_with("/o/a", &[("cache-control", wish)]).await;
        assert!(
            answer.did().contains("fwd=request"),
            "{wish}: {}",
            answer.did()
        );
    }
    assert!(
        site.get_with("/o/a", &[("pragma", "no-cache")])
            .await
            .did()
            .contains("fwd=request")
    );
    let deaf = Site::with(|text| text.clients_decide = false).await;
    deaf.origin.set("/a", fresh("one", 100));
    deaf.get("/o/a").await;
    assert!(
        deaf.get_with("/o/a", &[("cache-control", "no-cache")])
            .await
            .is_hit()
    );
}

// req: ED-05
#[tokio::test]
async fn a_targeted_header_comes_before_the_general_one() {
    let site = Site::start().await;
    let both = [
        ("cache-control", "no-store"),
        ("cdn-cache-control", "max-age=100"),
    ];
    site.origin.set("/a", reply("one", &both));
    site.get("/o/a").await;
    assert!(site.get("/o/a").await.is_hit());
    let both = [
        ("cache-control", "max-age=100"),
        ("cdn-cache-control", "max-age=1"),
    ];
    site.origin.set("/b", reply("one", &both));
    site.get("/o/b").await;
    site.later(2);
    assert!(!site.get("/o/b").await.is_hit());
}

// req: ED-05
// attack: L-26
#[tokio::test]
async fn what_is_not_there_is_not_asked_for_with_every_request() {
    let site = Site::start().await;
    site.origin.set("/gone", Reply::status(404));
    assert_eq!(site.get("/o/gone").await.status, 404);
    assert!(site.get("/o/gone").await.is_hit());
    site.later(11);
    assert!(!site.get("/o/gone").await.is_hit());
    assert_eq!(site.asked(), 2);
}

// req: ED-05
#[tokio::test]
async fn headers_about_the_connection_and_named_ones_are_not_kept() {
    let site = Site::start().await;
    let reply = reply(
        "one",
        &[
            (
                "cache-control",
                "max-age=100, no-cache=\"x-now\", private=\"x-user\"",
            ),
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("keep-alive", "timeout=5"),
            ("x-now", "1"),
            ("x-user", "1"),
            ("x-all", "1"),
        ],
    );
    site.origin.set("/a", reply);
    let first = site.get("/o/a").await;
    assert_eq!(
        [
            first.header("x-hop"),
            first.header("x-user"),
            first.header("x-now")
        ],
        ["", "1", "1"]
    );
    let second = site.get("/o/a").await;
    assert!(second.is_hit());
    for name in ["x-hop", "keep-alive", "x-now", "x-user", "connection"] {
        assert_eq!(second.header(name), "", "{name}");
    }
    assert_eq!(second.header("x-all"), "1");
}
