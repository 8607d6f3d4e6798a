use super::*;
use concurrency_gate::Trip;
use testkit::sim;

fn config() -> BreakerConfig {
    BreakerConfig {
        trip: Trip::Consecutive(3),
        window: Duration::from_secs(10),
        open_for: Duration::from_secs(2),
        probes: 2,
        ramp: Duration::from_secs(4),
    }
}

const fn at(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn free(record: &Record) -> Admission {
    Admission::of(record.epoch())
}

fn opened() -> Record {
    let mut record = Record::new(config());
    for n in 0..3 {
        let admission = free(&record);
        assert_eq!(record.settle(at(n), admission, Verdict::Failure), n == 2);
    }
    record
}

// attack: K-19
#[test]
fn a_herd_sends_one_probe_and_the_next_only_after_its_outcome() {
    let mut record = opened();
    assert_eq!(record.share(at(100)), 0.0);
    assert_eq!(record.probe(at(1000), false), None);
    let probe = record.probe(at(2100), false).expect("it is time");
    for herd in 0..100 {
        assert_eq!(record.probe(at(2100 + herd), false), None);
    }
    assert_eq!(record.probe_at(), Duration::MAX);
    record.settle(at(2200), probe, Verdict::Success);
    let second = record
        .probe(at(2201), false)
        .expect("the first has come back");
    record.settle(at(2300), second, Verdict::Success);
    assert_eq!(record.state(), BreakerState::Ramping);
    assert!((0.0..0.2).contains(&record.share(at(2301))));
    assert_eq!(record.share(at(9000)), 1.0);
    assert_eq!(record.state(), BreakerState::Closed);
}

// attack: K-19
#[test]
fn a_probe_whose_client_left_makes_room_for_another() {
    let mut record = opened();
    let probe = record.probe(at(2100), false).unwrap();
    record.settle(at(2150), probe, Verdict::Nothing);
    assert!(record.probe(at(2150), false).is_some());
}

#[test]
fn a_probe_that_fails_opens_for_the_whole_time_again() {
    let mut record = opened();
    let probe = record.probe(at(2100), false).unwrap();
    assert!(record.settle(at(2200), probe, Verdict::Failure));
    assert_eq!(record.probe(at(4100), false), None);
    assert_eq!(record.retry_after(at(4100)), at(100));
    assert!(record.probe(at(4200), false).is_some());
}

// attack: K-19
#[test]
fn who_is_in_haste_may_probe_and_keeps_nobody_waiting_who_is_not() {
    let mut record = opened();
    let hasty = record.probe(at(2100), true).expect("nobody else is there");
    assert_eq!(record.probe(at(2101), true), None, "one at a time");
    assert!(record.probe_at() <= at(2101), "one that has time may go");
    assert!(!record.lets_in(at(2101), true) && record.lets_in(at(2101), false));
    let patient = record.probe(at(2101), false).expect("it has time");
    assert_eq!(record.probe_at(), Duration::MAX);
    assert!(!record.lets_in(at(2110), false), "one with time is out");
    record.settle(at(2120), hasty, Verdict::Nothing);
    for hasty in [true, false] {
        assert_eq!(record.probe(at(2121), hasty), None, "one is still out");
    }
    record.settle(at(2200), patient, Verdict::Success);
    let second = record.probe(at(2201), true).expect("the first is back");
    assert!(record.probe(at(2202), false).is_some());
    record.settle(at(2300), second, Verdict::Success);
    assert_eq!(record.state(), BreakerState::Ramping, "well is well");
    assert!((0..3).any(|n| record.settle(at(2301 + n), free(&record), Verdict::Failure)));
    assert!(record.probe(at(4400), false).is_some(), "it begins anew");
}

// attack: K-10, K-19
#[test]
fn a_hasty_probe_that_is_given_up_leaves_it_half_open() {
    let mut record = opened();
    for n in 0..100 {
        let probe = record.probe(at(2100 + n), true).expect("nobody is out");
        assert!(!record.settle(at(2100 + n), probe, Verdict::Nothing));
    }
    assert_eq!(record.state(), BreakerState::HalfOpen);
    let probe = record.probe(at(2300), false).expect("nobody is out");
    assert!(record.settle(at(2400), probe, Verdict::Failure));
}

#[test]
fn outcomes_from_before_it_opened_say_nothing() {
    let mut record = opened();
    let late = Admission::of(record.epoch().wrapping_sub(1));
    let probe = record.probe(at(2100), false).unwrap();
    record.settle(at(2110), late, Verdict::Success);
    assert_eq!(
        record.probe(at(2120), false),
        None,
        "the probe is still out"
    );
    record.settle(at(2130), probe, Verdict::Failure);
    assert_eq!(record.state(), BreakerState::Open);
}

#[test]
fn clients_that_leave_open_nothing() {
    let mut record = Record::new(config());
    for n in 0..100 {
        let admission = free(&record);
        assert!(!record.settle(at(n), admission, Verdict::Nothing));
    }
    assert_eq!(
        (record.state(), record.failures()),
        (BreakerState::Closed, 0)
    );
}

#[test]
fn other_rules_start_over_and_the_same_rules_do_not() {
    let mut record = opened();
    record.reconfigure(config());
    assert_eq!(record.state(), BreakerState::Open);
    record.reconfigure(BreakerConfig {
        probes: 1,
        ..config()
    });
    assert_eq!(
        (record.state(), record.failures()),
        (BreakerState::Closed, 3)
    );
}

// attack: K-10, K-19
#[test]
fn a_blackhole_gets_what_opens_it_and_then_no_more_than_probes() {
    sim::run("blackholed record", 200, |rng| {
        let mut record = Record::new(config());
        let (mut sent, mut out, mut now) = (0, Vec::new(), 0);
        for _ in 0..2000 {
            now += rng.u64(0..10);
            out.retain(|(until, admission)| {
                let over = *until <= now;
                if over {
                    record.settle(at(now), *admission, Verdict::Failure);
                }
                !over
            });
            let admission = match record.share(at(now)) > 0.0 {
                true => Some(free(&record)),
                false => record.probe(at(now), false),
            };
            if let Some(admission) = admission {
                sent += 1;
                out.push((now + 50, admission));
            }
        }
        // What was sent before the first timeout came back, and one probe for each time it was open.
        let probes = now / 2000 + 1;
        assert!(sent <= 55 + probes, "{sent} sent in {now} ms");
    });
}
