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
        let index = self.place(waiting);
        let tail = std::mem::replace(&mut row.tail, index);
        let place = &mut self.places[index as usize];
        (place.prev, place.next) = (tail, NONE);
        let generation = place.generation;
        match tail {
            NONE => row.head = index,
            _ => self.places[tail as usize].next = index,
        }
        row.len += 1;
        Handle { index, generation }
    }

    #[inline(always)]
    pub(crate) fn first(&self, row: &Row) -> Option<&Waiting<T>> {
        self.places.get(row.head as usize)?.waiting.as_ref()
    }

    #[inline(always)]
    pub(crate) fn pop_front(&mut self, row: &mut Row) -> Option<Waiting<T>> {
        (row.head != NONE).then(|| self.take(row, row.head))?
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

    #[inline(always)]
    fn place(&mut self, waiting: Waiting<T>) -> u32 {
        if self.free == NONE {
            self.places.push(Place {
                generation: 0,
                prev: NONE,
                next: NONE,
                waiting: Some(waiting),
            });
            return (self.places.len() - 1) as u32;
        }
        let index = self.free;
        let place = &mut self.places[index as usize];
        self.free = place.next;
        place.waiting = Some(waiting);
        index
    }

    #[inline(always)]
    fn take(&mut self, row: &mut Row, index: u32) -> Option<Waiting<T>> {
        let free = std::mem::replace(&mut self.free, index);
        let place = &mut self.places[index as usize];
        let (prev, next) = (place.prev, place.next);
        place.generation = place.generation.wrapping_add(1);
        place.next = free;
        let waiting = place.waiting.take();
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
