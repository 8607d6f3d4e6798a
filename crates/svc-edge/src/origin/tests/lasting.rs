use super::*;
use verified_store::Limits;

fn open(dir: &std::path::Path) -> Store {
    Store::open(dir, Limits::of_bytes(64 << 20)).unwrap()
}

async fn settled(site: &Site, store: &Store, records: u64) {
    site.until(|| store.stats().records == records && site.is_at_rest())
        .await;
}

/// Ends the node with all that has the store open; the origin lives on.
async fn ended(site: Site, store: Store) -> Upstream {
    site.kernel.requests.request();
    site.node.await.unwrap();
    drop((store, site.origins));
    site.origin
}

// req: ED-03, ED-05
#[tokio::test]
async fn what_is_kept_on_a_disk_outlives_the_node() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let site = Site::on(Some(store.clone()), |text| {
        text.forward.push("foo".to_owned())
    })
    .await;
    site.origin.set(
        "/a",
        fresh("one", 100).header("vary", "foo").header("x-a", "1"),
    );
    site.get_with("/o/a", &[("foo", "1")]).await;
    site.get_with("/o/a", &[("foo", "2")]).await;
    let written = || store.records().all(|(_, record)| record.objects.len() == 2);
    site.until(|| store.stats().records == 1 && written()).await;
    let origin = ended(site, store).await;
    let again = Site::before(origin, Some(open(dir.path())), |text| {
        text.forward.push("foo".to_owned())
    });
    for foo in ["1", "2"] {
        let hit = again.get_with("/o/a", &[("foo", foo)]).await;
        assert!(hit.is_hit(), "{foo}: {}", hit.did());
        assert_eq!((hit.text(), hit.header("x-a")), ("one", "1"));
    }
    assert!(!again.get_with("/o/a", &[("foo", "3")]).await.is_hit());
    assert_eq!(again.asked(), 3);
}

// req: ED-05
// attack: H-05
#[tokio::test]
async fn a_clock_that_was_ahead_makes_nothing_fresh_for_longer() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let site = Site::on(Some(store.clone()), |_| {}).await;
    site.later(3_600);
    site.origin
        .set("/a", fresh("one", 100).header("etag", "\"a\""));
    site.get("/o/a").await;
    settled(&site, &store, 1).await;
    let origin = ended(site, store).await;
    let again = Site::before(origin, Some(open(dir.path())), |_| {});
    let answer = Reply::status(304).header("etag", "\"a\"");
    again
        .origin
        .set("/a", answer.header("cache-control", "max-age=100"));
    let asked = again.get("/o/a").await;
    assert_eq!((asked.text(), asked.is_hit()), ("one", false));
    assert_eq!(again.origin_saw("if-none-match").unwrap(), "\"a\"");
    assert!(again.get("/o/a").await.is_hit());
}

// req: ED-11
#[tokio::test]
async fn what_is_purged_or_changed_does_not_come_back_from_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let site = Site::on(Some(store.clone()), |_| {}).await;
    for path in ["/a", "/b", "/c"] {
        site.origin
            .set(path, fresh("one", 100).header("cache-tag", "red"));
        site.get(&format!("/o{path}")).await;
    }
    settled(&site, &store, 3).await;
    // Whoever read from the disk before this does not take it back into memory after.
    let removals = || site.origins.desk.shelf.removals();
    let before = removals();
    site.origins.purge(&Purge::Url("/o/a".to_owned())).await;
    let between = removals();
    site.ask("POST", "/o/b", &[]).await;
    assert!(before < between && between < removals());
    assert_eq!(store.stats().records, 1);
    for (path, hit) in [("/o/a", false), ("/o/b", false), ("/o/c", true)] {
        site.origins.desk.kept.forget(|_, _| true);
        assert_eq!(site.get(path).await.is_hit(), hit, "{path}");
    }
    settled(&site, &store, 3).await;
    assert_eq!(site.origins.purge(&Purge::Tag("red".to_owned())).await, 3);
    assert_eq!(store.stats().records, 0);
}

// req: ED-03
// attack: J-05, L-17
#[tokio::test]
async fn what_rotted_on_the_disk_is_fetched_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let site = Site::on(Some(store.clone()), |_| {}).await;
    site.origin.set("/a", fresh("the bytes that rot", 100));
    site.get("/o/a").await;
    settled(&site, &store, 1).await;
    let rotten = rot(dir.path());
    assert!(rotten, "the object was not found on the disk");
    site.origins.desk.kept.forget(|_, _| true);
    let answer = site.get("/o/a").await;
    assert_eq!(
        (answer.text(), answer.is_hit()),
        ("the bytes that rot", false)
    );
    assert_eq!(site.asked(), 2);
}

/// Flips a bit wherever the bytes lie.
fn rot(dir: &std::path::Path) -> bool {
    let mut rotten = false;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rotten |= rot(&path);
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap_or_default();
        let found = bytes
            .windows(4)
            .position(|window| window == b"rot" || window == b"the ");
        if let Some(at) = found {
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            rotten = true;
        }
    }
    rotten
}
