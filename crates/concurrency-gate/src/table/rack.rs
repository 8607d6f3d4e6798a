//! Things by hash, seven to a cache line together with their tags: a search reads one line, and then
//! what it has found.

/// Slots of a shelf. With them and its marks it fills a cache line, if a slot is a pointer.
const SLOTS: usize = 7;
/// Of the marks, the one that counts who was put further on for want of room here.
const PASSED: usize = SLOTS;
/// A count that has reached this is not kept any more.
const MANY: u8 = u8::MAX;
/// The highest bit of each tag.
const TAGS: u64 = 0x0080_8080_8080_8080;
const EACH: u64 = 0x0001_0101_0101_0101;

#[derive(Debug)]
#[repr(align(64))]
struct Shelf<T> {
    /// Tags of the slots, 0 for a free one, and the count of those who were put further on.
    marks: [u8; SLOTS + 1],
    slots: [Option<T>; SLOTS],
}

/// A hash table that is at most three quarters full.
#[derive(Debug)]
pub(super) struct Rack<T> {
    /// A power of two of them, or none.
    shelves: Box<[Shelf<T>]>,
    len: usize,
}

/// From the highest bits of a hash; never 0.
fn tag(hash: u64) -> u8 {
    (hash >> 57) as u8 | 0x80
}

impl<T> Shelf<T> {
    fn new() -> Self {
        Self {
            marks: [0; SLOTS + 1],
            slots: [const { None }; SLOTS],
        }
    }

    /// The slots that may have this tag: all that have it, and rarely another, which the highest
    /// bits of the bytes give away cheaply.
    #[inline]
    fn candidates(&self, tag: u8) -> impl Iterator<Item = usize> + use<T> {
        let differences = u64::from_le_bytes(self.marks) ^ (EACH * u64::from(tag));
        let mut equal = differences.wrapping_sub(EACH) & !differences & TAGS;
        std::iter::from_fn(move || {
            let slot = (equal.trailing_zeros() / 8) as usize;
            equal &= equal.wrapping_sub(1);
            (slot < SLOTS).then_some(slot)
        })
    }

    fn free(&self) -> Option<usize> {
        self.marks[..SLOTS].iter().position(|tag| *tag == 0)
    }

    fn put(&mut self, slot: usize, tag: u8, thing: T) {
        self.marks[slot] = tag;
        self.slots[slot] = Some(thing);
    }

    fn take(&mut self, slot: usize) -> Option<T> {
        self.marks[slot] = 0;
        self.slots[slot].take()
    }
}

impl<T> Rack<T> {
    pub(super) fn new() -> Self {
        Self {
            shelves: Box::new([]),
            len: 0,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.shelves.iter().flat_map(|shelf| &shelf.slots).flatten()
    }

    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(&T) -> bool) -> Option<&T> {
        let (shelf, slot) = self.search(hash, is_it)?;
        self.shelves[shelf].slots[slot].as_ref()
    }

    pub(super) fn find_mut(&mut self, hash: u64, is_it: impl Fn(&T) -> bool) -> Option<&mut T> {
        let (shelf, slot) = self.search(hash, is_it)?;
        self.shelves[shelf].slots[slot].as_mut()
    }

    pub(super) fn remove(&mut self, hash: u64, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let (shelf, slot) = self.search(hash, is_it)?;
        self.len -= 1;
        self.unpass(hash, shelf);
        self.shelves[shelf].take(slot)
    }

    /// Adds what is not there yet.
    pub(super) fn insert(&mut self, hash: u64, thing: T, hash_of: impl Fn(&T) -> u64) {
        if (self.len + 1) * 4 > self.shelves.len() * SLOTS * 3 {
            self.resize(2 * self.shelves.len(), hash_of);
        }
        self.len += 1;
        self.put(hash, thing);
    }

    /// Lets go of all that `stays` does not want, and of room that is not needed.
    pub(super) fn retain(
        &mut self,
        hash_of: impl Fn(&T) -> u64,
        mut stays: impl FnMut(&mut T) -> bool,
    ) {
        for at in 0..self.shelves.len() {
            for slot in 0..SLOTS {
                let shelf = &mut self.shelves[at];
                if shelf.slots[slot].as_mut().is_none_or(&mut stays) {
                    continue;
                }
                if let Some(gone) = shelf.take(slot) {
                    self.unpass(hash_of(&gone), at);
                    self.len -= 1;
                }
            }
        }
        let needed = (2 * self.len).div_ceil(SLOTS).next_power_of_two();
        if 2 * needed < self.shelves.len() {
            self.resize(needed, hash_of);
        }
    }

    #[inline]
    fn search(&self, hash: u64, is_it: impl Fn(&T) -> bool) -> Option<(usize, usize)> {
        for at in self.path(hash) {
            let shelf = &self.shelves[at];
            let found = shelf
                .candidates(tag(hash))
                .find(|slot| shelf.slots[*slot].as_ref().is_some_and(&is_it));
            if let Some(slot) = found {
                return Some((at, slot));
            }
            if shelf.marks[PASSED] == 0 {
                return None;
            }
        }
        None
    }

    /// Every shelf once, beginning with the one where this hash belongs.
    #[inline]
    fn path(&self, hash: u64) -> impl Iterator<Item = usize> + use<T> {
        let shelves = self.shelves.len();
        (0..shelves).map(move |step| (hash as usize).wrapping_add(step) & (shelves - 1))
    }

    /// Where there is room, which there is.
    fn put(&mut self, hash: u64, thing: T) {
        for at in self.path(hash) {
            let shelf = &mut self.shelves[at];
            if let Some(slot) = shelf.free() {
                shelf.put(slot, tag(hash), thing);
                return;
            }
            shelf.marks[PASSED] = shelf.marks[PASSED].saturating_add(1);
        }
        unreachable!("a quarter of the slots is free");
    }

    /// Undoes the counts of one that was put on this shelf.
    fn unpass(&mut self, hash: u64, shelf: usize) {
        for at in self.path(hash).take_while(|at| *at != shelf) {
            let passed = &mut self.shelves[at].marks[PASSED];
            if *passed != MANY {
                *passed -= 1;
            }
        }
    }

    /// To a power of two, or from none to one.
    #[cold]
    fn resize(&mut self, shelves: usize, hash_of: impl Fn(&T) -> u64) {
        let fresh = (0..shelves.max(1)).map(|_| Shelf::new()).collect();
        let old = std::mem::replace(&mut self.shelves, fresh);
        for thing in old.into_iter().flat_map(|shelf| shelf.slots).flatten() {
            self.put(hash_of(&thing), thing);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
