use proptest::prelude::*;

use super::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Retries of a request that fails however often it is tried, three times at most.
fn fail(budget: &RetryBudget, now: Duration) -> usize {
    budget.earn(now);
    (0..2).take_while(|_| budget.spend()).count()
}

/// Well for `calm_s` at this rate, then nothing but failures: the retries of the first `requests` of them.
fn storm(per_second: u64, calm_s: u64, requests: u64) -> usize {
    let budget = RetryBudget::default();
    let at = |number: u64| Duration::from_micros(number * 1_000_000 / per_second);
    let calm = per_second * calm_s;
    (0..calm).for_each(|number| budget.earn(at(number)));
    (calm..calm + requests)
        .map(|number| fail(&budget, at(number)))
        .sum()
}

// req: GW-10
// attack: H-08
#[test]
fn when_everything_fails_retries_stay_a_tenth_of_the_requests() {
    let retries = storm(100, 0, 10_000);
    assert!((1_000..=1_010).contains(&retries), "{retries}");
}

// req: GW-10
// attack: H-08
#[test]
fn when_an_outage_begins_the_first_fifty_requests_are_no_more_than_sixty_calls() {
    for calm_s in [0, 1, 10, 600] {
        for requests in [50, 100, 1_000] {
            let retries = storm(40, calm_s, requests);
            let amplified = 1.0 + retries as f64 / requests as f64;
            assert!(
                amplified <= 1.2,
                "{amplified} after {calm_s} s, {requests} requests"
            );
        }
    }
}

// req: GW-10
#[test]
fn a_busy_upstream_saves_what_a_second_earns_and_no_more() {
    let retries = storm(1_000, 600, 1_000);
    assert!((199..=200).contains(&retries), "{retries}");
    let at_once = storm(1_000, 600, 55);
    assert!(at_once >= 100, "{at_once} of those that broke off at once");
}

// req: GW-10
#[test]
fn what_was_saved_in_a_busy_time_is_gone_after_a_quiet_second() {
    let budget = RetryBudget::default();
    (0..5_000).for_each(|number| budget.earn(ms(number)));
    budget.earn(ms(10_000));
    let retries = (0..1_000).filter(|_| budget.spend()).count();
    assert_eq!(retries, 5);
}

// req: GW-10
#[test]
fn a_clock_that_was_looked_at_too_early_forgets_nothing() {
    let budget = RetryBudget::default();
    (0..2_000).for_each(|number| budget.earn(ms(number)));
    (0..1_000).for_each(|number| budget.earn(ms(2_000 + number - number % 2 * 1_000)));
    budget.earn(ms(3_000));
    let retries = (0..1_000).filter(|_| budget.spend()).count();
    assert!(retries >= 99, "{retries}");
}

proptest! {
    // req: GW-10
    // attack: H-08
    #[test]
    fn over_any_stretch_there_are_no_more_retries_than_its_requests_and_those_of_a_second_earn(
        steps in proptest::collection::vec((0_u64..400, 1_usize..60, any::<bool>()), 1..60),
    ) {
        let budget = RetryBudget::default();
        let mut now = 0;
        let (mut past, mut busiest) = (Vec::new(), 0);
        for (passed, requests, fails) in steps {
            now += passed;
            let mut retries = 0;
            for _ in 0..requests {
                if fails {
                    retries += fail(&budget, ms(now));
                } else {
                    budget.earn(ms(now));
                }
            }
            past.push((now / 1_000, requests, retries));
            let second = past.iter().filter(|(second, ..)| *second == now / 1_000);
            busiest = busiest.max(second.map(|(_, requests, _)| requests).sum::<usize>());
            let saved = (busiest / 10).max(5) + 1;
            for from in 0..past.len() {
                let stretch = &past[from..];
                let requests: usize = stretch.iter().map(|(_, requests, _)| requests).sum();
                let retries: usize = stretch.iter().map(|(.., retries)| retries).sum();
                prop_assert!(retries <= requests / 10 + saved, "{retries} of {requests}");
            }
        }
    }
}
