//! Ready representations, kept by how much they are asked for, within so many bytes.

use std::sync::Arc;

use hashbrown::DefaultHashBuilder;
use quick_cache::Weighter;
use quick_cache::sync::{Cache, DefaultLifecycle, PlaceholderGuard};

use crate::negotiate::Form;
use crate::representation::Representation;

/// Which representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// Of a pack as it was mounted, so that what replaces it never shares a key.
    Tile {
        mount: u64,
        tile: u64,
        form: Form,
        /// Stands in its head, and may be another in the next config.
        max_age_s: u32,
        /// As does who may read it, where that is everybody.
        open: bool,
    },
    /// What a hash stands for is never anything else.
    Object(verified_store::Hash),
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<Key, Arc<Representation>> for ByBytes {
    fn weight(&self, _key: &Key, representation: &Arc<Representation>) -> u64 {
        representation.weight()
    }
}

/// The representations. A look at one takes a short read lock on a part of them, and allocates nothing.
pub(crate) struct Memory {
    cache: Cache<Key, Arc<Representation>, ByBytes, DefaultHashBuilder>,
}

type Placeholder<'a> = PlaceholderGuard<
    'a,
    Key,
    Arc<Representation>,
    ByBytes,
    DefaultHashBuilder,
    DefaultLifecycle<Key, Arc<Representation>>,
>;

/// The right to make a representation that others wait for; dropped unused it goes to the next of them.
pub(crate) struct Turn<'a>(Placeholder<'a>);

impl Turn<'_> {
    /// It is made.
    pub(crate) fn made(self, representation: Arc<Representation>) {
        // Where it could not be kept, those who wait make it again.
        let _kept = self.0.insert(representation);
    }
}

/// What a wait comes to.
pub(crate) enum Waited<'a> {
    Made(Arc<Representation>),
    Turn(Turn<'a>),
}

/// How large a representation usually is; only used to size tables ahead.
const USUAL_BYTES: u64 = 16 * 1024;

impl Memory {
    pub(crate) fn new(bytes: u64) -> Self {
        let usual = usize::try_from(bytes / USUAL_BYTES).unwrap_or(usize::MAX);
        Self {
            cache: Cache::with(
                usual.clamp(16, 1 << 16),
                bytes,
                ByBytes,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
        }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Representation>> {
        self.cache.get(key)
    }

    pub(crate) fn keep(&self, key: Key, representation: Arc<Representation>) {
        self.cache.insert(key, representation);
    }

    /// Waits for whoever makes it now, or gets the turn to.
    pub(crate) async fn wait(&self, key: &Key) -> Waited<'_> {
        match self.cache.get_value_or_guard_async(key).await {
            Ok(made) => Waited::Made(made),
            Err(turn) => Waited::Turn(Turn(turn)),
        }
    }

    /// Keeps no more than this from now on.
    pub(crate) fn resize(&self, bytes: u64) {
        self.cache.set_capacity(bytes);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.cache.weight()
    }

    pub(crate) fn count(&self) -> usize {
        self.cache.len()
    }
}
