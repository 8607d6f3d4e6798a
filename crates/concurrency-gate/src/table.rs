//! Keys to entries: shards of a hash table, a cap, and shared entries beyond it.
//!
//! Whoever can reach an entry holds a reference to it, and references are given out under the lock
//! of the key's shard. So an entry that only the table refers to, seen under that lock, is out of
//! everybody's reach: it can be dropped, and no second one of its key lives at the same time.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc as StdArc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::bug::{Bug, seeded};
use crate::entry::{Counts, Entry, Setup};
use crate::gate::{GateConfig, GateError};
use crate::handle::{KeyHandle, Node};
use crate::sync::counter::{AtomicU64, AtomicUsize, Relaxed};
use crate::sync::{Arc, Mutex, MutexGuard, lock};

use overflow::Overflow;
use rack::Rack;

mod overflow;
mod rack;

/// A checker sees one lock rather than many that never meet.
const SHARDS: usize = if cfg!(any(loom, shuttle)) { 1 } else { 64 };

pub(crate) struct Table<K> {
    hasher: RandomState,
    shards: Box<[Apart<K>]>,
    overflow: Overflow<K>,
    default: StdArc<Setup>,
    /// Entries in the shards. Kept under `keys_max`, registered keys aside.
    keys: AtomicUsize,
    keys_max: usize,
    evicted: AtomicU64,
    closed: AtomicBool,
    min_idle_age: Duration,
    sweep_every: Duration,
}

/// Neighbours share no cache line, and none lies in two.
#[repr(align(64))]
struct Apart<K>(Mutex<Shard<K>>);

struct Shard<K> {
    nodes: Rack<Arc<Node<K>>>,
    /// What entries that are gone have counted.
    retired: Counts,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swept {
    /// Keys forgotten.
    pub evicted: usize,
    /// Keys that stay.
    pub kept: usize,
    /// When to sweep again: the interval, up to a tenth longer, so that gates do not march in step.
    pub next_in: Duration,
}

impl<K: Hash + Eq + Clone> Table<K> {
    pub(crate) fn new(config: &GateConfig, default: StdArc<Setup>) -> Self {
        let shard = || Shard {
            nodes: Rack::new(),
            retired: Counts::default(),
        };
        Self {
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Apart(Mutex::new(shard()))).collect(),
            overflow: Overflow::new(config.overflow_entries),
            default,
            keys: AtomicUsize::new(0),
            keys_max: config.keys_max,
            evicted: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            min_idle_age: config.min_idle_age,
            sweep_every: config.sweep_every,
        }
    }

    pub(crate) fn handle(&self, key: &K, now: Duration) -> KeyHandle<K> {
        let hash = self.hasher.hash_one(key);
        let mut shard = self.shard(hash);
        if let Some(node) = shard.nodes.find(hash, |node| node.key == *key) {
            return KeyHandle::own(Arc::clone(node));
        }
        // A key that shares entries keeps to them as long as anybody uses these: it must not be
        // admitted there and by an entry of its own at the same time.
        if !self.has_room() || self.overflow.is_in_use(hash) {
            return self.overflow.handle(hash, key, |key| self.node(key, now));
        }
        let node = Arc::new(self.node(key, now));
        self.insert(&mut shard, hash, Arc::clone(&node));
        KeyHandle::own(node)
    }

    pub(crate) fn register(&self, key: K, setup: StdArc<Setup>) -> Result<KeyHandle<K>, GateError> {
        let hash = self.hasher.hash_one(&key);
        let mut shard = self.shard(hash);
        if self.overflow.is_in_use(hash) {
            return Err(GateError::InUse);
        }
        if let Some(node) = shard.nodes.find_mut(hash, |node| node.key == key) {
            if node.entry.setup().registered {
                return Err(GateError::Registered);
            }
            if Arc::get_mut(node).is_none() {
                return Err(GateError::InUse);
            }
        }
        if let Some(old) = shard.nodes.remove(hash, |node| node.key == key) {
            self.retire(&mut shard, &old);
        }
        let node = Node {
            key,
            entry: self.entry(setup, Duration::ZERO),
        };
        let node = Arc::new(node);
        self.insert(&mut shard, hash, Arc::clone(&node));
        Ok(KeyHandle::own(node))
    }

    fn insert(&self, shard: &mut Shard<K>, hash: u64, node: Arc<Node<K>>) {
        let hasher = &self.hasher;
        let hash_of = |node: &Arc<Node<K>>| hasher.hash_one(&node.key);
        shard.nodes.insert(hash, node, hash_of);
        self.keys.fetch_add(1, Relaxed);
    }

    /// May be passed by as many as there are shards, when these fill up at the same moment.
    fn has_room(&self) -> bool {
        self.keys() < self.keys_max
    }

    fn node(&self, key: &K, now: Duration) -> Node<K> {
        Node {
            key: key.clone(),
            entry: self.entry(StdArc::clone(&self.default), now),
        }
    }

    /// Made under the lock of a shard, which `close` takes after it has set its mark: so no entry
    /// stays open.
    fn entry(&self, setup: StdArc<Setup>, now: Duration) -> Entry {
        let entry = Entry::new(setup, now);
        if self.closed.load(std::sync::atomic::Ordering::SeqCst) {
            entry.close();
        }
        entry
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, std::sync::atomic::Ordering::SeqCst);
        self.each(|_, node| node.entry.close());
    }

    pub(crate) fn sweep(&self, now: Duration) -> Swept {
        let mut evicted = 0;
        for Apart(shard) in &self.shards {
            let mut shard = lock(shard);
            let shard = &mut *shard;
            let retired = &mut shard.retired;
            let hash_of = |node: &Arc<Node<K>>| self.hasher.hash_one(&node.key);
            shard.nodes.retain(hash_of, |node| {
                let stays = !self.is_evictable(node, now);
                if !stays {
                    *retired += node.entry.counts();
                    evicted += 1;
                }
                stays
            });
        }
        self.keys.fetch_sub(evicted, Relaxed);
        self.evicted.fetch_add(evicted as u64, Relaxed);
        self.overflow.sweep(|node| self.is_evictable(node, now));
        Swept {
            evicted,
            kept: self.keys(),
            next_in: self.sweep_every + self.jitter(now),
        }
    }

    /// Idle for long enough, out of everybody's reach, and with nothing to remember.
    fn is_evictable(&self, node: &mut Arc<Node<K>>, now: Duration) -> bool {
        if node.entry.setup().registered {
            return false;
        }
        if Arc::get_mut(node).is_none() && !seeded(Bug::EvictUnderHandle) {
            node.entry.touch(now);
            return false;
        }
        now.saturating_sub(node.entry.used()) >= self.min_idle_age
            && node.entry.in_flight() == 0
            && node.entry.is_forgettable(now)
    }

    fn jitter(&self, now: Duration) -> Duration {
        let share = (self.hasher.hash_one(now) % 1024) as u32;
        self.sweep_every / 10 / 1024 * share
    }

    /// What all entries have counted, those gone included. Per shard under its lock, so that an
    /// entry counts once, whether it was just evicted or not.
    pub(crate) fn counts(&self) -> Counts {
        let mut sum = self.overflow.counts();
        for Apart(shard) in &self.shards {
            let shard = lock(shard);
            sum += shard.retired;
            shard
                .nodes
                .iter()
                .for_each(|node| sum += node.entry.counts());
        }
        sum
    }

    /// Every entry; those beyond the cap by their number.
    pub(crate) fn each(&self, mut visit: impl FnMut(Option<usize>, &Arc<Node<K>>)) {
        for Apart(shard) in &self.shards {
            lock(shard).nodes.iter().for_each(|node| visit(None, node));
        }
        self.overflow.each(|number, node| visit(Some(number), node));
    }

    fn retire(&self, shard: &mut Shard<K>, node: &Arc<Node<K>>) {
        shard.retired += node.entry.counts();
        self.keys.fetch_sub(1, Relaxed);
    }

    /// The rack inside takes the place from the lowest bits and the tag from the highest.
    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard<K>> {
        lock(&self.shards[(hash >> 40) as usize % SHARDS].0)
    }
}

impl<K> Table<K> {
    pub(crate) fn keys(&self) -> usize {
        self.keys.load(Relaxed)
    }

    pub(crate) fn evicted(&self) -> u64 {
        self.evicted.load(Relaxed)
    }

    pub(crate) fn shared(&self) -> u64 {
        self.overflow.lookups()
    }
}
