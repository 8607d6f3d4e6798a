//! A noisy tenant sends thirty times what a polite one does; see who waits, and for how long.

use std::collections::VecDeque;
use std::time::Duration;

use fair_queue::{Class, Queue, Refused, Settings, Work};

const PLACES: usize = 4;
const SERVICE: Duration = Duration::from_millis(20);
const STEP: Duration = Duration::from_millis(1);

/// What became of one tenant's work.
#[derive(Default)]
struct Account {
    sent: u32,
    served: u32,
    refused: u32,
    waited: Duration,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut queue = Queue::new(Settings::default())?;
    let mut running: VecDeque<Duration> = VecDeque::new();
    let (mut noisy, mut polite) = (Account::default(), Account::default());
    for millis in 0..5_000_u32 {
        let now = STEP * millis;
        arrive(&mut queue, 1, &mut noisy, now);
        if millis % 30 == 0 {
            arrive(&mut queue, 2, &mut polite, now);
        }
        while running.front().is_some_and(|until| *until <= now) {
            running.pop_front();
        }
        while running.len() < PLACES
            && let Some(next) = queue.pop(now, |_, _| ())
        {
            running.push_back(now + SERVICE);
            let tenant = next.account.tenant;
            let account = if tenant == 1 { &mut noisy } else { &mut polite };
            account.served += 1;
            account.waited += now - next.item;
        }
    }
    report("noisy", &noisy);
    report("polite", &polite);
    let retry = queue.retry_after(Class::ANON, 1);
    println!("a refused noisy unit is told to come back after {retry:.1?}");
    Ok(())
}

fn arrive(queue: &mut Queue<Duration>, tenant: u64, account: &mut Account, now: Duration) {
    account.sent += 1;
    let pushed = queue.push(Work::of(Class::ANON, tenant), now, now, |_, _| ());
    if let Err((Refused::Full | Refused::TenantFull, _)) = pushed {
        account.refused += 1;
    }
}

fn report(name: &str, account: &Account) {
    println!(
        "{name:>7}: {} sent, {} served, {} refused, {:.1?} mean wait",
        account.sent,
        account.served,
        account.refused,
        account.waited / account.served.max(1),
    );
}
