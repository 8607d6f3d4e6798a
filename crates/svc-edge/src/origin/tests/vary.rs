use super::*;

async fn site() -> Site {
    Site::with(|text| text.forward.push("foo".to_owned())).await
}

// req: ED-05
#[tokio::test]
async fn each_variant_is_kept_for_itself() {
    let site = site().await;
    site.origin
        .set("/a", fresh("one", 100).header("vary", "foo"));
    site.get_with("/o/a", &[("foo", "1")]).await;
    site.origin
        .set("/a", fresh("two", 100).header("vary", "foo"));
    let second = site.get_with("/o/a", &[("foo", "2")]).await;
    assert_eq!(second.text(), "two");
    assert!(second.did().contains("fwd=vary-miss"), "{}", second.did());
    assert_eq!(site.get_with("/o/a", &[("foo", "1")]).await.text(), "one");
    assert!(
        site.get_with("/o/a", &[("foo", "2"), ("other", "3")])
            .await
            .is_hit()
    );
    assert!(!site.get("/o/a").await.is_hit());
    assert_eq!(site.asked(), 3);
}

// req: ED-05
#[tokio::test]
async fn requests_that_mean_the_same_share_a_variant() {
    let site = site().await;
    site.origin
        .set("/a", fresh("one", 100).header("vary", "accept-language"));
    site.get_with("/o/a", &[("accept-language", "en, de")])
        .await;
    assert!(
        site.get_with("/o/a", &[("accept-language", "DE ,en")])
            .await
            .is_hit()
    );
    site.origin
        .set("/b", fresh("one", 100).header("vary", "foo"));
    site.get_with("/o/b", &[("foo", "1, 2")]).await;
    assert!(
        site.get_with("/o/b", &[("foo", "1"), ("foo", "2")])
            .await
            .is_hit()
    );
}

// req: ED-05
#[tokio::test]
async fn an_answer_that_forgot_on_what_it_depends_does_not_hide_those_that_say_so() {
    let site = site().await;
    site.origin
        .set("/a", fresh("one", 100).header("vary", "foo"));
    site.get_with("/o/a", &[("foo", "1")]).await;
    site.origin.set("/a", fresh("for all", 100));
    assert_eq!(site.get("/o/a").await.text(), "for all");
    let made_for_it = site.get_with("/o/a", &[("foo", "1")]).await;
    assert!(made_for_it.is_hit());
    assert_eq!(made_for_it.text(), "one");
    let another = site.get_with("/o/a", &[("foo", "2")]).await;
    assert!(another.is_hit());
    assert_eq!(another.text(), "for all");
    assert_eq!(site.asked(), 2);
}

// req: ED-05
#[tokio::test]
async fn whatever_answered_a_request_is_replaced_by_what_answers_it_now() {
    let site = site().await;
    let now = [("foo", "1"), ("cache-control", "no-cache")];
    site.origin.set("/a", fresh("for all", 100));
    site.get_with("/o/a", &[("foo", "1")]).await;
    site.origin
        .set("/a", fresh("one", 100).header("vary", "foo"));
    assert_eq!(site.get_with("/o/a", &now).await.text(), "one");
    assert!(!site.get_with("/o/a", &[("foo", "2")]).await.is_hit());
    site.origin.set("/a", fresh("for all again", 100));
    assert_eq!(site.get_with("/o/a", &now).await.text(), "for all again");
    let again = site.get_with("/o/a", &[("foo", "1")]).await;
    assert_eq!((again.text(), again.is_hit()), ("for all again", true));
}

// req: ED-05
#[tokio::test]
async fn a_header_that_is_absent_is_another_than_one_that_is_empty() {
    let site = site().await;
    site.origin
        .set("/a", fresh("none", 100).header("vary", "foo, bar"));
    site.get("/o/a").await;
    assert!(site.get("/o/a").await.is_hit());
    assert!(!site.get_with("/o/a", &[("foo", "")]).await.is_hit());
    assert!(site.get_with("/o/a", &[("bar", "2")]).await.is_hit());
}

// req: ED-05
// attack: L-10
#[tokio::test]
async fn variants_without_end_keep_to_their_bound() {
    let site = Site::with(|text| {
        text.forward.push("foo".to_owned());
        text.variants = 4;
    })
    .await;
    site.origin
        .set("/a", fresh("one", 100).header("vary", "foo"));
    for number in 0..40 {
        let number = number.to_string();
        assert_eq!(site.get_with("/o/a", &[("foo", &number)]).await.status, 200);
    }
    let target = site
        .origins
        .find("/o/a")
        .unwrap()
        .target(&"/o/a".parse().unwrap())
        .unwrap();
    let kept = site.origins.desk.kept.get(&target.key).unwrap();
    assert_eq!(kept.variants.len(), 4);
    assert!(site.get_with("/o/a", &[("foo", "39")]).await.is_hit());
    assert!(!site.get_with("/o/a", &[("foo", "0")]).await.is_hit());
}
