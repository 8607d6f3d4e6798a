//! For whom there is room, at every size of a small queue.

use std::time::Duration;

use crate::{Class, Queue, Refused, Settings, Work};

/// How many a tenant gets in beside those of others, and why the next one is refused.
fn admitted(settings: &Settings, others: u64) -> (usize, Refused) {
    let mut queue = Queue::new(settings.clone()).expect("good settings");
    let mut push = |tenant| {
        let pushed = queue.push(Work::of(Class::ANON, tenant), (), Duration::ZERO, |_, _| ());
        pushed.map_err(|(why, ())| why)
    };
    for other in 0..others {
        push(other).expect("each of the others has nothing yet");
    }
    let mut count = 0;
    loop {
        match push(u64::MAX) {
            Ok(_) => count += 1,
            Err(why) => return (count, why),
        }
    }
}

// req: FQ-04
#[test]
fn a_tenant_gets_in_as_many_as_the_bounds_say_whoever_else_waits() {
    for (total, each, room_for_newcomers) in (1..=8)
        .flat_map(|total| (1..=total).map(move |each| (total, each)))
        .flat_map(|(total, each)| [true, false].map(|room| (total, each, room)))
    {
        let settings = Settings {
            max_items: total,
            max_items_per_tenant: each,
            room_for_newcomers,
            ..Settings::default()
        };
        for others in 0..total {
            let fits = |held: usize| {
                let left = total - others - held;
                let kept_free = if room_for_newcomers { left } else { usize::MAX };
                left > 0 && held < each.min(kept_free)
            };
            let due = (0..).find(|held| !fits(*held)).expect("there is an end");
            let why = match others + due == total {
                true => Refused::Full,
                false => Refused::TenantFull,
            };
            assert_eq!(
                admitted(&settings, others as u64),
                (due, why),
                "{settings:?}, {others} others"
            );
        }
    }
}
