//! The next item in fair order: by turns, and the usual case of it in one go.

use super::{Account, Dispatched, Queue};
use crate::flows::Flow;
use crate::items::Items;
use crate::moment::Moment;
use crate::rounds::Rounds;
use crate::settings::Class;
use crate::work::Refused;

impl<T> Queue<T> {
    /// What [`serve_by_turns`](Self::serve_by_turns) comes to most often: the class whose turn is
    /// open can pay and has more, a tenant's turn is over, and the next in its ring can pay. Where
    /// anything is different it is left to the turns.
    #[inline(always)]
    pub(super) fn serve_next_in_ring(&mut self, now: Moment) -> Option<Dispatched<T>> {
        let may_rest = self.flows.one_more_may_rest();
        // Borrowed once: so their places are looked up once.
        let (flows, items) = (self.flows.places.as_mut_slice(), &mut self.items);
        let class = &mut self.classes[self.top.open()? as usize];
        if let Some(id) = class.rounds.open() {
            end_if_spent(&mut class.rounds, &mut flows[id as usize], items, now)?;
        }
        let flow = &mut flows[class.rounds.next_in_ring()? as usize];
        let first = items.first(&flow.row)?;
        let usual = first.deadline > now && class.waiting > 1 && may_rest;
        if !usual {
            return None;
        }
        self.top.renew_if_alone(&mut class.member);
        let cost = first.cost as i64;
        let funds = flow.member.deficit + flow.member.credit(class.rounds.quantum());
        if cost > funds || cost > class.member.deficit {
            return None;
        }
        let waiting = items.pop_front(&mut flow.row)?;
        flow.member.deficit = funds - cost;
        flow.served = flow.served.saturating_add(cost);
        let has_work = flow.row.len > 0;
        let account = account(flow, cost);
        class.member.deficit -= cost;
        class.served = class.served.saturating_add(cost);
        class.waiting -= 1;
        class.rounds.served_next(&mut flow.member, has_work);
        if !has_work {
            class.busy_weight -= u64::from(account.weight);
            self.flows.busy -= 1;
        }
        self.waiting -= 1;
        self.note(waiting.since, now);
        Some(Dispatched {
            item: waiting.item,
            account,
        })
    }

    /// Opens and ends turns of classes and tenants until one can pay for its first item.
    #[inline(always)]
    pub(super) fn serve_by_turns(
        &mut self,
        now: Moment,
        mut tell: impl FnMut(T, Refused),
    ) -> Option<Dispatched<T>> {
        let index = self.next_class(now, &mut tell)?;
        let id = self.classes[index].rounds.open()?;
        let flow = self.flows.get_mut(id);
        let waiting = self.items.pop_front(&mut flow.row)?;
        let cost = waiting.cost as i64;
        flow.member.deficit -= cost;
        flow.served = flow.served.saturating_add(cost);
        let account = account(flow, cost);
        let class = &mut self.classes[index];
        class.member.deficit -= cost;
        class.served = class.served.saturating_add(cost);
        self.note(waiting.since, now);
        self.after_service(id);
        Some(Dispatched {
            item: waiting.item,
            account,
        })
    }

    /// Something that has waited since then goes now.
    #[inline(always)]
    fn note(&mut self, since: Moment, now: Moment) {
        self.drain.dispatched(now);
        self.ages.note(since.nanos_until(now).unwrap_or(0));
    }
}

/// Ends the open turn of a tenant with work that it cannot pay for; `None` if there is more to it.
#[inline(always)]
fn end_if_spent<T>(
    rounds: &mut Rounds,
    flow: &mut Flow,
    items: &Items<T>,
    now: Moment,
) -> Option<()> {
    let first = items.first(&flow.row)?;
    if first.deadline <= now || first.cost as i64 <= flow.member.deficit {
        return None;
    }
    rounds.end_turn(&mut flow.member);
    Some(())
}

#[inline(always)]
fn account(flow: &Flow, cost: i64) -> Account {
    Account {
        class: Class(flow.class),
        tenant: flow.tenant,
        weight: flow.member.weight,
        cost: cost as u64,
    }
}
