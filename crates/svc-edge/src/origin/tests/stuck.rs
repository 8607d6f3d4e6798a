//! A disk that stands still while answers are looked for, written down and forgotten there.

use super::*;
use crate::flight::Course;
use kernel::limits::{BLOCKING_QUEUE, BLOCKING_THREADS};
use verified_store::Limits;

/// A disk that does nothing until it goes on.
struct Stuck(Vec<JoinHandle<()>>, Arc<OnceLock<()>>);

impl Stuck {
    /// With so many who wait for it already.
    async fn with(site: &Site, waiting: usize) -> Self {
        site.until(|| site.is_at_rest()).await;
        let gate = Arc::new(OnceLock::new());
        let job = || {
            let (disk, gate) = (site.disk.clone(), gate.clone());
            async move {
                let held = disk.run(move || *gate.wait());
                held.await.unwrap();
            }
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "each is there on its own account"
        )]
        let jobs = (0..BLOCKING_THREADS + waiting).map(|_| tokio::spawn(job()));
        let stuck = Self(jobs.collect(), gate.clone());
        let jobs = site.kernel.registry.gauge(&kernel::blocking::IN_USE, &[]);
        let all = (BLOCKING_THREADS + waiting) as i64;
        site.until(|| jobs.get() == all).await;
        stuck
    }

    async fn goes_on(mut self) {
        self.let_go();
        for job in std::mem::take(&mut self.0) {
            job.await.unwrap();
        }
    }

    fn let_go(&self) {
        let _let_go_before = self.1.set(());
    }
}

/// A test that fails ends all the same.
impl Drop for Stuck {
    fn drop(&mut self) {
        self.let_go();
    }
}

async fn site(fill_ms: u64) -> (tempfile::TempDir, Store, Site) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Limits::of_bytes(64 << 20)).unwrap();
    let site = Site::on(Some(store.clone()), |text| text.fill_ms = fill_ms).await;
    (dir, store, site)
}

// req: ED-03, ED-04
// attack: J-09
#[tokio::test]
async fn who_finds_the_disk_standing_still_is_answered_by_the_origin() {
    let (_dir, store, site) = site(500).await;
    site.origin.set("/a", fresh("one", 100));
    let stuck = Stuck::with(&site, 0).await;
    let answer = tokio::time::timeout(Duration::from_secs(20), site.get("/o/a")).await;
    assert_eq!(answer.unwrap().text(), "one");
    stuck.goes_on().await;
    site.until(|| store.stats().records == 1).await;
}

// req: ED-11
#[tokio::test]
async fn what_has_landed_is_forgotten_although_it_is_still_being_written_down() {
    let (_dir, store, site) = site(500).await;
    site.origin.set("/a", fresh("one", 100));
    let stuck = Stuck::with(&site, 0).await;
    assert_eq!(site.get("/o/a").await.text(), "one");
    site.origins.desk.board.make_void(|_| true);
    stuck.goes_on().await;
    site.until(|| site.is_at_rest()).await;
    assert_eq!(store.stats().records, 0);
}

// req: ED-11
#[tokio::test]
async fn a_purge_for_which_the_disk_has_no_room_leaves_no_stale_answer_either() {
    for way in ["purge", "POST"] {
        let (_dir, store, site) = site(5_000).await;
        site.origin.set("/a", fresh("one", 100));
        site.get("/o/a").await;
        site.until(|| store.stats().records == 1).await;
        let stuck = Stuck::with(&site, BLOCKING_QUEUE).await;
        site.origin.set("/a", fresh("two", 100));
        match way {
            "purge" => {
                site.origins.purge(&Purge::Prefix("/o/".to_owned())).await;
            }
            way => {
                site.ask(way, "/o/a", &[]).await;
            }
        }
        stuck.goes_on().await;
        assert_eq!(site.get("/o/a").await.text(), "two", "{way}");
    }
}

// req: ED-04
#[tokio::test]
async fn who_sets_out_is_not_one_too_many_though_others_wait_already() {
    let site = Site::with(|text| text.waiters = 1).await;
    site.origin.set("/a", fresh("one", 100));
    let (parts, ()) = Request::get("/o/a").body(()).unwrap().into_parts();
    let mount = site.origins.find("/o/a").unwrap();
    let target = mount.target(&parts.uri).unwrap();
    let trip = Trip::new(&target, &parts, Wish::default());
    let course: Course = (target.key.clone(), None);
    let (flight, is_new) = site.origins.desk.board.join(&course);
    let other = flight.wait(1).unwrap();
    let answer = site.origins.ride(&trip, &flight, course, is_new).await;
    assert_eq!(answer.unwrap().unwrap().status(), 200);
    drop(other);
}
