//! Members in a row, linked through themselves: joining and leaving anywhere is O(1).

use super::{Members, NONE};

/// The ends of a row.
#[derive(Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
    len: usize,
}

impl List {
    pub(super) const fn new() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    #[inline(always)]
    pub(super) fn push_back<M: Members + ?Sized>(&mut self, field: &mut M, id: u32) {
        let tail = std::mem::replace(&mut self.tail, id);
        let member = field.member(id);
        (member.prev, member.next) = (tail, NONE);
        match tail {
            NONE => self.head = id,
            _ => field.member(tail).next = id,
        }
        self.len += 1;
    }

    #[inline(always)]
    pub(super) fn pop_front<M: Members + ?Sized>(&mut self, field: &mut M) -> Option<u32> {
        let head = self.first()?;
        self.head = field.member(head).next;
        match self.head {
            NONE => self.tail = NONE,
            next => field.member(next).prev = NONE,
        }
        self.len -= 1;
        Some(head)
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, field: &mut impl Members, id: u32) {
        let member = field.member(id);
        let (prev, next) = (member.prev, member.next);
        match prev {
            NONE => self.head = next,
            _ => field.member(prev).next = next,
        }
        match next {
            NONE => self.tail = prev,
            _ => field.member(next).prev = prev,
        }
        self.len -= 1;
    }
}
