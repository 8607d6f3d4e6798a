use proptest::prelude::*;

use super::*;

const PLAN: Plan = Plan {
    accept_grace: Duration::ZERO,
    deadline: Duration::from_secs(3),
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

// req: KN-08
#[test]
fn a_request_closes_the_doors_first_and_the_admin_server_last() {
    let mut drain = Drain::default();
    assert_eq!(drain.word(), "running");
    let first = drain.on(ms(0), Input::Request, &PLAN);
    assert_eq!(first, [Act::Enter(Stage::Grace), Act::Enter(Stage::Intake)]);
    assert_eq!(drain.word(), "draining");
    let mut entered = Vec::new();
    for phase in Phase::ALL {
        entered.extend(drain.on(ms(10), Input::Empty(phase), &PLAN));
    }
    let order = [Stage::Work, Stage::Support, Stage::Admin, Stage::Stopped].map(Act::Enter);
    assert_eq!(entered, order);
    assert_eq!(
        (drain.outcome(), drain.word()),
        (Outcome::Drained, "stopped")
    );
}

// req: KN-08
#[test]
fn grace_keeps_the_doors_open_until_it_is_over() {
    let plan = Plan {
        accept_grace: ms(200),
        ..PLAN
    };
    let mut drain = Drain::default();
    assert_eq!(
        drain.on(ms(0), Input::Request, &plan),
        [Act::Enter(Stage::Grace)]
    );
    assert_eq!(drain.on(ms(199), Input::Tick, &plan), []);
    assert_eq!(drain.next_at(), Some(ms(200)));
    assert_eq!(
        drain.on(ms(200), Input::Tick, &plan),
        [Act::Enter(Stage::Intake)]
    );
    assert_eq!(
        drain.next_at(),
        Some(ms(3200)),
        "the deadline counts from the end of grace"
    );
}

// req: KN-08, KN-09
#[test]
fn stragglers_are_aborted_at_the_deadline_and_written_off_after_it() {
    let mut drain = Drain::default();
    drain.on(ms(0), Input::Request, &PLAN);
    assert_eq!(drain.on(ms(2999), Input::Tick, &PLAN), []);
    assert_eq!(
        drain.on(ms(3000), Input::Tick, &PLAN),
        [Act::Abort(Phase::Intake)]
    );
    assert_eq!(drain.word(), "aborting");
    let late = drain.on(ms(3250), Input::Tick, &PLAN);
    let then = [
        Act::WriteOff(Phase::Intake),
        Act::Enter(Stage::Work),
        Act::Abort(Phase::Work),
    ];
    assert_eq!(late, then, "no time is left for the work stage either");
    assert_eq!(drain.outcome(), Outcome::DeadlinePassed);
}

// req: KN-08
#[test]
fn a_second_request_aborts_every_stage_at_once() {
    let mut drain = Drain::default();
    drain.on(ms(0), Input::Request, &PLAN);
    assert_eq!(
        drain.on(ms(5), Input::Request, &PLAN),
        [Act::Abort(Phase::Intake)]
    );
    for (phase, next) in [
        (Phase::Intake, Phase::Work),
        (Phase::Work, Phase::Support),
        (Phase::Support, Phase::Admin),
    ] {
        let acts = drain.on(ms(6), Input::Empty(phase), &PLAN);
        assert_eq!(acts, [Act::Enter(next.stage()), Act::Abort(next)]);
    }
    assert_eq!(
        drain.on(ms(7), Input::Empty(Phase::Admin), &PLAN),
        [Act::Enter(Stage::Stopped)]
    );
    assert_eq!(drain.outcome(), Outcome::CutShort);
}

// req: KN-09
#[test]
fn a_deadline_of_zero_gives_no_time_but_still_stops_in_order() {
    let plan = Plan {
        accept_grace: Duration::ZERO,
        deadline: Duration::ZERO,
    };
    let mut drain = Drain::default();
    let acts = drain.on(ms(0), Input::Request, &plan);
    assert_eq!(acts.last(), Some(&Act::Abort(Phase::Intake)));
}

fn inputs() -> impl Strategy<Value = Vec<(u64, Input)>> {
    let input = prop_oneof![
        Just(Input::Request),
        Just(Input::Tick),
        (0..4usize).prop_map(|index| Input::Empty(Phase::ALL[index])),
    ];
    proptest::collection::vec((0..2000u64, input), 0..60)
}

proptest! {
    // req: KN-08
    #[test]
    fn stages_are_entered_in_order_and_each_once(inputs in inputs(), grace in 0..500u64, deadline in 0..4000u64) {
        let plan = Plan { accept_grace: ms(grace), deadline: ms(deadline) };
        let (mut drain, mut now, mut entered) = (Drain::default(), ms(0), vec![Stage::Running]);
        for (step, input) in inputs {
            now += ms(step);
            for act in drain.on(now, input, &plan) {
                match act {
                    Act::Enter(stage) => {
                        prop_assert!(stage > *entered.last().unwrap());
                        entered.push(stage);
                    }
                    Act::Abort(phase) | Act::WriteOff(phase) => {
                        prop_assert!(entered.contains(&phase.stage()), "aborted before told to end");
                    }
                }
            }
        }
        prop_assert_eq!(drain.next_at().is_none(), matches!(drain.stage(), Stage::Running | Stage::Stopped));
    }

    // req: KN-08, KN-09
    #[test]
    fn once_requested_it_stops_by_the_sum_of_its_deadlines_even_if_nobody_ever_ends(
        grace in 0..500u64, deadline in 0..4000u64,
    ) {
        let plan = Plan { accept_grace: ms(grace), deadline: ms(deadline) };
        let mut drain = Drain::default();
        drain.on(ms(0), Input::Request, &plan);
        let mut now = ms(0);
        while let Some(at) = drain.next_at() {
            now = at;
            drain.on(now, Input::Tick, &plan);
        }
        prop_assert_eq!(drain.stage(), Stage::Stopped);
        let reaps = limits::REAP_DEADLINE * 4;
        prop_assert!(now <= ms(grace + deadline) + limits::SUPPORT_DEADLINE + limits::ADMIN_DEADLINE + reaps);
    }
}
