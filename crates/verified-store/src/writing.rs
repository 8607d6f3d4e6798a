//! An object on its way in.

use crate::proof::Hasher;
use crate::shelf::Draft;
use crate::standing::Pass;
use crate::store::Inner;
use crate::{Hash, StoreError};
use std::fmt;
use std::sync::Arc;

/// An object that is being written. Nobody sees any of it before [`commit`](Self::commit); dropping it leaves nothing.
pub struct Writing {
    store: Arc<Inner>,
    /// None once a write has failed: what then is in the draft is no prefix of anything.
    draft: Option<Draft>,
    hasher: Hasher,
    len: u64,
    announced: Option<u64>,
    /// Bytes that the index has promised.
    room: Room,
    _pass: Pass,
}

/// A writer's place and bytes in the index, given back by its end.
struct Room {
    store: Arc<Inner>,
    bytes: u64,
}

impl Writing {
    pub(crate) fn begin(store: &Arc<Inner>, announced: Option<u64>) -> Result<Self, StoreError> {
        store.is_open()?;
        let expected = announced.unwrap_or(0);
        check_len(store, expected)?;
        let pass = store.gate.pass()?;
        // Before room is made for it: a disk that takes no writes must not cost what it still serves.
        let draft = store.noted(store.shelf.draft().map_err(StoreError::from))?;
        Ok(Self {
            room: Room::take(store, store.shelf.charge(expected))?,
            store: Arc::clone(store),
            draft: Some(draft),
            hasher: Hasher::new(),
            len: 0,
            announced,
            _pass: pass,
        })
    }

    /// Adds bytes. After an error there is nothing left to commit.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let written = self.try_write(bytes);
        if written.is_err() {
            self.draft = None;
        }
        written
    }

    fn try_write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.store.is_open()?;
        let draft = self.draft.as_mut().ok_or(StoreError::Closed)?;
        let len = self.len.saturating_add(bytes.len() as u64);
        if self.announced.is_some_and(|announced| len > announced) {
            return Err(StoreError::Mismatch);
        }
        check_len(&self.store, len)?;
        self.room.grow_to(self.store.shelf.charge(len))?;
        self.store
            .noted(draft.write(bytes).map_err(StoreError::from))?;
        self.hasher.update(bytes);
        self.len = len;
        Ok(())
    }

    /// How much was written so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was written so far.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes the object visible under its hash. Returns once the disk keeps it.
    pub fn commit(self) -> Result<Hash, StoreError> {
        self.publish(None)
    }

    /// As [`commit`](Self::commit), but only if the hash is the expected one.
    pub fn commit_expecting(self, expected: Hash) -> Result<(), StoreError> {
        self.publish(Some(expected)).map(|_| ())
    }

    fn publish(mut self, expected: Option<Hash>) -> Result<Hash, StoreError> {
        self.store.is_open()?;
        let draft = self.draft.take().ok_or(StoreError::Closed)?;
        let hasher = std::mem::replace(&mut self.hasher, Hasher::new());
        let (hash, values) = hasher.finish();
        let other_len = self
            .announced
            .is_some_and(|announced| announced != self.len);
        if other_len || expected.is_some_and(|expected| expected != hash) {
            return Err(StoreError::Mismatch);
        }
        let added = self.keep(draft, &hash, &values);
        if self.store.noted(added)? {
            self.store.counters.committed.add(1);
            self.store.gate.good();
        } else {
            self.store.counters.duplicates.add(1);
        }
        Ok(hash)
    }

    /// Says whether it is new.
    fn keep(&mut self, mut draft: Draft, hash: &Hash, values: &[u8]) -> Result<bool, StoreError> {
        if self.store.index().visit(hash) {
            return Ok(false);
        }
        draft.settle(values)?;
        let store = &self.store;
        let _stripe = store.stripe(hash);
        // Another may have been faster with the same bytes.
        if store.index().visit(hash) {
            return Ok(false);
        }
        store.shelf.publish(draft, hash)?;
        let mut index = store.index();
        index.release(std::mem::take(&mut self.room.bytes));
        index.insert(*hash, self.len, store.shelf.charge(self.len));
        Ok(true)
    }
}

fn check_len(store: &Inner, len: u64) -> Result<(), StoreError> {
    let limit = store.limits.object_bytes;
    if len > limit || store.shelf.charge(len) > store.limits.bytes {
        return Err(StoreError::TooLarge { limit });
    }
    Ok(())
}

impl Room {
    fn take(store: &Arc<Inner>, bytes: u64) -> Result<Self, StoreError> {
        store.index().enter();
        let mut room = Self {
            store: Arc::clone(store),
            bytes: 0,
        };
        store.make_room(bytes)?;
        room.bytes = bytes;
        Ok(room)
    }

    fn grow_to(&mut self, bytes: u64) -> Result<(), StoreError> {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 {
            self.store.make_room(more)?;
            self.bytes += more;
        }
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.store.index().leave(self.bytes);
    }
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing")
            .field("len", &self.len)
            .field("announced", &self.announced)
            .finish_non_exhaustive()
    }
}
