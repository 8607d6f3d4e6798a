//! Members in a ring, linked through themselves: who has had its turn becomes the last by one step of the ring, and
//! joining and leaving anywhere is O(1).

use super::{Member, Members, NONE};

/// Where the ring begins.
#[derive(Debug)]
pub(super) struct Ring {
    head: u32,
    len: u32,
}

impl Ring {
    pub(super) const fn new() -> Self {
        Self { head: NONE, len: 0 }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<u32> {
        (self.len > 0).then_some(self.head)
    }

    /// Joins as the last.
    #[inline(always)]
    pub(super) fn push_back<M: Members + ?Sized>(&mut self, field: &mut M, id: u32) {
        self.len += 1;
        if self.len == 1 {
            self.head = id;
        }
        let head = self.head;
        let last = match head == id {
            true => id,
            false => std::mem::replace(&mut field.member(head).prev, id),
        };
        field.member(last).next = id;
        let member = field.member(id);
        (member.prev, member.next) = (last, head);
    }

    /// Joins as the first.
    #[inline(always)]
    pub(super) fn push_front<M: Members + ?Sized>(&mut self, field: &mut M, id: u32) {
        self.push_back(field, id);
        self.head = id;
    }

    /// The first becomes the last.
    #[inline(always)]
    pub(super) fn rotate(&mut self, first: &Member) {
        self.head = first.next;
    }

    #[inline(always)]
    pub(super) fn remove<M: Members + ?Sized>(&mut self, field: &mut M, id: u32) {
        let member = field.member(id);
        let (prev, next) = (member.prev, member.next);
        field.member(prev).next = next;
        field.member(next).prev = prev;
        if self.head == id {
            self.head = next;
        }
        self.len -= 1;
    }
}
