//! The flows that are in play; of a tenant without work or debt nothing is kept.

use crate::index::{Index, Signpost};
use crate::items::Row;
use crate::rounds::{Field, Member, Members};

/// Whose flow: the class's index and the tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) tenant: u64,
    pub(crate) class: u16,
}

/// In a cache line of its own: the next one by order or by hash is a random one.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Flow {
    pub(crate) tenant: u64,
    pub(crate) class: u16,
    pub(crate) member: Member,
    pub(crate) row: Row,
    in_play: bool,
    /// Cost dispatched and settled since the flow came into play.
    pub(crate) served: i64,
    /// What its class had been served by then.
    pub(crate) class_served_before: i64,
}

const _: () = assert!(size_of::<Flow>() == 64);

impl Flow {
    #[inline(always)]
    fn key(&self) -> Key {
        Key {
            tenant: self.tenant,
            class: self.class,
        }
    }
}

/// A slab of flows and the way from a key to its place.
#[derive(Debug)]
pub(crate) struct Flows {
    pub(crate) places: Vec<Flow>,
    index: Index,
    len: usize,
    /// Free places, linked by nothing but this stack.
    free: Vec<u32>,
    /// Flows with work.
    pub(crate) busy: usize,
    max_resting: usize,
}

impl Flows {
    /// With room for so many busy flows and as many that rest, without allocating again.
    pub(crate) fn with_room(flows: usize) -> Self {
        let all = 2 * flows;
        Self {
            places: Vec::with_capacity(all),
            index: Index::with_room(all),
            len: 0,
            free: Vec::with_capacity(all),
            busy: 0,
            max_resting: flows,
        }
    }

    pub(crate) fn find(&self, key: Key) -> Option<u32> {
        let is_it = |id: u32| self.places[id as usize].key() == key;
        self.index.search(self.index.hash(key), is_it).ok()
    }

    #[inline(always)]
    pub(crate) fn hash(&self, key: Key) -> u32 {
        self.index.hash(key)
    }

    /// To all that a search for a flow begins with.
    pub(crate) fn signpost(&self) -> Signpost {
        self.index.signpost()
    }

    /// The flow of this key, in play from now on.
    #[inline(always)]
    pub(crate) fn enter(&mut self, key: Key, hash: u32, weight: u32, class_served: i64) -> u32 {
        let is_it = |id: u32| self.places[id as usize].key() == key;
        let vacant = match self.index.search(hash, is_it) {
            Ok(id) => return id,
            Err(vacant) => vacant,
        };
        let flow = Flow {
            tenant: key.tenant,
            class: key.class,
            member: Member::new(weight),
            row: Row::new(),
            in_play: true,
            served: 0,
            class_served_before: class_served,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.places[id as usize] = flow;
                id
            }
            None => {
                self.places.push(flow);
                (self.places.len() - 1) as u32
            }
        };
        self.index.fill(vacant, hash, id);
        self.len += 1;
        id
    }

    #[inline(always)]
    pub(crate) fn get(&self, id: u32) -> &Flow {
        &self.places[id as usize]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Flow {
        &mut self.places[id as usize]
    }

    /// Whether one that has work now may rest when it has none.
    #[inline(always)]
    pub(crate) fn one_more_may_rest(&self) -> bool {
        self.len - self.busy < self.max_resting
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Flow)> {
        let all = self.places.iter().enumerate();
        all.filter(|(_, flow)| flow.in_play)
            .map(|(id, flow)| (id as u32, flow))
    }

    /// The flow with most items.
    pub(crate) fn longest(&self) -> Option<u32> {
        let longest = self.iter().max_by_key(|(_, flow)| flow.row.len);
        longest.map(|(id, _)| id)
    }
}

impl Members for [Flow] {
    #[inline(always)]
    fn member(&mut self, id: u32) -> &mut Member {
        &mut self[id as usize].member
    }
}

impl Members for Flows {
    #[inline(always)]
    fn member(&mut self, id: u32) -> &mut Member {
        self.places.member(id)
    }
}

impl Field for Flows {
    #[inline(always)]
    fn may_rest(&self) -> bool {
        self.len - self.busy <= self.max_resting
    }

    fn left(&mut self, id: u32) {
        let flow = self.get_mut(id);
        flow.in_play = false;
        let key = flow.key();
        self.index.remove(self.index.hash(key), id);
        self.len -= 1;
        self.free.push(id);
    }
}
