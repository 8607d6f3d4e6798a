//! Every operation against a model that is slow and obvious.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;

use super::ledger::Ledger;
use crate::{Class, Handle, Overflow, Refused, Settings, Work};

const MAX_ITEMS: usize = 12;
const PER_TENANT: usize = 5;

#[derive(Clone, Debug)]
enum Step {
    Push {
        class: u16,
        tenant: u64,
        cost: u64,
        lives: Option<u8>,
    },
    Pop,
    Cancel(usize),
    Expire,
    Wait(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let push = (
        0..3_u16,
        0..4_u64,
        1..=4_u64,
        proptest::option::of(1..20_u8),
    )
        .prop_map(|(class, tenant, cost, lives)| Step::Push {
            class,
            tenant,
            cost,
            lives,
        });
    let step = prop_oneof![
        5 => push,
        3 => Just(Step::Pop),
        2 => any::<usize>().prop_map(Step::Cancel),
        1 => Just(Step::Expire),
        2 => (0..10_u8).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 1..200)
}

/// Number, work and handle of all who wait, oldest first.
type Waiting = VecDeque<(u64, Work, Handle)>;

fn expired(work: &Work, now: Duration) -> bool {
    work.deadline.is_some_and(|deadline| deadline <= now)
}

fn same_flow(a: &Work, b: &Work) -> bool {
    (a.class, a.tenant) == (b.class, b.tenant)
}

fn held(waiting: &Waiting, work: &Work) -> usize {
    waiting
        .iter()
        .filter(|(_, other, _)| same_flow(other, work))
        .count()
}

/// What a newcomer must be told, and who has to go for it.
fn admission(
    waiting: &mut Waiting,
    work: &Work,
    overflow: Overflow,
    now: Duration,
) -> Option<Refused> {
    let lacks = |waiting: &Waiting| match () {
        () if waiting.len() >= MAX_ITEMS => Some(Refused::Full),
        () if held(waiting, work) >= PER_TENANT => Some(Refused::TenantFull),
        () => None,
    };
    lacks(waiting)?;
    waiting.retain(|(_, work, _)| !expired(work, now));
    let why = lacks(waiting)?;
    (overflow == Overflow::RejectNew).then_some(why)
}

fn run(steps: Vec<Step>, overflow: Overflow) -> Result<(), TestCaseError> {
    let mut ledger = Ledger::new(Settings {
        max_items: MAX_ITEMS,
        max_items_per_tenant: PER_TENANT,
        quantum: 5,
        max_cost: 4,
        overflow,
        ..Settings::default()
    });
    let mut waiting = Waiting::new();
    let (mut now, mut number) = (Duration::ZERO, 0);
    for step in steps {
        let told_before = ledger.told.len();
        match step {
            Step::Push {
                class,
                tenant,
                cost,
                lives,
            } => {
                let mut work = Work::of(Class(class), tenant).cost(cost);
                work.deadline = lives.map(|lives| now + Duration::from_millis(lives.into()));
                let expected = admission(&mut waiting, &work, overflow, now);
                let pushed = ledger.push(work, now);
                prop_assert_eq!(pushed.err(), expected);
                if let Ok(handle) = pushed {
                    waiting.push_back((number, work, handle));
                }
                number += 1;
            }
            Step::Pop => {
                let popped = ledger.pop(now);
                let alive = waiting.iter().any(|(_, work, _)| !expired(work, now));
                prop_assert_eq!(popped.is_some(), alive);
                if let Some(unit) = popped {
                    let mut flow = waiting
                        .iter()
                        .filter(|(_, work, _)| same_flow(work, &unit.work));
                    let first = flow.find(|(_, work, _)| !expired(work, now));
                    prop_assert_eq!(first.map(|(number, ..)| *number), Some(unit.number));
                    waiting.retain(|(number, ..)| *number != unit.number);
                }
            }
            Step::Cancel(at) if !waiting.is_empty() => {
                let (number, _, handle) = waiting.remove(at % waiting.len()).expect("in range");
                prop_assert_eq!(ledger.cancel(handle).map(|unit| unit.number), Some(number));
            }
            Step::Cancel(_) => {}
            Step::Expire => {
                let mut gone = Vec::new();
                ledger.expire(now, &mut gone);
                prop_assert!(
                    waiting
                        .iter()
                        .filter(|(_, work, _)| expired(work, now))
                        .count()
                        == gone.len()
                );
                waiting.retain(|(_, work, _)| !expired(work, now));
            }
            Step::Wait(millis) => now += Duration::from_millis(millis.into()),
        }
        for (unit, why) in &ledger.told[told_before..] {
            let justly = *why == Refused::Dropped || expired(&unit.work, now);
            prop_assert!(justly, "{:?} was told {:?}", unit, why);
            waiting.retain(|(number, ..)| *number != unit.number);
        }
        prop_assert_eq!(ledger.queue.len(), waiting.len());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // req: FQ-01, FQ-02, FQ-04, FQ-05
    #[test]
    fn the_queue_does_what_the_model_does(steps in steps()) {
        run(steps, Overflow::RejectNew)?;
    }

    // req: FQ-04
    #[test]
    fn so_does_one_that_drops_the_oldest(steps in steps()) {
        run(steps, Overflow::DropOldest)?;
    }
}
