//! Watches a queue from outside: who is backlogged, what each was served, and the widest gap seen
//! between any two that were backlogged together.

use std::collections::HashMap;
use std::time::Duration;

use crate::{Class, Handle, Queue, Refused, Settings, Work};

/// Served so far, in cost units.
type Served = i128;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Who {
    Class(Class),
    Tenant(Class, u64),
}

/// How far two drifted apart since both were backlogged, scaled by both weights.
#[derive(Default)]
struct Gap {
    now: Served,
    least: Served,
    most: Served,
}

#[derive(Default)]
struct Party {
    waiting: usize,
    weight: Served,
    served: Served,
}

/// An item that knows whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) work: Work,
    pub(crate) number: u64,
}

pub(crate) struct Ledger {
    pub(crate) queue: Queue<Unit>,
    parties: HashMap<Who, Party>,
    gaps: HashMap<(Who, Who), Gap>,
    pub(crate) told: Vec<(Unit, Refused)>,
    numbers: u64,
    quantum: u64,
    max_cost: u64,
    weights: Vec<u32>,
}

impl Ledger {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            quantum: settings.quantum,
            max_cost: settings.max_cost,
            weights: settings.classes.iter().map(|class| class.weight).collect(),
            queue: Queue::new(settings).expect("good settings"),
            parties: HashMap::new(),
            gaps: HashMap::new(),
            told: Vec::new(),
            numbers: 0,
        }
    }

    pub(crate) fn push(&mut self, work: Work, now: Duration) -> Result<Handle, Refused> {
        let unit = Unit {
            work,
            number: self.numbers,
        };
        self.numbers += 1;
        let mut told = Vec::new();
        let pushed = self
            .queue
            .push(work, unit, now, |unit, why| told.push((unit, why)));
        self.lost(told);
        let handle = pushed.map_err(|(why, _)| why)?;
        let class_weight = self.weights[work.class.index()];
        self.joins(Who::Class(work.class), class_weight);
        self.joins(Who::Tenant(work.class, work.tenant), work.weight);
        Ok(handle)
    }

    pub(crate) fn pop(&mut self, now: Duration) -> Option<Unit> {
        let mut told = Vec::new();
        let next = self.queue.pop(now, |unit, why| told.push((unit, why)));
        self.lost(told);
        let unit = next?.item;
        let cost = Served::from(unit.work.cost);
        for who in parties_of(&unit.work) {
            self.serve(who, cost);
            self.leaves(who);
        }
        Some(unit)
    }

    pub(crate) fn cancel(&mut self, handle: Handle) -> Option<Unit> {
        let unit = self.queue.cancel(handle)?;
        parties_of(&unit.work)
            .into_iter()
            .for_each(|who| self.leaves(who));
        Some(unit)
    }

    /// Expires all that is due; who went is in `told` and in `gone`.
    pub(crate) fn expire(&mut self, now: Duration, gone: &mut Vec<Unit>) {
        let mut told = Vec::new();
        self.queue.expire(now, |unit, why| told.push((unit, why)));
        gone.extend(told.iter().map(|(unit, _)| *unit));
        self.lost(told);
    }

    /// From here on gaps count anew: the law speaks of the time after a change.
    pub(crate) fn forget_gaps(&mut self) {
        self.gaps.clear();
    }

    pub(crate) fn change_class_weight(&mut self, class: Class, weight: u32) {
        self.queue
            .set_class_weight(class, weight)
            .expect("a good weight");
        self.weights[class.index()] = weight;
        if let Some(party) = self.parties.get_mut(&Who::Class(class)) {
            party.weight = Served::from(weight);
        }
    }

    pub(crate) fn change_quantum(&mut self, quantum: u64) {
        self.queue.set_quantum(quantum).expect("a good quantum");
        self.quantum = quantum;
    }

    pub(crate) fn served(&self, who: Who) -> Served {
        self.parties.get(&who).map_or(0, |party| party.served)
    }

    fn lost(&mut self, told: Vec<(Unit, Refused)>) {
        for (unit, why) in told {
            parties_of(&unit.work)
                .into_iter()
                .for_each(|who| self.leaves(who));
            self.told.push((unit, why));
        }
    }

    fn joins(&mut self, who: Who, weight: u32) {
        let party = self.parties.entry(who).or_default();
        party.waiting += 1;
        let weight = Served::from(weight);
        if std::mem::replace(&mut party.weight, weight) != weight {
            self.gaps.retain(|(a, b), _| *a != who && *b != who);
        }
    }

    fn leaves(&mut self, who: Who) {
        let party = self.parties.get_mut(&who).expect("it was there");
        party.waiting -= 1;
        if party.waiting == 0 {
            self.gaps.retain(|(a, b), _| *a != who && *b != who);
        }
    }

    fn serve(&mut self, who: Who, cost: Served) {
        let party = self.parties.get_mut(&who).expect("it was there");
        party.served += cost;
        let weight = party.weight;
        let others: Vec<(Who, Served)> = self
            .parties
            .iter()
            .filter(|(other, party)| {
                **other != who && party.waiting > 0 && level(**other) == level(who)
            })
            .map(|(other, party)| (*other, party.weight))
            .collect();
        for (other, other_weight) in others {
            let pair = (who.min(other), who.max(other));
            let gap = self.gaps.entry(pair).or_default();
            gap.now += if pair.0 == who {
                cost * other_weight
            } else {
                -cost * other_weight
            };
            gap.least = gap.least.min(gap.now);
            gap.most = gap.most.max(gap.now);
            let bound = Served::from(self.quantum + 2 * self.max_cost) * weight * other_weight;
            let width = gap.most - gap.least;
            assert!(
                width <= bound,
                "{who:?} and {other:?} drifted {width} apart, at most {bound}"
            );
        }
    }
}

/// Those who share something: the classes, and the tenants of one class.
fn level(who: Who) -> Option<Class> {
    match who {
        Who::Class(_) => None,
        Who::Tenant(class, _) => Some(class),
    }
}

fn parties_of(work: &Work) -> [Who; 2] {
    [Who::Class(work.class), Who::Tenant(work.class, work.tenant)]
}
