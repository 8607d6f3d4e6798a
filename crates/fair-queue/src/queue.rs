//! The core: who waits, in what order they go, what they are charged. It reads no clock and, once
//! made, allocates nothing.

mod fields;
mod serve;

use std::time::Duration;

use crate::ages::Ages;
use crate::drain::Drain;
use crate::flows::{Flows, Key};
use crate::items::{Handle, Items, Waiting};
use crate::moment::Moment;
use crate::rounds::{Field, Member, Rounds};
use crate::settings::{
    Class, ClassSpec, Overflow, Settings, SettingsError, check_quantum, check_weight,
};
use crate::work::{Refused, Work};

/// Where a finished unit's real cost is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The class that was charged.
    pub class: Class,
    /// The tenant that was charged.
    pub tenant: u64,
    /// The tenant's weight then.
    pub weight: u32,
    /// What was charged.
    pub cost: u64,
}

/// Work whose turn it is.
#[derive(Debug)]
pub struct Dispatched<T> {
    /// What was pushed.
    pub item: T,
    /// Whom it was charged to.
    pub account: Account,
}

/// One class: its place among the classes, and its tenants.
#[derive(Debug)]
pub(crate) struct ClassState {
    pub(crate) spec: ClassSpec,
    pub(crate) member: Member,
    pub(crate) rounds: Rounds,
    pub(crate) waiting: usize,
    /// The weights of its tenants with work, summed.
    pub(crate) busy_weight: u64,
    pub(crate) served: i64,
}

/// Weighted fair queue of classes and their tenants.
///
/// ```
/// use std::time::Duration;
/// use fair_queue::{Class, Queue, Settings, Work};
///
/// let mut queue = Queue::new(Settings::default())?;
/// let now = Duration::ZERO;
/// for (tenant, item) in [(7, "bulk 1"), (7, "bulk 2"), (7, "bulk 3"), (8, "polite")] {
///     let work = Work::of(Class::AUTHED, tenant);
///     queue.push(work, item, now, |_, _| ()).map_err(|(why, _)| why)?;
/// }
/// let order: Vec<_> = std::iter::from_fn(|| queue.pop(now, |_, _| ()))
///     .map(|next| next.item)
///     .collect();
/// assert_eq!(order, ["bulk 1", "polite", "bulk 2", "bulk 3"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Queue<T> {
    pub(crate) settings: Settings,
    pub(crate) top: Rounds,
    pub(crate) classes: Vec<ClassState>,
    pub(crate) flows: Flows,
    pub(crate) items: Items<T>,
    pub(crate) waiting: usize,
    /// With fewer waiting there is room for anybody.
    ample: usize,
    /// No waiting item expires before; may be too early, never too late.
    earliest_deadline: Moment,
    pub(crate) drain: Drain,
    pub(crate) ages: Ages,
}

impl<T> Queue<T> {
    /// An empty queue, or what is wrong with the settings.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        settings.validate()?;
        let class = |spec: &ClassSpec| ClassState {
            spec: spec.clone(),
            member: Member::new(spec.weight),
            rounds: Rounds::new(settings.quantum),
            waiting: 0,
            busy_weight: 0,
            served: 0,
        };
        Ok(Self {
            top: Rounds::new(settings.quantum),
            classes: settings.classes.iter().map(class).collect(),
            flows: Flows::with_room(settings.max_items),
            items: Items::with_room(settings.max_items),
            waiting: 0,
            ample: ample(&settings),
            earliest_deadline: Moment::NEVER,
            drain: Drain::default(),
            ages: Ages::default(),
            settings,
        })
    }

    /// How many items wait.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Appends to the tenant's flow. Whoever has to go for it, expired or oldest, is passed to
    /// `tell` with the reason; a refused newcomer comes back.
    pub fn push(
        &mut self,
        work: Work,
        item: T,
        now: Duration,
        mut tell: impl FnMut(T, Refused),
    ) -> Result<Handle, (Refused, T)> {
        match work.check(self.classes.len(), self.settings.max_cost, || now) {
            Ok(()) => self.push_checked(&work, item, now, &mut tell),
            Err(why) => Err((why, item)),
        }
    }

    /// Like [`push`](Self::push), with work that was [checked](Work::check).
    #[inline(always)]
    pub(crate) fn push_checked(
        &mut self,
        work: &Work,
        item: T,
        now: Duration,
        tell: &mut impl FnMut(T, Refused),
    ) -> Result<Handle, (Refused, T)> {
        match self.make_room(work, now, tell) {
            Ok(()) => Ok(self.append(work, self.flows.hash(key(work)), item, now)),
            Err(why) => Err((why, item)),
        }
    }

    /// Like [`push_checked`](Self::push_checked) if there is room; else it comes back. The hash is that of its key.
    #[inline(always)]
    pub(crate) fn push_where_room(
        &mut self,
        work: &Work,
        hash: u32,
        item: T,
        now: Duration,
    ) -> Result<Handle, T> {
        match self.lacks_room(work) {
            None => Ok(self.append(work, hash, item, now)),
            Some(_) => Err(item),
        }
    }

    /// Takes the next item in fair order. Items found expired on the way are passed to `tell` and
    /// cost nothing.
    #[inline]
    pub fn pop(&mut self, now: Duration, tell: impl FnMut(T, Refused)) -> Option<Dispatched<T>> {
        if self.waiting == 0 {
            return None;
        }
        self.serve_by_turns(Moment::of(now), tell)
    }

    /// [`pop`](Self::pop) where many wait in a regular order, as those do who wait for a slot: the
    /// same item, sooner found, and more that wait; `None` if it takes more.
    #[inline(always)]
    pub(crate) fn pop_usual(&mut self, now: Duration) -> Option<Dispatched<T>> {
        self.serve_next_in_ring(Moment::of(now))
    }

    /// Takes a waiting item out, wherever it stands; `None` if it has left already.
    pub fn cancel(&mut self, handle: Handle) -> Option<T> {
        let id = self.items.flow(handle)?;
        let flow = self.flows.get_mut(id);
        let waiting = self.items.remove(&mut flow.row, handle)?;
        self.after_loss(id);
        Some(waiting.item)
    }

    /// A waiting item; `None` if it has left already.
    pub(crate) fn item_mut(&mut self, handle: Handle) -> Option<&mut T> {
        self.items.item_mut(handle)
    }

    /// Takes out all that has expired. Looks at nobody before the earliest deadline has come.
    pub fn expire(&mut self, now: Duration, mut tell: impl FnMut(T, Refused)) {
        let now = Moment::of(now);
        if now < self.earliest_deadline {
            return;
        }
        let mut earliest = Moment::NEVER;
        let mut index = 0;
        while let Some(place) = self.items.at(index) {
            index += 1;
            let Some((handle, waiting)) = place else {
                continue;
            };
            if waiting.deadline > now {
                earliest = earliest.min(waiting.deadline);
            } else if let Some(item) = self.cancel(handle) {
                tell(item, Refused::Expired);
            }
        }
        self.earliest_deadline = earliest;
    }

    /// When [`expire`](Self::expire) may next find somebody.
    pub fn next_deadline(&self) -> Option<Duration> {
        let earliest = self.earliest_deadline;
        (earliest != Moment::NEVER).then(|| earliest.time())
    }

    /// Replaces the expected cost by the real one. The difference is charged or credited; a debt is
    /// repaid by waiting, as long as anybody else does.
    #[inline(never)]
    pub fn settle(&mut self, account: Account, real_cost: u64) {
        let difference = (real_cost.min(i64::MAX as u64) as i64) - account.cost as i64;
        let index = account.class.index();
        let Some(class) = self.classes.get_mut(index) else {
            return;
        };
        if difference == 0 {
            return;
        }
        class.served = class.served.saturating_add(difference);
        let key = Key {
            tenant: account.tenant,
            class: account.class.0,
        };
        let contended = self.waiting > 0;
        match self.flows.find(key) {
            Some(id) => self.settle_flow(id, difference),
            None if contended && difference > 0 && self.flows.may_rest() => {
                let served = self.classes[index].served;
                let id = self
                    .flows
                    .enter(key, self.flows.hash(key), account.weight, served);
                self.settle_flow(id, difference);
            }
            None => {}
        }
        if contended {
            self.settle_class(index, difference);
        }
    }

    /// A class's weight from its next turn on.
    pub fn set_class_weight(&mut self, class: Class, weight: u32) -> Result<(), SettingsError> {
        check_weight(weight)?;
        let state = self.classes.get_mut(class.index());
        let state = state.ok_or(SettingsError::UnknownClass(class))?;
        state.member.weight = weight;
        state.spec.weight = weight;
        Ok(())
    }

    /// The quantum from everybody's next turn on.
    pub fn set_quantum(&mut self, quantum: u64) -> Result<(), SettingsError> {
        check_quantum(quantum, self.settings.max_cost)?;
        self.settings.quantum = quantum;
        self.top.set_quantum(quantum);
        for class in &mut self.classes {
            class.rounds.set_quantum(quantum);
        }
        Ok(())
    }

    /// Takes everybody out.
    pub fn clear(&mut self, why: Refused, mut tell: impl FnMut(T, Refused)) {
        let mut index = 0;
        while let Some(place) = self.items.at(index) {
            index += 1;
            let handle = place.map(|(handle, _)| handle);
            if let Some(item) = handle.and_then(|handle| self.cancel(handle)) {
                tell(item, why);
            }
        }
    }

    #[inline(always)]
    fn make_room(
        &mut self,
        work: &Work,
        now: Duration,
        tell: &mut impl FnMut(T, Refused),
    ) -> Result<(), Refused> {
        match self.lacks_room(work) {
            None => Ok(()),
            Some(_) => self.press(work, now, tell),
        }
    }

    /// Room where there is none: of those who have expired, then by the settings.
    #[cold]
    fn press(
        &mut self,
        work: &Work,
        now: Duration,
        tell: &mut impl FnMut(T, Refused),
    ) -> Result<(), Refused> {
        self.expire(now, &mut *tell);
        let Some(why) = self.lacks_room(work) else {
            return Ok(());
        };
        match self.settings.overflow {
            Overflow::RejectNew => Err(why),
            Overflow::DropOldest => self.drop_oldest(work, tell).ok_or(why),
        }
    }

    #[inline(always)]
    fn lacks_room(&self, work: &Work) -> Option<Refused> {
        match self.waiting < self.ample {
            true => None,
            false => self.lacks_room_among_many(work),
        }
    }

    fn lacks_room_among_many(&self, work: &Work) -> Option<Refused> {
        if self.waiting >= self.settings.max_items {
            return Some(Refused::Full);
        }
        let mut most = self.settings.max_items_per_tenant;
        if self.settings.room_for_newcomers {
            most = most.min(self.settings.max_items - self.waiting);
        }
        let held = self
            .flows
            .find(key(work))
            .map(|id| self.flows.get(id).row.len as usize);
        (held.unwrap_or(0) >= most).then_some(Refused::TenantFull)
    }

    /// Own work first: a tenant that floods pushes out itself before anybody else.
    fn drop_oldest(&mut self, work: &Work, tell: &mut impl FnMut(T, Refused)) -> Option<()> {
        let own = self.flows.find(key(work));
        let own = own.filter(|id| self.flows.get(*id).row.len > 0);
        let id = own.or_else(|| self.flows.longest())?;
        let waiting = self.items.pop_front(&mut self.flows.get_mut(id).row)?;
        self.after_loss(id);
        tell(waiting.item, Refused::Dropped);
        Some(())
    }

    #[inline(always)]
    fn append(&mut self, work: &Work, hash: u32, item: T, now: Duration) -> Handle {
        let index = work.class.index();
        let class = &mut self.classes[index];
        let id = self.flows.enter(key(work), hash, work.weight, class.served);
        let flows = self.flows.places.as_mut_slice();
        let flow = &mut flows[id as usize];
        let was_empty = flow.row.len == 0;
        let before = std::mem::replace(&mut flow.member.weight, work.weight);
        if was_empty {
            self.flows.busy += 1;
        } else {
            class.busy_weight -= u64::from(before);
        }
        class.busy_weight += u64::from(work.weight);
        let deadline = work.deadline.map_or(Moment::NEVER, Moment::of);
        self.earliest_deadline = self.earliest_deadline.min(deadline);
        let waiting = Waiting {
            item,
            cost: work.cost,
            since: Moment::of(now),
            deadline,
        };
        let handle = self.items.push_back(&mut flow.row, id, waiting);
        class.waiting += 1;
        self.waiting += 1;
        if was_empty {
            class.rounds.arrive(flows, id);
        }
        if class.waiting == 1 {
            self.top.arrive(&mut self.classes, index as u32);
        }
        handle
    }
}

/// How few have to wait for nobody to lack room, whoever it is that all of them belong to.
fn ample(settings: &Settings) -> usize {
    let most = match settings.room_for_newcomers {
        // As many as there is room left.
        true => settings.max_items.div_ceil(2),
        false => settings.max_items,
    };
    most.min(settings.max_items_per_tenant)
}

#[inline(always)]
pub(crate) fn key(work: &Work) -> Key {
    Key {
        tenant: work.tenant,
        class: work.class.0,
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
