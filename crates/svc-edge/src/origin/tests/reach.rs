use super::*;
use crate::config::{QueryText, RedirectsText};

// req: ED-08
// attack: F-10, F-11, F-12, F-17, F-18, L-04
#[tokio::test]
async fn only_hosts_that_are_listed_to_the_letter_are_asked() {
    let site = Site::with(|text| {
        text.hosts = text.to.take().into_iter().collect();
    })
    .await;
    let host = site.origin.addr().to_string();
    assert_eq!(site.get(&format!("/o/{host}/a")).await.status, 200);
    let port = site.origin.addr().port();
    let others = [
        "evil.example".to_owned(),
        format!("{host}.evil.example"),
        format!("evil-{host}"),
        format!("ok@{host}"),
        format!("{host}."),
        format!("127.0.0.1:{}", port.wrapping_add(1)),
        format!("2130706433:{port}"),
        format!("0177.0.0.1:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("http:%2f%2f{host}"),
        "127.0.0.1".to_owned(),
        String::new(),
    ];
    for other in others {
        let answer = site.get(&format!("/o/{other}/a")).await;
        assert_eq!(
            (answer.status, answer.reason),
            (403, "not-allowed"),
            "{other}"
        );
    }
    assert_eq!(site.asked(), 1);
}

// req: ED-08
// attack: F-15, L-01
#[tokio::test]
async fn an_address_that_is_not_public_is_not_dialled() {
    let site = Site::with(|text| {
        text.private_networks.clear();
        text.tries = 1;
    })
    .await;
    let answer = site.get("/o/a").await;
    assert_eq!((answer.status, answer.reason), (502, "origin-unreachable"));
    assert_eq!(site.origin.connections(), 0);
}

// req: ED-08
// attack: F-13, F-14, L-03
#[tokio::test]
async fn a_redirect_is_followed_only_to_who_may_be_asked() {
    let site = Site::start().await;
    let host = site.origin.addr();
    let to = |location: &str| Reply::status(302).header("location", location);
    site.origin.set("/end", fresh("there", 100));
    site.origin.set("/near", to("/end"));
    site.origin.set("/whole", to(&format!("http://{host}/end")));
    site.origin.set("/net", to(&format!("//{host}/end")));
    site.origin.set("/beside", to("end"));
    site.origin.set("/below/it", to("./../end#part"));
    for path in ["/o/near", "/o/whole", "/o/net", "/o/beside", "/o/below/it"] {
        assert_eq!(site.get(path).await.text(), "there", "{path}");
        assert!(site.get(path).await.is_hit(), "{path}");
    }
    let away = [
        "http://169.254.169.254/latest".to_owned(),
        "https://evil.example/".to_owned(),
        format!("https://{host}/end"),
        format!("http://a@{host}/end"),
        "//evil.example/".to_owned(),
        format!("//a@{host}/end"),
        "mailto:end".to_owned(),
        format!("http://127.0.0.1:{}/", host.port().wrapping_add(1)),
    ];
    for (number, location) in away.iter().enumerate() {
        site.origin.set("/away", to(location));
        let answer = site.get(&format!("/o/away?{number}")).await;
        assert_eq!(
            (answer.status, answer.reason),
            (502, "origin-redirect"),
            "{location}"
        );
    }
    site.origin.set("/round", to("/round"));
    assert_eq!(site.get("/o/round").await.reason, "origin-redirect");
    let passing = Site::with(|text| text.redirects = RedirectsText::Pass).await;
    passing
        .origin
        .set("/away", to("https://elsewhere.example/"));
    let answer = passing.get("/o/away").await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (302, "https://elsewhere.example/")
    );
}

// req: ED-04
// attack: F-23
#[tokio::test]
async fn a_request_that_comes_back_is_a_loop() {
    let site = Site::start().await;
    site.origin.set("/a", fresh("one", 100));
    site.get("/o/a").await;
    let name = site.origin_saw("cdn-loop").unwrap();
    assert!(site.origin_saw("via").unwrap().ends_with(&name));
    let answer = site
        .get_with("/o/b", &[("cdn-loop", &format!("other, {name}; v=1"))])
        .await;
    assert_eq!((answer.status, answer.reason), (508, "loop"));
    assert_eq!(site.asked(), 1);
    site.get_with("/o/b", &[("cdn-loop", "other")]).await;
    let trail = site.origin.requests().last().unwrap().head.clone().unwrap();
    let trail: Vec<String> = trail.headers.all("cdn-loop").map(str::to_owned).collect();
    assert_eq!(trail, ["other".to_owned(), name]);
}

// req: ED-05
// attack: F-22, L-09, L-11
#[tokio::test]
async fn a_query_is_a_part_of_the_key_or_none_at_all() {
    let site = Site::start().await;
    site.origin.set("/a", fresh("one", 100));
    site.get("/o/a?x=1").await;
    assert!(site.get("/o/a?x=1").await.is_hit());
    for other in ["/o/a", "/o/a?x=2", "/o/a?x=1&y", "/o/a%3fx=1", "/o/a;x.css"] {
        assert!(!site.get(other).await.is_hit(), "{other}");
    }
    let dropping = Site::with(|text| text.query = QueryText::Drop).await;
    dropping.origin.set("/a", fresh("one", 100));
    dropping.get("/o/a?x=1").await;
    assert!(dropping.get("/o/a?x=2").await.is_hit());
    assert_eq!(
        dropping.origin.requests()[0].head.as_ref().unwrap().target,
        "/a"
    );
    let refusing = Site::with(|text| text.query = QueryText::Refuse).await;
    assert_eq!(refusing.get("/o/a?x=1").await.reason, "query-refused");
}

// req: ED-04
#[tokio::test]
async fn paths_are_asked_for_as_they_lie_behind_the_mount() {
    let site = Site::with(|text| text.path = "/base/".to_owned()).await;
    for (path, asked) in [("/o/a/b", "/base/a/b"), ("/o", "/base/"), ("/o/", "/base/")] {
        site.get(path).await;
        let requests = site.origin.requests();
        assert_eq!(
            requests.last().unwrap().head.as_ref().unwrap().target,
            asked,
            "{path}"
        );
    }
    assert!(site.origins.find("/other").is_none());
    assert!(site.origins.find("/osm").is_none());
}
