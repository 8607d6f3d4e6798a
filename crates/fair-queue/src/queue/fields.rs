//! How the rounds of classes and of tenants see the queue, and what follows when a row runs empty.

use super::{ClassState, Queue};
use crate::flows::Flows;
use crate::items::Items;
use crate::moment::Moment;
use crate::rounds::{Field, Member, Members, Needs};
use crate::work::Refused;

/// The tenants of one class.
pub(super) struct FlowField<'a, T, F> {
    pub(super) flows: &'a mut Flows,
    pub(super) items: &'a mut Items<T>,
    pub(super) lost: Lost,
    pub(super) now: Moment,
    pub(super) tell: F,
}

/// What expired while heads were looked at.
#[derive(Default)]
pub(super) struct Lost {
    items: usize,
    weight: u64,
}

impl<T, F> Members for FlowField<'_, T, F> {
    #[inline(always)]
    fn member(&mut self, id: u32) -> &mut Member {
        self.flows.member(id)
    }
}

impl<T, F> Field for FlowField<'_, T, F> {
    #[inline(always)]
    fn may_rest(&self) -> bool {
        self.flows.may_rest()
    }

    #[inline(always)]
    fn left(&mut self, id: u32) {
        self.flows.left(id);
    }
}

impl<T, F: FnMut(T, Refused)> Needs for FlowField<'_, T, F> {
    #[inline(always)]
    fn need(&mut self, id: u32) -> Option<u64> {
        loop {
            let row = &mut self.flows.get_mut(id).row;
            let first = self.items.first(row)?;
            if first.deadline > self.now {
                return Some(first.cost);
            }
            let expired = self.items.pop_front(row)?;
            self.lost.items += 1;
            if row.len == 0 {
                self.lost.weight += u64::from(self.flows.get(id).member.weight);
                self.flows.busy -= 1;
            }
            (self.tell)(expired.item, Refused::Expired);
        }
    }
}

/// The classes, each seen as the first work of its next tenant.
pub(super) struct ClassField<'a, T, F> {
    pub(super) classes: &'a mut Vec<ClassState>,
    pub(super) waiting: &'a mut usize,
    pub(super) tenants: FlowField<'a, T, F>,
}

impl Members for Vec<ClassState> {
    #[inline(always)]
    fn member(&mut self, id: u32) -> &mut Member {
        &mut self[id as usize].member
    }
}

impl Field for Vec<ClassState> {
    #[inline(always)]
    fn may_rest(&self) -> bool {
        true
    }

    #[inline(always)]
    fn left(&mut self, _: u32) {}
}

impl<T, F> Members for ClassField<'_, T, F> {
    #[inline(always)]
    fn member(&mut self, id: u32) -> &mut Member {
        self.classes.member(id)
    }
}

impl<T, F> Field for ClassField<'_, T, F> {
    #[inline(always)]
    fn may_rest(&self) -> bool {
        self.classes.may_rest()
    }

    #[inline(always)]
    fn left(&mut self, id: u32) {
        self.classes.left(id);
    }
}

impl<T, F: FnMut(T, Refused)> Needs for ClassField<'_, T, F> {
    #[inline(always)]
    fn need(&mut self, id: u32) -> Option<u64> {
        let class = &mut self.classes[id as usize];
        if class.waiting == 0 {
            return None;
        }
        let next = class.rounds.turn(&mut self.tenants);
        if self.tenants.lost.items > 0 {
            let lost = std::mem::take(&mut self.tenants.lost);
            class.waiting -= lost.items;
            class.busy_weight -= lost.weight;
            *self.waiting -= lost.items;
        }
        next.map(|(_, cost)| cost)
    }
}

impl<T> Queue<T> {
    /// The class whose work is next.
    #[inline(always)]
    pub(super) fn next_class(
        &mut self,
        now: Moment,
        tell: impl FnMut(T, Refused),
    ) -> Option<usize> {
        let tenants = FlowField {
            flows: &mut self.flows,
            items: &mut self.items,
            lost: Lost::default(),
            now,
            tell,
        };
        let mut classes = ClassField {
            classes: &mut self.classes,
            waiting: &mut self.waiting,
            tenants,
        };
        let next = self.top.turn(&mut classes);
        if self.waiting == 0 {
            self.drain.idle();
        }
        next.map(|(index, _)| index as usize)
    }

    /// The flow whose turn is open has been served once.
    #[inline(always)]
    pub(super) fn after_service(&mut self, id: u32) {
        let (index, emptied) = self.forget_one(id);
        let class = &mut self.classes[index];
        if emptied {
            class.rounds.emptied(&mut self.flows, id);
        }
        if class.waiting == 0 {
            self.top.emptied(&mut self.classes, index as u32);
        }
    }

    /// The flow has lost an item that was not served.
    pub(super) fn after_loss(&mut self, id: u32) {
        let (index, emptied) = self.forget_one(id);
        let class = &mut self.classes[index];
        if emptied {
            class.rounds.withdraw(&mut self.flows, id);
        }
        if class.waiting == 0 {
            self.top.withdraw(&mut self.classes, index as u32);
        }
    }

    pub(super) fn settle_flow(&mut self, id: u32, difference: i64) {
        let flow = self.flows.get_mut(id);
        flow.served = flow.served.saturating_add(difference);
        let (index, has_work) = (usize::from(flow.class), flow.row.len > 0);
        let rounds = &mut self.classes[index].rounds;
        rounds.settle(&mut self.flows, id, difference, has_work);
    }

    pub(super) fn settle_class(&mut self, index: usize, difference: i64) {
        let has_work = self.classes[index].waiting > 0;
        self.top
            .settle(&mut self.classes, index as u32, difference, has_work);
    }

    /// Books one item less; says in which class, and whether the flow has none left.
    #[inline(always)]
    fn forget_one(&mut self, id: u32) -> (usize, bool) {
        let flow = self.flows.get(id);
        let (index, emptied) = (usize::from(flow.class), flow.row.len == 0);
        let class = &mut self.classes[index];
        class.waiting -= 1;
        self.waiting -= 1;
        if emptied {
            class.busy_weight -= u64::from(flow.member.weight);
            self.flows.busy -= 1;
        }
        if self.waiting == 0 {
            self.drain.idle();
        }
        (index, emptied)
    }
}
