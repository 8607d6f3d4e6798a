//! The shared entries of keys beyond the cap: each key uses two of them, picked by its hash, so
//! that hardly two keys share both.

use crate::entry::Counts;
use crate::handle::{KeyHandle, Node};
use crate::sync::counter::{AtomicU64, Relaxed};
use crate::sync::{Arc, Mutex, lock};

pub(super) struct Overflow<K> {
    nodes: Mutex<Nodes<K>>,
    /// Lookups that ended here.
    lookups: AtomicU64,
}

struct Nodes<K> {
    /// Made on first use; the key inside is that of the first to come and means nothing.
    shared: Vec<Option<Arc<Node<K>>>>,
    retired: Counts,
}

impl<K> Overflow<K> {
    pub(super) fn new(entries: usize) -> Self {
        let nodes = Nodes {
            shared: (0..entries).map(|_| None).collect(),
            retired: Counts::default(),
        };
        Self {
            nodes: Mutex::new(nodes),
            lookups: AtomicU64::new(0),
        }
    }

    /// Whether anybody holds one of the two entries of this key. Asked under the lock of the key's
    /// shard, under which alone the key can come here.
    pub(super) fn is_in_use(&self, hash: u64) -> bool {
        if self.lookups() == 0 {
            return false;
        }
        let mut nodes = lock(&self.nodes);
        pair(hash, nodes.shared.len()).into_iter().any(|number| {
            let node = nodes.shared[number].as_mut();
            node.is_some_and(|node| Arc::get_mut(node).is_none())
        })
    }

    pub(super) fn handle(&self, hash: u64, key: &K, make: impl Fn(&K) -> Node<K>) -> KeyHandle<K> {
        let mut nodes = lock(&self.nodes);
        self.lookups.fetch_add(1, Relaxed);
        let [one, other] = pair(hash, nodes.shared.len()).map(|number| {
            let node = nodes.shared[number].get_or_insert_with(|| Arc::new(make(key)));
            Arc::clone(node)
        });
        KeyHandle::shared(one, other)
    }

    pub(super) fn sweep(&self, evictable: impl Fn(&mut Arc<Node<K>>) -> bool) {
        let mut nodes = lock(&self.nodes);
        let Nodes { shared, retired } = &mut *nodes;
        for place in shared {
            if let Some(node) = place.take_if(|node| evictable(node)) {
                *retired += node.entry.counts();
            }
        }
    }

    pub(super) fn counts(&self) -> Counts {
        let nodes = lock(&self.nodes);
        let mut sum = nodes.retired;
        let live = nodes.shared.iter().flatten();
        live.for_each(|node| sum += node.entry.counts());
        sum
    }

    pub(super) fn each(&self, mut visit: impl FnMut(usize, &Arc<Node<K>>)) {
        let nodes = lock(&self.nodes);
        for (number, node) in nodes.shared.iter().enumerate() {
            if let Some(node) = node {
                visit(number, node);
            }
        }
    }

    pub(super) fn lookups(&self) -> u64 {
        self.lookups.load(Relaxed)
    }
}

/// Two different numbers below `entries`, which is at least two.
fn pair(hash: u64, entries: usize) -> [usize; 2] {
    let (high, low) = ((hash >> 32) as usize, (hash & 0xffff_ffff) as usize);
    let one = high % entries;
    let other = low % (entries - 1);
    [one, if other < one { other } else { other + 1 }]
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::HashSet;

    use super::pair;

    // req: GT-11
    #[test]
    fn every_pair_of_different_entries_is_used() {
        let mut rng = testkit::sim::Rng::with_seed(7);
        let pairs: HashSet<_> = (0..2_000).map(|_| pair(rng.u64(..), 8)).collect();
        assert_eq!(pairs.len(), 8 * 7);
        assert!(pairs.iter().all(|[one, other]| one != other));
    }
}
