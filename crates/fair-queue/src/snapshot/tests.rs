use std::time::Duration;

use crate::{Class, Queue, Settings, Work};

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

// req: FQ-09
#[test]
fn a_console_sees_ages_tokens_and_shares_against_what_is_due() {
    let mut queue = Queue::new(Settings::default()).expect("good settings");
    for (tenant, weight, count) in [(1, 1, 30), (2, 3, 40)] {
        for number in 0..count {
            let work = Work::of(Class::AUTHED, tenant).weight(weight);
            queue.push(work, (), at(number), |_, _| ()).expect("room");
        }
    }
    for _ in 0..40 {
        queue.pop(at(100), |_, _| ()).expect("somebody waits");
    }
    let seen = queue.snapshot(at(100), 1);
    assert_eq!(seen.waiting, 30);
    let class = &seen.classes[1];
    assert_eq!(
        (
            class.name.as_str(),
            class.weight,
            class.waiting,
            class.served
        ),
        ("authed", 5, 30, 40)
    );
    assert_eq!(class.oldest, at(90));
    assert_eq!(seen.classes[0].oldest, Duration::ZERO);
    assert_eq!(seen.ages.buckets.iter().sum::<u64>(), 40);
    let [top] = seen.tenants.as_slice() else {
        panic!("one was asked for: {:?}", seen.tenants)
    };
    assert_eq!(
        (top.tenant, top.weight, top.waiting, top.oldest),
        (1, 1, 20, at(90))
    );
    assert_eq!((top.share, top.due), (0.25, 0.25));
}

// req: FQ-09
#[test]
fn a_debt_shows_as_a_negative_deficit() {
    let mut queue = Queue::new(Settings::default()).expect("good settings");
    for _ in 0..3 {
        queue
            .push(Work::of(Class::ANON, 1), (), at(0), |_, _| ())
            .expect("room");
    }
    let next = queue.pop(at(0), |_, _| ()).expect("somebody waits");
    queue.settle(next.account, 11);
    let seen = queue.snapshot(at(0), 9);
    assert_eq!(seen.tenants[0].deficit, -10);
    assert_eq!(seen.classes[0].tokens, -10);
    assert_eq!(seen.classes[0].served, 11);
}
