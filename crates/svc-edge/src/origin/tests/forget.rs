use super::*;

// req: ED-05
#[tokio::test]
async fn a_change_that_succeeds_is_not_hidden_by_what_was_kept() {
    let site = Site::start().await;
    site.origin.set("/a", fresh("one", 100));
    for method in ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH"] {
        site.get("/o/a").await;
        assert!(site.get("/o/a").await.is_hit(), "{method}");
        let changed = site.ask(method, "/o/a", &[("x-own", "1")]).await;
        assert_eq!(changed.status, 200, "{method}");
        assert!(changed.did().contains("fwd=method"), "{}", changed.did());
        assert_eq!(site.origin_saw("x-own").unwrap(), "1");
        assert_eq!(site.origin.requests().last().unwrap().body, b"sent");
        assert!(!site.get("/o/a").await.is_hit(), "{method}");
    }
    site.origin.set("/a", Reply::status(500));
    site.ask("POST", "/o/a", &[]).await;
    assert!(site.get("/o/a").await.is_hit());
}

// req: ED-05
#[tokio::test]
async fn what_an_answer_to_a_change_names_is_forgotten_too() {
    let site = Site::start().await;
    for path in ["/there", "/beside", "/other"] {
        site.origin.set(path, fresh("one", 100));
        site.get(&format!("/o{path}")).await;
    }
    let away = Reply::status(201)
        .header("location", "/there")
        .header("content-location", "beside");
    site.origin.set("/new", away);
    site.ask("POST", "/o/new", &[]).await;
    assert!(!site.get("/o/there").await.is_hit());
    assert!(!site.get("/o/beside").await.is_hit());
    assert!(site.get("/o/other").await.is_hit());
}

// req: ED-05
#[tokio::test]
async fn what_is_named_elsewhere_or_by_a_failure_stays() {
    let site = Site::with(|text| text.query = crate::config::QueryText::Drop).await;
    let own = format!("http://{}/own?x=1", site.origin.addr());
    let port = site.origin.addr().port();
    let elsewhere = format!("http://localhost:{port}/elsewhere");
    for path in ["/own", "/elsewhere", "/failed", "/beside"] {
        site.origin.set(path, fresh("one", 100));
        site.get(&format!("/o{path}")).await;
    }
    let answer = |status, location: &str, content: &str| {
        let answer = Reply::status(status).header("location", location);
        answer.header("content-location", content)
    };
    site.origin.set("/new", answer(201, &own, &elsewhere));
    site.ask("PUT", "/o/new", &[]).await;
    site.origin
        .set("/bad", answer(409, "/failed", "/sub/../beside"));
    site.ask("DELETE", "/o/bad", &[]).await;
    assert!(!site.get("/o/own").await.is_hit());
    assert!(site.get("/o/elsewhere").await.is_hit());
    assert!(site.get("/o/failed").await.is_hit());
    assert!(site.get("/o/beside").await.is_hit());
    site.origin
        .set("/good", answer(303, "/sub/../beside?y=2", ""));
    site.ask("POST", "/o/good", &[]).await;
    assert!(!site.get("/o/beside").await.is_hit());
}

// req: ED-05
#[tokio::test]
async fn an_origin_may_be_one_that_is_only_read() {
    let site = Site::with(|text| text.writes = false).await;
    let post = site.ask("POST", "/o/a", &[]).await;
    assert_eq!((post.status, post.header("allow")), (405, "GET, HEAD"));
    assert_eq!(site.asked(), 0);
}

// req: ED-11
#[tokio::test]
async fn a_purge_leaves_no_stale_answer() {
    let site = Site::start().await;
    for path in ["/a/1", "/a/2", "/b/1"] {
        site.origin
            .set(path, fresh("one", 100).header("surrogate-key", "all red"));
    }
    site.origin
        .set("/c", fresh("one", 100).header("cache-tag", "blue, all"));
    let paths = ["/o/a/1", "/o/a/2", "/o/b/1", "/o/c"];
    let fill = async || {
        for path in paths {
            site.get(path).await;
        }
    };
    let hits = async || {
        let mut hits = Vec::new();
        for path in paths {
            let only = [("cache-control", "only-if-cached")];
            hits.push(site.get_with(path, &only).await.is_hit());
        }
        hits
    };
    fill().await;
    assert_eq!(
        site.origins.purge(&Purge::Url("/o/a/1".to_owned())).await,
        1
    );
    assert_eq!(hits().await, [false, true, true, true]);
    fill().await;
    assert_eq!(
        site.origins.purge(&Purge::Prefix("/o/a".to_owned())).await,
        2
    );
    assert_eq!(hits().await, [false, false, true, true]);
    fill().await;
    assert_eq!(site.origins.purge(&Purge::Tag("red".to_owned())).await, 3);
    assert_eq!(hits().await, [false, false, false, true]);
    fill().await;
    assert_eq!(site.origins.purge(&Purge::Tag("all".to_owned())).await, 4);
    assert_eq!(
        site.origins
            .purge(&Purge::Url("/elsewhere".to_owned()))
            .await,
        0
    );
}

// req: ED-11
#[tokio::test]
async fn what_was_under_way_when_it_was_purged_is_not_kept() {
    let site = Site::start().await;
    site.origin
        .set("/a", fresh("old", 100).delay(Duration::from_millis(300)));
    let (first, ()) = tokio::join!(site.get("/o/a"), async {
        site.until(|| site.asked() == 1).await;
        site.origins.purge(&Purge::Url("/o/a".to_owned())).await;
    });
    assert_eq!(first.text(), "old");
    site.origin.set("/a", fresh("new", 100));
    assert_eq!(site.get("/o/a").await.text(), "new");
}
