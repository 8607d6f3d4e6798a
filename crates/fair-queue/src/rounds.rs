//! Deficit round robin over members of one level: one turn a round, newcomers first, bounded.
//!
//! A round serves, in this order, the member whose turn is open, the newcomers, and those who were
//! there when it began. A member that has had its turn stands at the end of the next round, also
//! when it has run empty: so nobody gets a second turn, or a second preference, out of one round.
//! Two members that both have work throughout get their turns alternately, which is what the bound
//! rests on.

mod ring;

use ring::Ring;

pub(crate) const NONE: u32 = u32::MAX;

/// Newcomers that a round takes in however few it began with.
const MIN_ADMISSIONS: u32 = 16;
/// Debts are forgiven beyond so many turns: repaying is done by waiting, one turn at a time, and
/// the steps of a dispatch must stay few.
pub(crate) const MAX_DEBT_TURNS: u64 = 64;

/// One flow or class on its level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    prev: u32,
    next: u32,
    /// What it may still spend; below zero it owes.
    pub(crate) deficit: i64,
    pub(crate) weight: u32,
    place: Place,
    /// It stands in the next round because it has had its turn in this one.
    served: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Away,
    Newcomers,
    /// For its turn in this round or the next; which of them is which changes with each round.
    Ring(u8),
}

impl Member {
    pub(crate) fn new(weight: u32) -> Self {
        Self {
            prev: NONE,
            next: NONE,
            deficit: 0,
            weight,
            place: Place::Away,
            served: false,
        }
    }

    /// What a turn brings.
    #[inline(always)]
    pub(crate) fn credit(&self, quantum: u64) -> i64 {
        (quantum * u64::from(self.weight)) as i64
    }
}

/// Where the members live.
pub(crate) trait Members {
    fn member(&mut self, id: u32) -> &mut Member;
}

/// Where they come and go.
pub(crate) trait Field: Members {
    /// Whether one more member without work may be remembered.
    fn may_rest(&self) -> bool;
    /// The member is in no row any more and owes nothing.
    fn left(&mut self, id: u32);
}

/// What they wait for.
pub(crate) trait Needs: Field {
    /// The cost of the member's first work, or `None` without any.
    fn need(&mut self, id: u32) -> Option<u64>;
}

/// The members of one level.
#[derive(Debug)]
pub(crate) struct Rounds {
    quantum: u64,
    /// Those who still have their turn in this round, then those of the next one.
    ring: Ring,
    /// How many still have their turn in this round.
    left: u32,
    round: u8,
    /// The first of the ring has its turn.
    is_open: bool,
    newcomers: Ring,
    /// Newcomers that this round still takes; without an end to them a round would have none.
    admissions: u32,
}

impl Rounds {
    pub(crate) fn new(quantum: u64) -> Self {
        Self {
            quantum,
            ring: Ring::new(),
            left: 0,
            round: 0,
            is_open: false,
            newcomers: Ring::new(),
            admissions: MIN_ADMISSIONS,
        }
    }

    #[inline(always)]
    pub(crate) fn quantum(&self) -> u64 {
        self.quantum
    }

    pub(crate) fn set_quantum(&mut self, quantum: u64) {
        self.quantum = quantum;
    }

    /// The member whose turn is open.
    #[inline(always)]
    pub(crate) fn open(&self) -> Option<u32> {
        self.is_open.then(|| self.ring.first())?
    }

    /// The member has work now.
    #[inline(always)]
    pub(crate) fn arrive<M: Members + ?Sized>(&mut self, field: &mut M, id: u32) {
        let member = field.member(id);
        if member.place != Place::Away {
            return;
        }
        if self.admissions == 0 {
            self.enlist(field, id, false);
            return;
        }
        self.admissions -= 1;
        member.place = Place::Newcomers;
        self.newcomers.push_back(field, id);
    }

    /// Whose work is next, and its cost: a member that can pay for it. Opens and ends turns until
    /// there is one.
    #[inline(always)]
    pub(crate) fn turn(&mut self, field: &mut impl Needs) -> Option<(u32, u64)> {
        loop {
            let begins = !self.is_open;
            if begins {
                self.bring_next(field);
            }
            let id = self.ring.first()?;
            let need = field.need(id);
            let member = field.member(id);
            if begins {
                member.deficit += member.credit(self.quantum);
            }
            match need {
                Some(cost) if member.deficit >= cost as i64 => {
                    self.is_open = true;
                    return Some((id, cost));
                }
                Some(_) => self.end_turn(member),
                None if begins => self.pass_by(field, id),
                None => self.emptied(field, id),
            }
        }
    }

    /// The member whose turn is open has no work left: it keeps no credit, and rests until its next
    /// turn would come.
    #[inline(always)]
    pub(crate) fn emptied(&mut self, field: &mut impl Field, id: u32) {
        let may_rest = field.may_rest();
        let member = field.member(id);
        member.deficit = member.deficit.min(0);
        if may_rest {
            self.end_turn(member);
        } else {
            self.is_open = false;
            self.leave_ring(field, id, self.round);
        }
    }

    /// Gives the member whose turn is open, once it has spent all, its next turn at once if nobody
    /// else is there to have one before.
    #[inline(always)]
    pub(crate) fn renew_if_alone(&mut self, member: &mut Member) {
        if member.deficit == 0 && self.newcomers.len() + self.ring.len() == 1 {
            member.deficit = member.credit(self.quantum);
            self.admissions = MIN_ADMISSIONS;
        }
    }

    /// Who is next, if no turn is open and nobody goes first.
    #[inline(always)]
    pub(crate) fn next_in_ring(&mut self) -> Option<u32> {
        if self.is_open || self.newcomers.len() > 0 {
            return None;
        }
        if self.left == 0 {
            self.begin_round();
        }
        self.ring.first()
    }

    /// The [next in the ring](Self::next_in_ring) has been served in its turn, which stays open as
    /// long as it has work.
    #[inline(always)]
    pub(crate) fn served_next(&mut self, member: &mut Member, has_work: bool) {
        if has_work {
            self.is_open = true;
        } else {
            member.deficit = 0;
            self.end_turn(member);
        }
    }

    /// The first of the ring has had its turn in this round: it is the last of the next one.
    #[inline(always)]
    pub(crate) fn end_turn(&mut self, first: &mut Member) {
        (first.place, first.served) = (Place::Ring(self.round ^ 1), true);
        self.ring.rotate(first);
        self.left -= 1;
        self.is_open = false;
    }

    /// The member has lost its work without being served.
    pub(crate) fn withdraw(&mut self, field: &mut impl Field, id: u32) {
        let is_open = self.open() == Some(id);
        let member = field.member(id);
        member.deficit = member.deficit.min(0);
        let (place, served, owes) = (member.place, member.served, member.deficit < 0);
        match place {
            _ if is_open => self.emptied(field, id),
            _ if owes => {}
            Place::Newcomers => {
                self.newcomers.remove(field, id);
                self.admissions += 1;
                self.leave(field, id);
            }
            Place::Ring(round) if round == self.round || !served => {
                self.leave_ring(field, id, round);
            }
            Place::Ring(_) | Place::Away => {}
        }
    }

    /// Corrects what was charged: up when work cost more than expected, down when it cost less.
    /// A member without work takes no credit; one in no row is listed to repay.
    pub(crate) fn settle(&mut self, field: &mut impl Field, id: u32, cost: i64, has_work: bool) {
        let member = field.member(id);
        let credit = member.credit(self.quantum);
        let floor = credit
            .saturating_mul(MAX_DEBT_TURNS as i64)
            .saturating_neg();
        let ceiling = if has_work { credit } else { 0 };
        let settled = member.deficit.saturating_sub(cost).max(floor);
        member.deficit = settled.min(ceiling.max(member.deficit));
        if member.place == Place::Away && member.deficit < 0 {
            self.enlist(field, id, true);
        }
    }

    /// A member without work at its turn is forgotten, unless it still owes.
    #[inline(always)]
    fn pass_by(&mut self, field: &mut impl Field, id: u32) {
        let member = field.member(id);
        member.deficit = member.deficit.min(0);
        if member.deficit < 0 {
            self.end_turn(member);
        } else {
            self.leave_ring(field, id, self.round);
        }
    }

    /// Has whose turn is next first in the ring: a newcomer, or who is there already.
    #[inline(always)]
    fn bring_next(&mut self, field: &mut impl Field) {
        if let Some(id) = self.newcomers.first() {
            self.newcomers.remove(field, id);
            self.ring.push_front(field, id);
            field.member(id).place = Place::Ring(self.round);
            self.left += 1;
        } else if self.left == 0 {
            self.begin_round();
        }
    }

    #[inline(always)]
    fn begin_round(&mut self) {
        self.round ^= 1;
        self.left = self.ring.len();
        // Half, because those who rest stand in the ring too: so the newcomers of a round are never
        // more than the members with work, and do not swell from round to round.
        self.admissions = (self.left / 2).max(MIN_ADMISSIONS);
    }

    #[inline(always)]
    fn enlist<M: Members + ?Sized>(&mut self, field: &mut M, id: u32, served: bool) {
        let member = field.member(id);
        (member.place, member.served) = (Place::Ring(self.round ^ 1), served);
        self.ring.push_back(field, id);
    }

    fn leave_ring(&mut self, field: &mut impl Field, id: u32, round: u8) {
        self.ring.remove(field, id);
        if round == self.round {
            self.left -= 1;
        }
        self.leave(field, id);
    }

    fn leave(&mut self, field: &mut impl Field, id: u32) {
        let member = field.member(id);
        (member.place, member.deficit) = (Place::Away, 0);
        field.left(id);
    }
}
