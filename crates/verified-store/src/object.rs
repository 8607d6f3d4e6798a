//! An object on its way out: no byte leaves before it was checked.

use crate::proof::{self, GROUP, Proof};
use crate::shelf::Source;
use crate::store::{Inner, lock};
use crate::{Hash, StoreError};
use bytes::Bytes;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

/// A stored object, open. It stays readable and in the store for as long as this is held.
pub struct Object {
    hash: Hash,
    len: u64,
    source: Source,
    proof: Proof,
    pin: Pin,
    /// The group that was checked last, for those who read in small steps.
    last: Mutex<Option<(u64, Bytes)>>,
}

/// Keeps an object from eviction.
struct Pin {
    store: Arc<Inner>,
    id: u32,
}

impl Object {
    pub(crate) fn open(store: &Arc<Inner>, hash: &Hash) -> Option<Self> {
        let pinned = store.index().pin(hash)?;
        let pin = Pin {
            store: Arc::clone(store),
            id: pinned.id,
        };
        let source = match store.shelf.open(hash) {
            Ok(source) => source,
            Err(error) => {
                pin.could_not_open(&error);
                return None;
            }
        };
        if pinned.first {
            source.touch();
        }
        let proof = pin.proof(&source, hash, pinned.len)?;
        Some(Self {
            hash: *hash,
            len: pinned.len,
            source,
            proof,
            pin,
            last: Mutex::default(),
        })
    }

    /// Its name.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Fills `bytes` from `offset` on, and says how many there were before the end.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize, StoreError> {
        let mut filled = 0;
        while filled < bytes.len() && offset + (filled as u64) < self.len {
            filled += self.read_some(offset + filled as u64, &mut bytes[filled..])?;
        }
        Ok(filled)
    }

    /// The bytes from `offset` to the end of the part they are checked with: at most 64 KiB, none at the end. For
    /// those who stream.
    pub fn piece(&self, offset: u64) -> Result<Bytes, StoreError> {
        if offset >= self.len {
            return Ok(Bytes::new());
        }
        let within = (offset % GROUP) as usize;
        if let Source::Memory(bytes) = &self.source {
            let start = offset as usize;
            let end = start - within + self.group_len(offset / GROUP);
            return Ok(bytes.slice(start..end));
        }
        Ok(self.group(offset / GROUP)?.slice(within..))
    }

    /// All of it.
    pub fn whole(&self) -> Result<Bytes, StoreError> {
        if let Source::Memory(bytes) = &self.source {
            return Ok(bytes.clone());
        }
        let len =
            usize::try_from(self.len).map_err(|_| StoreError::TooLarge { limit: self.len })?;
        let mut bytes = vec![0; len];
        self.pin.heeded(self.source.read(&mut bytes, 0))?;
        let groups = (0..proof::groups(self.len)).map(|group| {
            let start = group as usize * GROUP as usize;
            &bytes[start..start + self.group_len(group)]
        });
        for (group, part) in (0..).zip(groups) {
            self.vouch(group, part)?;
        }
        Ok(bytes.into())
    }

    /// Reads into `bytes` what belongs to one group.
    fn read_some(&self, offset: u64, bytes: &mut [u8]) -> Result<usize, StoreError> {
        let (group, within) = (offset / GROUP, (offset % GROUP) as usize);
        let len = self.group_len(group);
        if within == 0 && bytes.len() >= len && !matches!(self.source, Source::Memory(_)) {
            let bytes = &mut bytes[..len];
            self.pin.heeded(self.source.read(bytes, offset))?;
            self.vouch(group, bytes)?;
            return Ok(len);
        }
        let piece = self.piece(offset)?;
        let count = piece.len().min(bytes.len());
        bytes[..count].copy_from_slice(&piece[..count]);
        Ok(count)
    }

    fn group(&self, group: u64) -> Result<Bytes, StoreError> {
        let mut last = lock(&self.last);
        if let Some((number, bytes)) = &*last
            && *number == group
        {
            return Ok(bytes.clone());
        }
        let mut bytes = vec![0; self.group_len(group)];
        self.pin
            .heeded(self.source.read(&mut bytes, group * GROUP))?;
        self.vouch(group, &bytes)?;
        let bytes = Bytes::from(bytes);
        *last = Some((group, bytes.clone()));
        Ok(bytes)
    }

    fn group_len(&self, group: u64) -> usize {
        (self.len - group * GROUP).min(GROUP) as usize
    }

    fn vouch(&self, group: u64, bytes: &[u8]) -> Result<(), StoreError> {
        if self.proof.vouches(group, bytes) {
            return Ok(());
        }
        Err(self.pin.corrupt())
    }
}

impl Pin {
    /// What the object's parts are checked against.
    fn proof(&self, source: &Source, hash: &Hash, len: u64) -> Option<Proof> {
        if matches!(source, Source::Memory(_)) {
            return Some(Proof::Whole(*hash));
        }
        let mut values = vec![0; usize::try_from(proof::values_len(len)).ok()?];
        if !values.is_empty() {
            self.heeded(source.read(&mut values, len)).ok()?;
        }
        let proof = Proof::read(hash, &values);
        if proof.is_none() {
            self.corrupt();
        }
        proof
    }

    fn corrupt(&self) -> StoreError {
        self.store.counters.corrupt.add(1);
        self.store.quarantine(self.id);
        StoreError::Damaged
    }

    /// What the disk does not give back is as good as damaged.
    fn heeded(&self, read: io::Result<()>) -> Result<(), StoreError> {
        read.map_err(|_| {
            self.store.counters.unreadable.add(1);
            self.store.quarantine(self.id);
            StoreError::Damaged
        })
    }

    /// The object stays if it is the process that lacks something: files, memory, permission.
    fn could_not_open(&self, error: &io::Error) {
        self.store.counters.unreadable.add(1);
        const EIO: i32 = 5;
        if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(EIO) {
            self.store.quarantine(self.id);
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.store.index().unpin(self.id);
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object")
            .field("hash", &self.hash)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
