use std::pin::Pin;
use std::sync::Barrier;
use std::task::{Context, Waker};
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, HeaderValue};
use kernel::Kernel;
use kernel::limits::{BLOCKING_QUEUE, BLOCKING_THREADS};
use kernel::reject::Reject;

use super::*;
use crate::config::{EdgeText, PackText};
use crate::demo::WORLD;
use crate::edge::Edge;
use crate::packs;

/// An edge with the demonstration's pack mounted.
async fn edge(home: &tempfile::TempDir) -> Arc<Edge> {
    let path = home.path().join("world.pmtiles");
    std::fs::write(&path, WORLD).unwrap();
    let pack = PackText {
        name: "world".to_owned(),
        path: path.to_str().unwrap().to_owned(),
    };
    let text = EdgeText {
        packs: vec![pack],
        ..EdgeText::default()
    };
    let (kernel, _publisher) = Kernel::new();
    let edge = Edge::new(&kernel, &text, 1024).unwrap();
    packs::follow(&edge).await.unwrap();
    edge
}

async fn found(edge: &Edge, coding: &'static str) -> Result<Option<Arc<Representation>>, Refusal> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(coding));
    let world = edge.shared.catalogue.find("world").unwrap();
    let at = TileAddress::new(0, 0, 0).unwrap();
    find(&edge.shared, &edge.plan(), &world, at, &headers).await
}

type Job = Pin<Box<dyn Future<Output = Result<(), Reject>>>>;

/// A disk that stands still, with all who may wait for it. Goes on when it is dropped.
struct Stall {
    barrier: Arc<Barrier>,
    _jobs: Vec<Job>,
}

impl Drop for Stall {
    fn drop(&mut self) {
        self.barrier.wait();
    }
}

fn stall(edge: &Edge) -> Stall {
    let barrier = Arc::new(Barrier::new(BLOCKING_THREADS + 1));
    let job = |_| -> Job {
        let (disk, barrier) = (edge.shared.disk.clone(), barrier.clone());
        Box::pin(async move {
            disk.run(move || {
                barrier.wait();
            })
            .await
        })
    };
    let mut jobs: Vec<Job> = (0..BLOCKING_THREADS + BLOCKING_QUEUE).map(job).collect();
    // One look gives each its thread, or its place to wait for one.
    let mut nobody = Context::from_waker(Waker::noop());
    for job in &mut jobs {
        assert!(job.as_mut().poll(&mut nobody).is_pending());
    }
    Stall {
        barrier,
        _jobs: jobs,
    }
}

// req: ED-10, ED-07
#[tokio::test]
async fn a_tile_is_read_once_and_made_over_once() {
    let home = tempfile::tempdir().unwrap();
    let edge = edge(&home).await;
    for coding in ["gzip", "identity"] {
        let first = found(&edge, coding).await.unwrap().unwrap();
        let again = found(&edge, coding).await.unwrap().unwrap();
        assert!(Arc::ptr_eq(&first, &again), "{coding}");
    }
}

// req: ED-10
// attack: J-09
#[tokio::test]
async fn a_disk_that_stands_still_keeps_nobody_from_what_is_ready() {
    let home = tempfile::tempdir().unwrap();
    let edge = edge(&home).await;
    found(&edge, "gzip").await.unwrap().unwrap();
    let stalled = stall(&edge);
    let warm = tokio::time::timeout(Duration::from_secs(10), found(&edge, "gzip"));
    assert!(warm.await.expect("at once").unwrap().is_some());
    // To make it over needs a thread, and there is none, nor a place to wait for one.
    let cold = tokio::time::timeout(Duration::from_secs(10), found(&edge, "identity"));
    assert!(matches!(
        cold.await.expect("at once"),
        Err(Refusal::DiskBusy)
    ));
    drop(stalled);
}

// req: ED-12
#[tokio::test]
async fn a_ready_tile_says_who_may_read_it_by_the_config_in_force() {
    let home = tempfile::tempdir().unwrap();
    let edge = edge(&home).await;
    let world = edge.shared.catalogue.find("world").unwrap();
    let at = TileAddress::new(0, 0, 0).unwrap();
    let mut text = edge.plan().text.clone();
    text.cors.origins = vec!["https://maps.test".to_owned()];
    let (open, listed) = (edge.plan(), Plan::new(&text).unwrap());
    for (plan, says) in [(&*open, true), (&listed, false), (&*open, true)] {
        let tile = find(&edge.shared, plan, &world, at, &HeaderMap::new()).await;
        let tile = tile.ok().flatten().unwrap();
        let said = tile.headers.contains_key("access-control-allow-origin");
        assert_eq!(said, says);
    }
}
