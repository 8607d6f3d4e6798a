//! The short way to the next item against the long one.

use std::time::Duration;

use proptest::prelude::*;

use crate::queue::Account;
use crate::{Class, Handle, Queue, Settings, Work};

#[derive(Clone, Debug)]
enum Step {
    /// With a deadline counted from then.
    Push(Work),
    Pop,
    Cancel(usize),
    Settle(usize, u64),
    Weight(u16, u32),
    Quantum(u64),
    Wait(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let push = (
        0..3_u16,
        0..6_u64,
        1..=4_u64,
        1..=3_u32,
        proptest::option::of(1..20_u64),
    )
        .prop_map(|(class, tenant, cost, weight, lives)| {
            let work = Work::of(Class(class), tenant).cost(cost).weight(weight);
            Step::Push(Work {
                deadline: lives.map(Duration::from_millis),
                ..work
            })
        });
    let step = prop_oneof![
        8 => push,
        8 => Just(Step::Pop),
        1 => any::<usize>().prop_map(Step::Cancel),
        1 => (any::<usize>(), 0..20_u64).prop_map(|(at, cost)| Step::Settle(at, cost)),
        1 => (0..3_u16, 1..12_u32).prop_map(|(class, weight)| Step::Weight(class, weight)),
        1 => (4..9_u64).prop_map(Step::Quantum),
        3 => (0..6_u8).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 1..300)
}

fn queue() -> Queue<u64> {
    let settings = Settings {
        quantum: 4,
        max_cost: 4,
        max_items: 12,
        max_items_per_tenant: 12,
        ..Settings::default()
    };
    Queue::new(settings).expect("good settings")
}

/// What a pop came to: the item, whom it was charged to, who was told meanwhile.
type Popped = (Option<(u64, Account)>, Vec<u64>);

/// One way to the next item, and all that it has led to.
struct Way {
    queue: Queue<u64>,
    short: bool,
    handles: Vec<Handle>,
    accounts: Vec<Account>,
}

impl Way {
    fn new(short: bool) -> Self {
        Self {
            queue: queue(),
            short,
            handles: Vec::new(),
            accounts: Vec::new(),
        }
    }

    fn pop(&mut self, now: Duration) -> Popped {
        let mut told = Vec::new();
        let tell = |item, _| told.push(item);
        let usual = self.short.then(|| self.queue.pop_usual(now)).flatten();
        assert!(usual.is_none() || !self.queue.is_empty());
        let next = usual.or_else(|| self.queue.pop(now, tell));
        self.accounts.extend(next.as_ref().map(|next| next.account));
        (next.map(|next| (next.item, next.account)), told)
    }

    fn take(&mut self, step: &Step, number: u64, now: Duration) -> Popped {
        match step {
            Step::Push(work) => {
                let deadline = work.deadline.map(|lives| now + lives);
                let work = Work { deadline, ..*work };
                let pushed = self.queue.push(work, number, now, |_, _| ());
                self.handles.extend(pushed.ok());
            }
            Step::Cancel(at) if !self.handles.is_empty() => {
                let handle = self.handles[at % self.handles.len()];
                return (None, self.queue.cancel(handle).into_iter().collect());
            }
            Step::Settle(at, cost) if !self.accounts.is_empty() => {
                let account = self.accounts[at % self.accounts.len()];
                self.queue.settle(account, *cost);
            }
            Step::Weight(class, weight) => {
                let changed = self.queue.set_class_weight(Class(*class), *weight);
                changed.expect("a good weight");
            }
            Step::Quantum(quantum) => {
                self.queue.set_quantum(*quantum).expect("a good quantum");
            }
            Step::Pop => return self.pop(now),
            Step::Cancel(_) | Step::Settle(..) | Step::Wait(_) => {}
        }
        (None, Vec::new())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    // req: FQ-01, FQ-02
    #[test]
    fn the_short_way_leads_to_the_same_item_as_the_long_one(steps in steps()) {
        let (mut short, mut long) = (Way::new(true), Way::new(false));
        let mut now = Duration::ZERO;
        for (number, step) in steps.iter().enumerate() {
            if let Step::Wait(millis) = step {
                now += Duration::from_millis((*millis).into());
            }
            let number = number as u64;
            prop_assert_eq!(short.take(step, number, now), long.take(step, number, now));
            let (seen, due) = (short.queue.snapshot(now, 99), long.queue.snapshot(now, 99));
            prop_assert_eq!(seen.waiting, due.waiting);
        }
        while !short.queue.is_empty() {
            prop_assert_eq!(short.pop(now), long.pop(now));
        }
        prop_assert!(long.queue.is_empty());
    }
}
