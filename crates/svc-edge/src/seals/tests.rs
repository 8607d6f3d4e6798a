use http::HeaderValue;
use http_rules::digest::Algorithm;
use verified_store::Hash;

use super::*;
use crate::config::EdgeText;
use crate::edge::Edge;
use crate::representation::{Content, Facts};

fn edge(open_files: u64) -> Arc<Edge> {
    let (kernel, _publisher) = Kernel::new();
    Edge::new(&kernel, &EdgeText::default(), open_files).unwrap()
}

/// Something in memory, of so many bytes.
fn kept(edge: &Edge, bytes: usize) -> (Key, Arc<Representation>) {
    let bytes: Vec<u8> = (0..bytes).map(|at| (at / 7) as u8).collect();
    let key = Key::Object(Hash::of(&bytes));
    let facts = Facts::json(HeaderValue::from_static("no-cache"));
    let made = Arc::new(Representation::of_bytes(bytes.into(), facts));
    edge.shared.memory.keep(key, made.clone());
    (key, made)
}

/// Seals what waits for it.
async fn settle(edge: &Edge) {
    while let Some((key, found)) = edge.shared.seals.waiting.try_recv() {
        seal(&edge.shared, key, found).await;
    }
}

fn bytes(representation: &Representation) -> Bytes {
    match &representation.content {
        Content::Bytes(bytes) => bytes.clone(),
        Content::File(_) => panic!("not in memory"),
    }
}

// req: ED-10
#[tokio::test]
async fn a_large_answer_that_is_hit_is_sealed_and_is_the_same() {
    let edge = edge(1024);
    let (key, plain) = kept(&edge, 100_001);
    edge.shared.seals.hit(key, &plain);
    assert!(plain.seal().is_none(), "who hits it waits for nothing");
    settle(&edge).await;
    let sealed = edge.shared.memory.get(&key).unwrap();
    assert_eq!(
        sealed.seal().map(Sealed::bytes),
        Some(&bytes(&plain)),
        "what is sent"
    );
    assert_eq!(bytes(&sealed), bytes(&plain));
    assert_eq!(sealed.headers, plain.headers);
    let digest = |of: &Representation| of.digest(Algorithm::Sha256).cloned();
    assert_eq!(digest(&sealed), digest(&plain));
    assert!(edge.shared.memory.bytes() >= 100_001, "it is counted");
    assert_eq!(edge.shared.memory.count(), 1, "and kept once");
}

// req: ED-10
#[tokio::test]
async fn a_small_answer_stays_where_it_is() {
    let edge = edge(1024);
    let (key, small) = kept(&edge, LEAST_BYTES - 1);
    edge.shared.seals.hit(key, &small);
    settle(&edge).await;
    assert!(edge.shared.memory.get(&key).unwrap().seal().is_none());
}

// req: ED-09, ED-10
#[tokio::test]
async fn no_more_are_sealed_than_there_may_be_files_and_a_place_is_free_again_when_one_goes() {
    // Three of them.
    let edge = edge(48);
    let all: Vec<_> = (0..5).map(|more| kept(&edge, 40_000 + more)).collect();
    let sealed = |edge: &Edge| {
        let found = all
            .iter()
            .filter_map(|(key, _)| edge.shared.memory.get(key));
        found.filter(|one| one.seal().is_some()).count()
    };
    for _ in 0..2 {
        for (key, _) in &all {
            let found = edge.shared.memory.get(key).unwrap();
            edge.shared.seals.hit(*key, &found);
        }
        settle(&edge).await;
        assert_eq!(sealed(&edge), 3);
    }
    edge.shared.memory.resize(0);
    assert_eq!(edge.shared.seals.held.load(Ordering::Relaxed), 0);
}

// req: ED-13
#[tokio::test]
async fn where_nothing_may_be_sealed_nobody_tries() {
    let edge = edge(15);
    let (key, plain) = kept(&edge, 100_000);
    edge.shared.seals.hit(key, &plain);
    assert!(edge.shared.seals.waiting.try_recv().is_none());
}
