use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Duration {
    SECOND * u32::try_from(seconds).unwrap()
}

// req: GW-12
#[test]
fn keys_are_fetched_at_once_and_then_in_rounds() {
    let mut state = KeySetState::new(Refresh::default(), at(5));
    assert_eq!(state.next_fetch(), at(5));
    assert_eq!(state.freshness(at(5)), Freshness::Missing);
    state.succeeded(at(6), 0);
    assert_eq!(state.next_fetch(), at(906));
    state.succeeded(at(6), u64::MAX);
    assert_eq!(state.next_fetch(), at(816));
    assert_eq!(state.freshness(at(100)), Freshness::Fresh);
}

// req: GW-12, GW-16
#[test]
fn another_pace_forgets_nothing_and_is_taken_up_at_once() {
    let mut state = KeySetState::new(Refresh::default(), at(0));
    state.succeeded(at(0), 0);
    let every = |every| Refresh {
        every,
        ..Refresh::default()
    };
    let quick = state.clone().under(every(at(60)), at(10));
    assert_eq!(quick.next_fetch(), at(70));
    assert_eq!(quick.freshness(at(11)), Freshness::Fresh);
    let slow = state.under(every(at(3600)), at(10));
    assert_eq!(slow.next_fetch(), at(900), "and then every hour");
}

#[test]
fn failures_wait_longer_and_longer_up_to_a_bound() {
    let mut state = KeySetState::new(Refresh::default(), at(0));
    let mut waits = Vec::new();
    for _ in 0..12 {
        state.failed(at(0), 0);
        waits.push(state.next_fetch().as_secs());
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
    state.failed(at(0), u64::MAX);
    assert_eq!(state.next_fetch(), at(150));
}

// req: GW-12
#[test]
fn the_last_good_keys_serve_until_the_node_says_it_is_degraded() {
    let mut state = KeySetState::new(Refresh::default(), at(0));
    state.succeeded(at(0), 0);
    state.failed(at(900), 0);
    state.failed(at(1_000), 0);
    assert_eq!(state.stale_since(at(1_000)), Some(at(900)));
    assert_eq!(state.freshness(at(4_499)), Freshness::Stale);
    assert_eq!(state.freshness(at(4_500)), Freshness::Degraded);
    state.succeeded(at(5_000), 0);
    assert_eq!(state.freshness(at(5_000)), Freshness::Fresh);
    assert_eq!(state.stale_since(at(5_000)), None);
}

#[test]
fn a_fetcher_that_died_makes_keys_stale_too() {
    let mut state = KeySetState::new(Refresh::default(), at(0));
    state.succeeded(at(0), 0);
    assert_eq!(state.freshness(at(1_799)), Freshness::Fresh);
    assert_eq!(state.freshness(at(1_800)), Freshness::Stale);
    assert_eq!(state.freshness(at(5_400)), Freshness::Degraded);
}

#[test]
fn an_unknown_key_brings_the_fetch_forward_but_not_against_the_backoff() {
    let mut state = KeySetState::new(Refresh::default(), at(0));
    assert!(!state.wanted(at(0)), "due already");
    state.succeeded(at(0), 0);
    assert!(!state.wanted(at(29)), "just fetched");
    assert!(state.wanted(at(30)));
    assert_eq!(state.next_fetch(), at(30));
    assert!(!state.wanted(at(31)), "due already");
    state.failed(at(31), 0);
    assert!(!state.wanted(at(500)), "the issuer fails");
    assert_eq!(state.next_fetch(), at(32));
}

#[derive(Clone, Debug)]
enum Step {
    Want,
    Fetch { good: bool },
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step, u64)>> {
    let step = prop_oneof![
        3 => Just(Step::Want),
        1 => any::<bool>().prop_map(|good| Step::Fetch { good }),
    ];
    prop::collection::vec((0..20_u64, step, any::<u64>()), 1..300)
}

proptest! {
    // req: GW-12
    #[test]
    fn whatever_is_wanted_fetches_keep_their_distance(steps in steps()) {
        let mut state = KeySetState::new(Refresh::default(), at(0));
        let (mut now, mut early, mut fetches) = (0, Vec::new(), Vec::new());
        for (wait, step, roll) in steps {
            now += wait;
            match step {
                Step::Want => {
                    if state.wanted(at(now)) {
                        early.push(now);
                    }
                }
                Step::Fetch { good } if state.next_fetch() <= at(now) => {
                    fetches.push((now, good));
                    match good {
                        true => state.succeeded(at(now), roll),
                        false => state.failed(at(now), roll),
                    }
                }
                Step::Fetch { .. } => (),
            }
            prop_assert!(state.next_fetch() <= at(now + 900));
        }
        prop_assert!(early.windows(2).all(|two| two[1] - two[0] >= 30), "{early:?}");
        // A success is followed by at least the gap of early fetches.
        let pairs = fetches.windows(2);
        prop_assert!(pairs.filter(|two| two[0].1).all(|two| two[1].0 - two[0].0 >= 30), "{fetches:?}");
    }
}
