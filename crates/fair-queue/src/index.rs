//! The way from a key to its flow: open addressing over the flows' places, without gaps.
//!
//! At most a quarter full, so a search is a step or two. A removal moves later entries up instead of
//! leaving a mark, so nothing has to be swept and nothing is ever allocated again.

use std::hash::{BuildHasher, RandomState};

use crate::flows::Key;
use crate::prefetch::prefetch;

const FREE: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct Index {
    cells: Box<[Cell]>,
    hashing: Hashing,
}

/// From a start nobody outside knows: a peer cannot choose tenants that meet here.
#[derive(Clone, Copy, Debug)]
struct Hashing {
    seed: u64,
}

impl Hashing {
    #[inline(always)]
    fn hash(self, key: Key) -> u32 {
        let start = self.seed ^ u64::from(key.class).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let wide = u128::from(start ^ key.tenant) * 0x9e37_79b9_7f4a_7c15;
        let folded = (wide >> 64) as u64 ^ wide as u64;
        (folded ^ folded >> 32) as u32
    }
}

/// Where the cells are, for who has no access to them but soon will. They stay there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signpost {
    cells: usize,
    mask: usize,
    hashing: Hashing,
}

impl Signpost {
    /// The hash of a key; what a search for it will read first is brought near meanwhile.
    #[inline(always)]
    pub(crate) fn hash(&self, key: Key) -> u32 {
        let hash = self.hashing.hash(key);
        prefetch(self.cells + (hash as usize & self.mask) * size_of::<Cell>());
        hash
    }
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    hash: u32,
    id: u32,
}

/// Where a search ended, good until the next change.
#[derive(Debug)]
pub(crate) struct Vacant(usize);

impl Index {
    pub(crate) fn with_room(entries: usize) -> Self {
        let cells = (4 * entries).next_power_of_two();
        let free = Cell { hash: 0, id: FREE };
        Self {
            cells: vec![free; cells].into_boxed_slice(),
            hashing: Hashing { seed: seed() },
        }
    }

    #[inline(always)]
    pub(crate) fn hash(&self, key: Key) -> u32 {
        self.hashing.hash(key)
    }

    pub(crate) fn signpost(&self) -> Signpost {
        Signpost {
            cells: self.cells.as_ptr().addr(),
            mask: self.cells.len() - 1,
            hashing: self.hashing,
        }
    }

    /// The place of the first entry with this hash that `is_it`, or the cell where it would be.
    #[inline(always)]
    pub(crate) fn search(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Result<u32, Vacant> {
        let mut at = self.home(hash);
        loop {
            let cell = self.cells[at];
            if cell.id == FREE {
                return Err(Vacant(at));
            }
            if cell.hash == hash && is_it(cell.id) {
                return Ok(cell.id);
            }
            at = self.after(at);
        }
    }

    /// Enters what was just searched for and is not there.
    #[inline(always)]
    pub(crate) fn fill(&mut self, vacant: Vacant, hash: u32, id: u32) {
        self.cells[vacant.0] = Cell { hash, id };
    }

    pub(crate) fn remove(&mut self, hash: u32, id: u32) {
        let mut at = self.home(hash);
        while self.cells[at].id != id {
            if self.cells[at].id == FREE {
                return;
            }
            at = self.after(at);
        }
        self.close_gap(at);
    }

    /// Moves up whoever would no longer be found past the gap.
    fn close_gap(&mut self, mut gap: usize) {
        let mut at = self.after(gap);
        while self.cells[at].id != FREE {
            let home = self.home(self.cells[at].hash);
            let mask = self.cells.len() - 1;
            // Its way from home to here leads over the gap.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.cells[gap] = self.cells[at];
                gap = at;
            }
            at = self.after(at);
        }
        self.cells[gap].id = FREE;
    }

    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.cells.len() - 1)
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.cells.len() - 1)
    }
}

fn seed() -> u64 {
    // A model must run the same way each time.
    if cfg!(any(loom, shuttle)) {
        return 0;
    }
    RandomState::new().hash_one(0_u64)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_finds_what_a_map_finds(steps in proptest::collection::vec((0..16_u32, any::<bool>()), 1..200)) {
            let mut index = Index::with_room(16);
            let mut map = HashMap::new();
            for (id, add) in steps {
                // Few homes and the last cells among them: rows that run together and around the end.
                let hash = [0, 1, 62, 63][id as usize % 4];
                match (add, map.contains_key(&id)) {
                    (true, false) => {
                        let vacant = index.search(hash, |other| other == id).expect_err("not there yet");
                        index.fill(vacant, hash, id);
                        map.insert(id, hash);
                    }
                    (false, true) => {
                        index.remove(hash, id);
                        map.remove(&id);
                    }
                    _ => {}
                }
                for id in 0..16 {
                    let hash = [0, 1, 62, 63][id as usize % 4];
                    let found = index.search(hash, |other| other == id);
                    prop_assert_eq!(found.is_ok(), map.contains_key(&id));
                }
            }
        }
    }
}
