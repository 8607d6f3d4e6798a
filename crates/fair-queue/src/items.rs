//! Waiting items in a slab, each in the row of its flow: any of them can be taken out in O(1).

use crate::moment::Moment;
use crate::rounds::NONE;

/// Names one waiting item; void once it has left, also when its place is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    index: u32,
    generation: u32,
}

/// An item's place, in cache lines of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Place<T> {
    generation: u32,
    prev: u32,
    /// The next of its flow, or of the free places.
    next: u32,
    waiting: Option<Waiting<T>>,
}

impl<T> Place<T> {
    /// Handles to what was here are void from now on.
    #[inline(always)]
    fn vacate(&mut self) -> Option<Waiting<T>> {
        self.generation = self.generation.wrapping_add(1);
        self.waiting.take()
    }
}

/// An item and what the queue knows of it.
#[derive(Debug)]
pub(crate) struct Waiting<T> {
    pub(crate) item: T,
    pub(crate) flow: u32,
    pub(crate) cost: u64,
    pub(crate) since: Moment,
    pub(crate) deadline: Moment,
}

/// One flow's items, oldest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    head: u32,
    tail: u32,
    pub(crate) len: u32,
}

impl Row {
    pub(crate) const fn new() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Items<T> {
    places: Vec<Place<T>>,
    free: u32,
}

impl<T> Items<T> {
    pub(crate) fn with_room(items: usize) -> Self {
        Self {
            places: Vec::with_capacity(items),
            free: NONE,
        }
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, row: &mut Row, waiting: Waiting<T>) -> Handle {
        let handle = self.place(waiting, row.tail);
        match row.tail {
            NONE => row.head = handle.index,
            tail => self.places[tail as usize].next = handle.index,
        }
        row.tail = handle.index;
        row.len += 1;
        handle
    }

    #[inline(always)]
    pub(crate) fn first(&self, row: &Row) -> Option<&Waiting<T>> {
        self.places.get(row.head as usize)?.waiting.as_ref()
    }

    #[inline(always)]
    pub(crate) fn pop_front(&mut self, row: &mut Row) -> Option<Waiting<T>> {
        let index = row.head;
        let place = self.places.get_mut(index as usize)?;
        row.head = std::mem::replace(&mut place.next, self.free);
        row.len -= 1;
        self.free = index;
        let waiting = place.vacate();
        match row.head {
            NONE => row.tail = NONE,
            next => self.places[next as usize].prev = NONE,
        }
        waiting
    }

    /// The flow of a waiting item.
    pub(crate) fn flow(&self, handle: Handle) -> Option<u32> {
        let place = self.places.get(handle.index as usize)?;
        let waiting = place.waiting.as_ref()?;
        (place.generation == handle.generation).then_some(waiting.flow)
    }

    pub(crate) fn remove(&mut self, row: &mut Row, handle: Handle) -> Option<Waiting<T>> {
        self.flow(handle)?;
        self.take(row, handle.index)
    }

    /// Who waits in this place of the slab, if there is such a place: a walk that may take out as it goes.
    pub(crate) fn at(&self, index: usize) -> Option<Option<(Handle, &Waiting<T>)>> {
        let place = self.places.get(index)?;
        let handle = Handle {
            index: index as u32,
            generation: place.generation,
        };
        Some(place.waiting.as_ref().map(|waiting| (handle, waiting)))
    }

    /// Finds it a place as the last of a row, after `prev`.
    #[inline(always)]
    fn place(&mut self, waiting: Waiting<T>, prev: u32) -> Handle {
        let index = self.free;
        let Some(place) = self.places.get_mut(index as usize) else {
            return self.place_at_end(waiting, prev);
        };
        self.free = std::mem::replace(&mut place.next, NONE);
        place.prev = prev;
        place.waiting = Some(waiting);
        let generation = place.generation;
        Handle { index, generation }
    }

    fn place_at_end(&mut self, waiting: Waiting<T>, prev: u32) -> Handle {
        let (index, generation) = (self.places.len() as u32, 0);
        self.places.push(Place {
            generation,
            prev,
            next: NONE,
            waiting: Some(waiting),
        });
        Handle { index, generation }
    }

    #[inline(always)]
    fn take(&mut self, row: &mut Row, index: u32) -> Option<Waiting<T>> {
        let free = std::mem::replace(&mut self.free, index);
        let place = &mut self.places[index as usize];
        let (prev, next) = (place.prev, place.next);
        place.next = free;
        let waiting = place.vacate();
        match prev {
            NONE => row.head = next,
            _ => self.places[prev as usize].next = next,
        }
        match next {
            NONE => row.tail = prev,
            _ => self.places[next as usize].prev = prev,
        }
        row.len -= 1;
        waiting
    }
}
