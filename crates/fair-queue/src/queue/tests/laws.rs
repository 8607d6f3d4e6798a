//! What the order promises beside the bound, case by case.

use std::time::Duration;

use super::ledger::{Ledger, Who};
use crate::{Class, ClassSpec, Overflow, Queue, Refused, Settings, SettingsError, Work};

const NOW: Duration = Duration::from_secs(1);

fn one_class() -> Settings {
    Settings {
        classes: vec![ClassSpec {
            name: "all".to_owned(),
            weight: 1,
        }],
        max_items_per_tenant: 512,
        ..Settings::default()
    }
}

fn tenants(ledger: &mut Ledger, count: usize) -> Vec<u64> {
    std::iter::from_fn(|| ledger.pop(NOW))
        .take(count)
        .map(|unit| unit.work.tenant)
        .collect()
}

fn fill(ledger: &mut Ledger, work: Work, count: usize) {
    for _ in 0..count {
        ledger.push(work, NOW).expect("there is room");
    }
}

// req: FQ-01
#[test]
fn classes_are_served_by_weight_and_tenants_of_a_class_equally() {
    let settings = Settings {
        max_items_per_tenant: 128,
        ..Settings::default()
    };
    let mut ledger = Ledger::new(settings);
    for class in [Class::ANON, Class::AUTHED, Class::INTERNAL] {
        fill(&mut ledger, Work::of(class, 1), 85);
        fill(&mut ledger, Work::of(class, 2), 85);
    }
    for _ in 0..160 {
        ledger.pop(NOW);
    }
    let served = |class| ledger.served(Who::Class(class));
    assert_eq!(served(Class::ANON), 10);
    assert_eq!(served(Class::AUTHED), 50);
    assert_eq!(served(Class::INTERNAL), 100);
    assert_eq!(ledger.served(Who::Tenant(Class::INTERNAL, 1)), 50);
}

// req: FQ-01
#[test]
fn a_flow_is_served_in_order_of_arrival() {
    let mut ledger = Ledger::new(Settings::default());
    for tenant in [1, 2, 1, 2, 1] {
        fill(&mut ledger, Work::of(Class::ANON, tenant), 1);
    }
    let mut last = [None; 3];
    while let Some(unit) = ledger.pop(NOW) {
        let before = last[unit.work.tenant as usize].replace(unit.number);
        assert!(before.is_none_or(|before| before < unit.number));
    }
}

// req: FQ-02
#[test]
fn a_sparse_tenant_waits_for_the_open_turn_only() {
    let mut ledger = Ledger::new(one_class());
    for bulk in 0..20 {
        fill(&mut ledger, Work::of(Class(0), bulk), 20);
    }
    tenants(&mut ledger, 47);
    fill(&mut ledger, Work::of(Class(0), 99), 1);
    let next = tenants(&mut ledger, 2);
    assert!(next.contains(&99), "{next:?}");
}

// req: FQ-02
#[test]
fn running_empty_on_purpose_brings_no_more_than_the_fair_share() {
    let mut ledger = Ledger::new(one_class());
    for bulk in 0..4 {
        fill(&mut ledger, Work::of(Class(0), bulk), 100);
    }
    fill(&mut ledger, Work::of(Class(0), 99), 1);
    for _ in 0..200 {
        let unit = ledger.pop(NOW).expect("bulk waits");
        if unit.work.tenant == 99 {
            fill(&mut ledger, Work::of(Class(0), 99), 1);
        }
    }
    let sly = ledger.served(Who::Tenant(Class(0), 99));
    assert!(sly <= 41, "served {sly} of 200 among five");
}

// req: FQ-02
#[test]
fn an_empty_flow_keeps_no_deficit() {
    let settings = Settings {
        quantum: 100,
        max_cost: 100,
        ..one_class()
    };
    let mut ledger = Ledger::new(settings);
    fill(&mut ledger, Work::of(Class(0), 1).cost(1), 1);
    fill(&mut ledger, Work::of(Class(0), 2).cost(50), 4);
    assert_eq!(tenants(&mut ledger, 1), [1]);
    // Had tenant 1 kept its 99, it could now spend 199 before tenant 2 gets its turn.
    fill(&mut ledger, Work::of(Class(0), 1).cost(100), 2);
    assert_eq!(tenants(&mut ledger, 4), [2, 2, 1, 2]);
}

// req: FQ-02
#[test]
fn a_flood_of_new_tenants_starves_nobody() {
    let mut queue = Queue::new(one_class()).expect("good settings");
    let (mut unique, mut since_own) = (1_000, 0);
    let push = |queue: &mut Queue<u64>, tenant| {
        let work = Work::of(Class(0), tenant);
        queue.push(work, tenant, NOW, |_, _| ()).expect("room");
    };
    (0..100).for_each(|_| push(&mut queue, 1));
    for _ in 0..if cfg!(miri) { 2_000 } else { 50_000 } {
        while queue.len() < 400 {
            unique += 1;
            push(&mut queue, unique);
        }
        since_own += 1;
        if queue.pop(NOW, |_, _| ()).is_some_and(|next| next.item == 1) {
            push(&mut queue, 1);
            since_own = 0;
        }
        // The rest of its round, and the newcomers of that one and the next: 400 each at most.
        assert!(since_own <= 1_200, "left out for {since_own} dispatches");
    }
}

// req: FQ-03
#[test]
fn of_a_million_tenants_only_those_in_play_are_kept() {
    let count = if cfg!(miri) { 2_000 } else { 1_000_000 };
    let mut queue = Queue::new(one_class()).expect("good settings");
    let mut most = 0;
    for tenant in 0..count {
        let handle = queue
            .push(Work::of(Class(0), tenant), (), NOW, |_, _| ())
            .expect("there is room");
        match tenant % 3 {
            0 => {
                queue.pop(NOW, |_, _| ());
            }
            1 => {
                queue.cancel(handle);
            }
            _ => {
                if queue.len() == 512 {
                    while queue.pop(NOW, |_, _| ()).is_some() {}
                }
            }
        }
        most = most.max(queue.flows.len());
    }
    assert!(most <= 2 * 512, "{most} flows kept");
    while queue.pop(NOW, |_, _| ()).is_some() {}
    assert!(queue.flows.len() <= 512);
}

// req: FQ-04
#[test]
fn the_newcomer_is_refused_when_the_queue_or_its_tenant_is_full() {
    let settings = Settings {
        max_items: 4,
        max_items_per_tenant: 2,
        ..Settings::default()
    };
    let mut ledger = Ledger::new(settings);
    fill(&mut ledger, Work::of(Class::ANON, 1), 2);
    let more = ledger.push(Work::of(Class::ANON, 1), NOW);
    assert_eq!(more, Err(Refused::TenantFull));
    fill(&mut ledger, Work::of(Class::AUTHED, 1), 2);
    let more = ledger.push(Work::of(Class::INTERNAL, 9), NOW);
    assert_eq!(more, Err(Refused::Full));
    assert_eq!(ledger.queue.len(), 4);
}

// req: FQ-04
#[test]
fn the_expired_make_room_before_anybody_is_refused() {
    let settings = Settings {
        max_items: 2,
        max_items_per_tenant: 2,
        ..Settings::default()
    };
    let mut ledger = Ledger::new(settings);
    let mortal = Work::of(Class::ANON, 1).deadline(NOW + Duration::from_secs(1));
    fill(&mut ledger, mortal, 1);
    fill(&mut ledger, Work::of(Class::ANON, 1), 1);
    assert_eq!(
        ledger.push(Work::of(Class::ANON, 2), NOW),
        Err(Refused::Full)
    );
    let later = NOW + Duration::from_secs(1);
    ledger
        .push(Work::of(Class::ANON, 2), later)
        .expect("the expired one has gone");
    let told: Vec<Refused> = ledger.told.iter().map(|(_, why)| *why).collect();
    assert_eq!(told, [Refused::Expired]);
}

// req: FQ-04
#[test]
fn where_the_oldest_is_dropped_a_flood_drops_its_own() {
    let settings = Settings {
        max_items: 4,
        max_items_per_tenant: 4,
        overflow: Overflow::DropOldest,
        ..Settings::default()
    };
    let mut ledger = Ledger::new(settings);
    fill(&mut ledger, Work::of(Class::ANON, 1), 1);
    fill(&mut ledger, Work::of(Class::ANON, 2), 3);
    fill(&mut ledger, Work::of(Class::ANON, 2), 1);
    fill(&mut ledger, Work::of(Class::ANON, 3), 1);
    let dropped: Vec<(u64, u64, Refused)> = ledger
        .told
        .iter()
        .map(|(unit, why)| (unit.work.tenant, unit.number, *why))
        .collect();
    assert_eq!(
        dropped,
        [(2, 1, Refused::Dropped), (2, 2, Refused::Dropped)]
    );
    let mut left = tenants(&mut ledger, 9);
    left.sort_unstable();
    assert_eq!(left, [1, 2, 2, 3]);
}

// req: FQ-05
#[test]
fn expired_and_cancelled_work_is_never_dispatched_and_costs_nothing() {
    let mut ledger = Ledger::new(one_class());
    let mortal = Work::of(Class(0), 1).deadline(NOW + Duration::from_secs(1));
    fill(&mut ledger, mortal, 50);
    let cancelled: Vec<_> = (0..50)
        .map(|_| ledger.push(Work::of(Class(0), 1), NOW).expect("room"))
        .collect();
    fill(&mut ledger, Work::of(Class(0), 1), 3);
    fill(&mut ledger, Work::of(Class(0), 2), 3);
    for handle in cancelled {
        assert!(ledger.cancel(handle).is_some());
        assert!(
            ledger.cancel(handle).is_none(),
            "a handle is void once used"
        );
    }
    let late = NOW + Duration::from_secs(2);
    let order: Vec<u64> = std::iter::from_fn(|| ledger.pop(late))
        .map(|unit| unit.work.tenant)
        .collect();
    assert_eq!(order, [1, 2, 1, 2, 1, 2]);
    assert_eq!(ledger.told.len(), 50);
}

// req: FQ-07
#[test]
fn shares_follow_the_real_cost_once_it_is_settled() {
    let settings = Settings {
        quantum: 10,
        max_cost: 10,
        ..one_class()
    };
    let mut queue = Queue::new(settings).expect("good settings");
    let mut real = [0_u64; 2];
    let refill = |queue: &mut Queue<u64>, tenant| {
        let work = Work::of(Class(0), tenant);
        queue.push(work, tenant, NOW, |_, _| ()).expect("room");
    };
    for tenant in 0..100 {
        refill(&mut queue, tenant % 2);
    }
    for _ in 0..10_000 {
        let next = queue.pop(NOW, |_, _| ()).expect("both wait");
        // Tenant 1 says 1 and costs 9.
        let cost = if next.item == 1 { 9 } else { 1 };
        real[next.item as usize] += cost;
        queue.settle(next.account, cost);
        refill(&mut queue, next.item);
    }
    let ratio = real[0] as f64 / real[1] as f64;
    assert!((0.97..1.03).contains(&ratio), "{real:?}");
}

// req: FQ-07
// attack: H-04
#[test]
fn who_turned_out_to_cost_many_quanta_is_served_again_after_as_many_rounds() {
    let settings = Settings {
        quantum: 10,
        max_cost: 10,
        ..one_class()
    };
    let mut queue = Queue::new(settings).expect("good settings");
    for tenant in [1, 1].into_iter().chain([2; 200]) {
        let work = Work::of(Class(0), tenant).cost(10);
        queue.push(work, tenant, NOW, |_, _| ()).expect("room");
    }
    let mut serve = || queue.pop(NOW, |_, _| ()).expect("both wait");
    let first = std::iter::repeat_with(&mut serve).find(|next| next.item == 1);
    let account = first.expect("its turn comes").account;
    queue.settle(account, 75);
    let mut serve = || queue.pop(NOW, |_, _| ()).expect("both wait");
    let others = std::iter::repeat_with(&mut serve).take_while(|next| next.item == 2);
    let rounds = others.count();
    assert!((7..=9).contains(&rounds), "{rounds} rounds for 75 by tens");
}

// req: FQ-07
#[test]
fn a_tenant_that_never_queues_two_still_repays_its_debt() {
    let mut queue = Queue::new(one_class()).expect("good settings");
    let mut real = [0_u64; 2];
    for _ in 0..10 {
        queue
            .push(Work::of(Class(0), 0), 0, NOW, |_, _| ())
            .expect("room");
    }
    queue
        .push(Work::of(Class(0), 1), 1, NOW, |_, _| ())
        .expect("room");
    for _ in 0..2_000 {
        let next = queue.pop(NOW, |_, _| ()).expect("bulk waits");
        let cost = if next.item == 1 { 20 } else { 1 };
        real[next.item as usize] += cost;
        queue.settle(next.account, cost);
        queue
            .push(Work::of(Class(0), next.item), next.item, NOW, |_, _| ())
            .expect("room");
    }
    let ratio = real[1] as f64 / real[0] as f64;
    assert!((0.9..1.1).contains(&ratio), "{real:?}");
}

#[test]
fn a_settlement_of_any_size_neither_overflows_nor_hangs() {
    let mut queue = Queue::new(one_class()).expect("good settings");
    for round in 0..100 {
        for tenant in 0..3 {
            queue
                .push(Work::of(Class(0), tenant), (), NOW, |_, _| ())
                .expect("room");
        }
        let next = queue.pop(NOW, |_, _| ()).expect("somebody waits");
        queue.settle(next.account, if round % 2 == 0 { u64::MAX } else { 0 });
    }
    while queue.pop(NOW, |_, _| ()).is_some() {}
    assert!(queue.is_empty());
}

#[test]
fn bad_work_is_refused_at_once() {
    let mut ledger = Ledger::new(Settings::default());
    let good = Work::of(Class::ANON, 1);
    let cases = [
        (
            Work {
                class: Class(3),
                ..good
            },
            Refused::UnknownClass,
        ),
        (good.weight(0), Refused::Weight),
        (good.weight(u32::MAX), Refused::Weight),
        (good.cost(0), Refused::Cost),
        (good.cost(2), Refused::Cost),
        (good.deadline(NOW), Refused::Expired),
    ];
    for (work, why) in cases {
        assert_eq!(ledger.push(work, NOW), Err(why), "{work:?}");
    }
    assert!(ledger.queue.is_empty() && ledger.queue.flows.len() == 0);
}

#[test]
fn a_bad_live_change_is_refused_and_changes_nothing() {
    let mut queue: Queue<()> = Queue::new(Settings::default()).expect("good settings");
    let unknown = queue.set_class_weight(Class(9), 1);
    assert_eq!(unknown, Err(SettingsError::UnknownClass(Class(9))));
    assert_eq!(
        queue.set_class_weight(Class::ANON, 0),
        Err(SettingsError::Weight)
    );
    assert_eq!(queue.set_quantum(0), Err(SettingsError::Quantum));
    assert_eq!(queue.settings.quantum, 1);
}

// req: FQ-04
#[test]
fn whoever_has_little_waiting_finds_room_however_many_flood() {
    let settings = Settings {
        max_items: 512,
        max_items_per_tenant: 64,
        room_for_newcomers: true,
        ..Settings::default()
    };
    for flooding in [1, 8, 24, 100] {
        let mut queue = Queue::new(settings.clone()).unwrap();
        for round in 0..200 {
            for tenant in 0..flooding {
                let _may_be_refused =
                    queue.push(Work::of(Class::ANON, tenant), round, NOW, |_, _| ());
            }
        }
        let polite = Work::of(Class::ANON, 1 << 40);
        assert!(
            queue.push(polite, 0, NOW, |_, _| ()).is_ok(),
            "{flooding} flood"
        );
        let used = queue.len() >= (64 * flooding as usize).min(400);
        assert!(used, "{} wait, {flooding} flood", queue.len());
    }
}
