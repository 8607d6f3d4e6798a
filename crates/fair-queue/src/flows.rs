//! The flows that are in play; of a tenant without work or debt nothing is kept.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

use crate::items::Row;
use crate::rounds::Member;

/// Whose flow: the class's index and the tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) tenant: u64,
    pub(crate) class: u16,
}

#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) key: Key,
    pub(crate) member: Member,
    pub(crate) row: Row,
    in_play: bool,
    /// Cost dispatched and settled since the flow came into play.
    pub(crate) served: i64,
    /// What its class had been served by then.
    pub(crate) class_served_before: i64,
}

/// A slab of flows and the way from a key to its place.
#[derive(Debug)]
pub(crate) struct Flows {
    places: Vec<Flow>,
    by_key: HashMap<Key, u32, Mix>,
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
            // Twice the room: then a table full of gaps is swept in place instead of growing.
            by_key: HashMap::with_capacity_and_hasher(2 * all, Mix::new()),
            free: Vec::with_capacity(all),
            busy: 0,
            max_resting: flows,
        }
    }

    pub(crate) fn find(&self, key: Key) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// The flow of this key, in play from now on.
    pub(crate) fn enter(&mut self, key: Key, weight: u32, class_served: i64) -> u32 {
        if let Some(id) = self.find(key) {
            return id;
        }
        let flow = Flow {
            key,
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
        self.by_key.insert(key, id);
        id
    }

    pub(crate) fn leave(&mut self, id: u32) {
        let flow = self.get_mut(id);
        flow.in_play = false;
        let key = flow.key;
        self.by_key.remove(&key);
        self.free.push(id);
    }

    pub(crate) fn get(&self, id: u32) -> &Flow {
        &self.places[id as usize]
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Flow {
        &mut self.places[id as usize]
    }

    /// Whether there is room for one more flow without work.
    pub(crate) fn may_rest(&self) -> bool {
        self.by_key.len() - self.busy <= self.max_resting
    }

    #[cfg(all(test, not(loom)))]
    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
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

/// Hashes two words by multiplication, from a start nobody outside knows. The tenants' ids are
/// hashes already; this only keeps a peer from choosing ids that meet in the table.
#[derive(Clone, Debug)]
pub(crate) struct Mix(u64);

impl Mix {
    fn new() -> Self {
        Self(start())
    }
}

#[cfg(not(loom))]
fn start() -> u64 {
    std::hash::RandomState::new().hash_one(0_u64)
}

/// A model must run the same way each time.
#[cfg(loom)]
fn start() -> u64 {
    0
}

impl BuildHasher for Mix {
    type Hasher = Mixer;

    fn build_hasher(&self) -> Mixer {
        Mixer(self.0)
    }
}

pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn write_u64(&mut self, word: u64) {
        let wide = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (wide >> 64) as u64 ^ wide as u64;
    }

    fn write_u16(&mut self, word: u16) {
        self.0 ^= u64::from(word).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0.rotate_left(29)
    }
}
