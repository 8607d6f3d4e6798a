use proptest::prelude::*;

use super::*;

fn s(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Opened at second 100 by failures in a row.
fn opened() -> Breaker {
    let mut breaker = Breaker::new(BreakerConfig::consecutive(2));
    assert!(!breaker.record(s(100.0), 0, Outcome::Failure));
    assert!(breaker.record(s(100.0), 0, Outcome::Failure));
    breaker
}

// req: GT-07
#[test]
fn a_ratio_opens_it_only_with_enough_samples() {
    let mut breaker = Breaker::new(BreakerConfig::ratio());
    for _ in 0..19 {
        assert!(!breaker.record(s(1.0), 0, Outcome::Failure));
    }
    assert!(breaker.record(s(1.0), 0, Outcome::Failure));
    assert_eq!(breaker.state(), BreakerState::Open);
}

// req: GT-07
#[test]
fn below_the_threshold_it_stays_closed() {
    let mut breaker = Breaker::new(BreakerConfig::ratio());
    for round in 0..1_000 {
        let now = s(f64::from(round) * 0.01);
        for outcome in [Outcome::Success, Outcome::Success, Outcome::Failure] {
            assert!(!breaker.record(now, 0, outcome));
        }
    }
    assert_eq!(breaker.admit(s(10.0)), Passage::Free);
}

// req: GT-07
#[test]
fn failures_older_than_the_window_are_forgotten() {
    let mut breaker = Breaker::new(BreakerConfig::ratio());
    for second in 0..200 {
        // One a second: never more than ten within the ten seconds of the window.
        assert!(!breaker.record(s(f64::from(second)), 0, Outcome::Failure));
    }
    let mut row = Breaker::new(BreakerConfig::consecutive(2));
    for minute in 0..20 {
        assert!(!row.record(s(f64::from(minute) * 60.0), 0, Outcome::Failure));
    }
}

// req: GT-07
#[test]
fn a_success_ends_a_row_of_failures() {
    let mut breaker = Breaker::new(BreakerConfig::consecutive(2));
    for _ in 0..10 {
        assert!(!breaker.record(s(1.0), 0, Outcome::Failure));
        assert!(!breaker.record(s(1.0), 0, Outcome::Success));
    }
}

/// Half of ten in ten seconds, or nothing but failures for a second.
fn ratio_or_row() -> Breaker {
    Breaker::new(BreakerConfig {
        trip: Trip::RatioOrRow {
            threshold: 0.5,
            min_samples: 10,
            row: 5,
            lasting: s(1.0),
        },
        ..BreakerConfig::ratio()
    })
}

/// Forty good answers a second for ten seconds.
fn busy() -> Breaker {
    let mut breaker = ratio_or_row();
    for n in 0..400 {
        assert!(!breaker.record(s(f64::from(n) / 40.0), 0, Outcome::Success));
    }
    breaker
}

// req: GT-07
#[test]
fn who_falls_silent_after_much_that_went_well_is_found_out_within_the_time_of_a_row() {
    let mut breaker = busy();
    let opened = (0..400).find(|n| {
        let now = s(10.0 + f64::from(*n) / 40.0);
        breaker.record(now, 0, Outcome::Failure)
    });
    assert_eq!(opened, Some(40), "after one second of failures");
}

// req: GT-07
#[test]
fn what_breaks_off_at_once_beside_much_that_goes_well_opens_nothing() {
    let mut breaker = busy();
    for second in 10..20 {
        let at_once = s(f64::from(second));
        for _ in 0..15 {
            assert!(!breaker.record(at_once, 0, Outcome::Failure));
        }
        for n in 1..40 {
            let later = s(f64::from(second) + f64::from(n) / 40.0);
            assert!(!breaker.record(later, 0, Outcome::Success));
        }
    }
    assert_eq!(breaker.state(), BreakerState::Closed);
}

// req: GT-07
#[test]
fn a_row_says_nothing_with_too_few_samples_and_the_ratio_still_counts_beside_it() {
    let mut few = ratio_or_row();
    for n in 0..9 {
        assert!(!few.record(s(f64::from(n)), 0, Outcome::Failure));
    }
    let mut mixed = ratio_or_row();
    for n in 0..9 {
        let outcome = [Outcome::Success, Outcome::Failure][n % 2];
        assert!(!mixed.record(s(1.0), 0, outcome));
    }
    assert!(mixed.record(s(1.0), 0, Outcome::Failure), "half of ten");
}

// req: GT-07
#[test]
fn open_it_refuses_until_its_time_is_over_then_sends_probes() {
    let mut breaker = opened();
    assert_eq!(breaker.admit(s(101.0)), Passage::Refused(s(4.0)));
    for _ in 0..3 {
        assert_eq!(breaker.admit(s(105.0)), Passage::Probe);
    }
    assert!(matches!(breaker.admit(s(105.0)), Passage::Refused(_)));
    breaker.forget_probe(breaker.epoch());
    assert_eq!(breaker.admit(s(105.0)), Passage::Probe, "one came back");
}

// req: GT-07
#[test]
fn a_success_that_is_taken_back_opens_it_again_unless_another_was_better() {
    for (others, opens) in [(0, true), (1, false)] {
        let mut breaker = opened();
        for _ in 0..3 {
            assert_eq!(breaker.admit(s(106.0)), Passage::Probe);
            breaker.record(s(106.0), breaker.epoch(), Outcome::Success);
        }
        let epoch = breaker.epoch();
        for _ in 0..others {
            breaker.record(s(106.5), epoch, Outcome::Success);
        }
        assert!(!breaker.take_back(s(107.0), epoch.wrapping_sub(1)), "late");
        assert_eq!(breaker.take_back(s(107.0), epoch), opens);
        assert_eq!(breaker.state() == BreakerState::Open, opens);
    }
    let mut waiting = opened();
    assert_eq!(waiting.admit(s(106.0)), Passage::Probe);
    waiting.record(s(106.0), waiting.epoch(), Outcome::Success);
    assert!(waiting.take_back(s(106.1), waiting.epoch()), "half open");
}

// req: GT-07
#[test]
fn a_failed_probe_opens_it_again_for_the_whole_time() {
    let mut breaker = opened();
    assert_eq!(breaker.admit(s(106.0)), Passage::Probe);
    assert!(breaker.record(s(107.0), breaker.epoch(), Outcome::Failure));
    assert_eq!(breaker.admit(s(111.0)), Passage::Refused(s(1.0)));
}

// req: GT-07
#[test]
fn after_its_probes_it_opens_up_step_by_step() {
    let mut breaker = opened();
    for _ in 0..3 {
        assert_eq!(breaker.admit(s(105.0)), Passage::Probe);
    }
    for _ in 0..3 {
        assert!(!breaker.record(s(106.0), breaker.epoch(), Outcome::Success));
    }
    assert_eq!(breaker.state(), BreakerState::Ramping);
    let shares: Vec<_> = [106.0, 111.0, 115.9]
        .map(|now| breaker.admit(s(now)))
        .into();
    assert_eq!(shares[0], Passage::Share(0.1));
    assert_eq!(shares[1], Passage::Share(0.55));
    assert_eq!(breaker.admit(s(116.0)), Passage::Free);
    assert_eq!(breaker.state(), BreakerState::Closed);
}

// req: GT-07
#[test]
fn work_admitted_before_it_opened_has_no_say_afterwards() {
    let mut breaker = opened();
    assert_eq!(breaker.admit(s(105.0)), Passage::Probe);
    assert!(
        !breaker.record(s(105.0), 0, Outcome::Failure),
        "a straggler"
    );
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    assert!(!breaker.record(s(105.0), 0, Outcome::Success));
    breaker.forget_probe(0);
    for _ in 0..2 {
        assert_eq!(breaker.admit(s(105.0)), Passage::Probe);
    }
    assert!(matches!(breaker.admit(s(105.0)), Passage::Refused(_)));
}

// req: GT-07
#[test]
fn a_clock_that_steps_back_neither_shortens_nor_lengthens_the_open_time() {
    let mut breaker = opened();
    assert_eq!(breaker.admit(s(3.0)), Passage::Refused(s(5.0)));
    assert_eq!(breaker.admit(s(102.0)), Passage::Refused(s(3.0)));
    assert_eq!(breaker.admit(s(0.0)), Passage::Refused(s(3.0)));
    assert_eq!(breaker.admit(s(105.0)), Passage::Probe);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Enter,
    End { which: usize, outcome: Option<bool> },
    Pass { ms: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Enter),
        4 => (any::<usize>(), any::<Option<bool>>())
            .prop_map(|(which, outcome)| Step::End { which, outcome }),
        1 => (0_u64..8_000).prop_map(|ms| Step::Pass { ms }),
    ]
}

proptest! {
    // req: GT-07
    #[test]
    fn never_more_probes_out_than_allowed_and_never_open_without_a_failure(
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        let mut breaker = Breaker::new(BreakerConfig::consecutive(3));
        let mut now = Duration::ZERO;
        let mut out: Vec<(u16, bool)> = Vec::new();
        for step in steps {
            let (state, epoch) = (breaker.state(), breaker.epoch());
            let mut failed = false;
            match step {
                Step::Pass { ms } => now += Duration::from_millis(ms),
                Step::Enter => match breaker.admit(now) {
                    Passage::Refused(after) => {
                        prop_assert!(matches!(
                            breaker.state(),
                            BreakerState::Open | BreakerState::HalfOpen
                        ));
                        prop_assert!(after <= Duration::from_secs(5));
                    }
                    passage => out.push((breaker.epoch(), passage == Passage::Probe)),
                },
                Step::End { .. } if out.is_empty() => {}
                Step::End { which, outcome } => {
                    let (epoch, probe) = out.remove(which % out.len());
                    match outcome {
                        Some(true) => { breaker.record(now, epoch, Outcome::Success); }
                        Some(false) => {
                            failed = true;
                            breaker.record(now, epoch, Outcome::Failure);
                        }
                        None if probe => breaker.forget_probe(epoch),
                        None => {}
                    }
                }
            }
            let opened = breaker.state() == BreakerState::Open
                && (state != BreakerState::Open || epoch != breaker.epoch());
            prop_assert!(!opened || failed, "opened without a failure");
            let current = breaker.epoch();
            let probes = out.iter().filter(|(epoch, probe)| *probe && *epoch == current);
            prop_assert!(probes.count() <= 3);
        }
    }
}
