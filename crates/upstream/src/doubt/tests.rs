use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn cut_short(waited: u64, usual: Option<u64>) -> Verdict {
    Verdict::CutShort {
        waited: ms(waited),
        usual: match usual {
            Some(usual) => Some(ms(usual)),
            None => None,
        },
    }
}

/// What becomes of a verdict that is heard each tenth of a second, from the first on.
fn each_tenth(doubt: &mut Doubt, verdict: Verdict, from_ms: u64) -> Vec<Verdict> {
    (0..15)
        .map(|n| doubt.weigh(ms(from_ms + n * 100), verdict))
        .collect()
}

fn failures(verdicts: &[Verdict]) -> usize {
    let failed = |verdict: &&Verdict| **verdict == Verdict::Failure;
    verdicts.iter().filter(failed).count()
}

// req: GW-11
#[test]
fn to_have_no_place_for_a_second_is_a_failure_and_less_is_not() {
    let mut doubt = Doubt::default();
    let said = each_tenth(&mut doubt, Verdict::Overrun, 5_000);
    assert_eq!(said[..10], [Verdict::Nothing; 10]);
    assert_eq!(said[10..], [Verdict::Failure; 5]);
}

// req: GW-11
#[test]
fn a_success_now_and_then_shows_that_it_was_too_much() {
    let mut doubt = Doubt::default();
    for n in 0..100 {
        assert_eq!(doubt.weigh(ms(n * 50), Verdict::Overrun), Verdict::Nothing);
        if n % 10 == 0 {
            doubt.weigh(ms(n * 50), Verdict::Success);
        }
    }
}

// req: GW-11
// attack: K-10
#[test]
fn who_left_early_speaks_against_nobody_unless_it_waited_long_and_nobody_is_answered() {
    for (waited, usual, failed) in [
        // Less than four times as long as usual.
        (300, Some(100), 0),
        (400, Some(100), 9),
        // Where nothing is known, a second is long.
        (900, None, 0),
        (1_000, None, 15),
    ] {
        let said = each_tenth(&mut Doubt::default(), cut_short(waited, usual), 5_000);
        assert_eq!(failures(&said), failed, "{waited} ms of {usual:?}");
    }
}

// req: GW-11
#[test]
fn who_waited_since_before_the_last_success_tells_of_the_time_since_then() {
    let mut doubt = Doubt::default();
    doubt.weigh(ms(5_900), Verdict::Success);
    let late = cut_short(2_000, Some(10));
    assert_eq!(doubt.weigh(ms(6_000), late), Verdict::Nothing);
    assert_eq!(doubt.weigh(ms(6_899), late), Verdict::Nothing);
    assert_eq!(doubt.weigh(ms(6_900), late), Verdict::Failure);
}

// req: GW-11
#[test]
fn what_failures_take_is_not_what_is_usual() {
    let mut doubt = Doubt::default();
    assert_eq!(
        failures(&each_tenth(&mut doubt, cut_short(400, Some(10)), 1_000)),
        9
    );
    let slower = cut_short(400, Some(1_000));
    assert_eq!(doubt.weigh(ms(3_000), slower), Verdict::Failure);
}
