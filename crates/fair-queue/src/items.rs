//! Waiting items in a slab, each in the row of its flow: any of them can be taken out in O(1).

use crate::moment::Moment;
use crate::rounds::NONE;

/// Names one waiting item; void once it has left, also when its place is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
// In one word: two would be written one by one and read at once, which a processor waits for.
pub struct Handle(u64);

impl Handle {
    #[inline(always)]
    fn new(index: u32, generation: u32) -> Self {
        Self(u64::from(generation) << 32 | u64::from(index))
    }

    #[inline(always)]
    fn index(self) -> u32 {
        self.0 as u32
    }

    #[inline(always)]
    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// An item's place, in cache lines of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Place<T> {
    flow: u32,
    generation: u32,
    prev: u32,
    /// The next of its flow, or of the free places.
    next: u32,
    waiting: Option<Waiting<T>>,
}

impl<T> Place<T> {
    fn is_of(&self, handle: Handle) -> bool {
        self.generation == handle.generation() && self.waiting.is_some()
    }

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
    pub(crate) const PLACE_BYTES: usize = size_of::<Place<T>>();

    pub(crate) fn with_room(items: usize) -> Self {
        Self {
            places: Vec::with_capacity(items),
            free: NONE,
        }
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, row: &mut Row, flow: u32, waiting: Waiting<T>) -> Handle {
        let handle = self.place(waiting, flow, row.tail);
        match row.tail {
            NONE => row.head = handle.index(),
            tail => self.places[tail as usize].next = handle.index(),
        }
        row.tail = handle.index();
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
        let place = self.places.get(handle.index() as usize)?;
        place.is_of(handle).then_some(place.flow)
    }

    pub(crate) fn item_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let place = self.places.get_mut(handle.index() as usize)?;
        let is_it = place.is_of(handle);
        place
            .waiting
            .as_mut()
            .filter(|_| is_it)
            .map(|waiting| &mut waiting.item)
    }

    pub(crate) fn remove(&mut self, row: &mut Row, handle: Handle) -> Option<Waiting<T>> {
        self.flow(handle)?;
        self.take(row, handle.index())
    }

    /// Who waits in this place of the slab, if there is such a place: a walk that may take out as it goes.
    pub(crate) fn at(&self, index: usize) -> Option<Option<(Handle, &Waiting<T>)>> {
        let place = self.places.get(index)?;
        let handle = Handle::new(index as u32, place.generation);
        Some(place.waiting.as_ref().map(|waiting| (handle, waiting)))
    }

    /// Finds it a place as the last of a row, after `prev`.
    #[inline(always)]
    fn place(&mut self, waiting: Waiting<T>, flow: u32, prev: u32) -> Handle {
        let index = self.free;
        let Some(place) = self.places.get_mut(index as usize) else {
            return self.place_at_end(waiting, flow, prev);
        };
        self.free = std::mem::replace(&mut place.next, NONE);
        (place.flow, place.prev) = (flow, prev);
        place.waiting = Some(waiting);
        Handle::new(index, place.generation)
    }

    fn place_at_end(&mut self, waiting: Waiting<T>, flow: u32, prev: u32) -> Handle {
        let (index, generation) = (self.places.len() as u32, 0);
        self.places.push(Place {
            flow,
            generation,
            prev,
            next: NONE,
            waiting: Some(waiting),
        });
        Handle::new(index, generation)
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
