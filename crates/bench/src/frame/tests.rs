use std::cell::RefCell;
use std::rc::Rc;

use super::*;

fn against(ours: f64, peer: Peer) -> Metric {
    Metric {
        name: "m",
        unit: "ns",
        ours: Box::new(move || ours),
        peer,
        goal_ratio: 1.0,
    }
}

fn rival(theirs: f64) -> Peer {
    Peer::Rival {
        name: "them",
        theirs: Box::new(move || theirs),
    }
}

#[test]
fn the_ratio_is_ours_to_theirs_and_one_is_a_success() {
    let half = measure(against(10.0, rival(20.0)), 3, |_| ());
    assert_eq!((half.ratio, half.met, half.spread), (0.5, true, 0.0));
    assert!(measure(against(20.0, rival(20.0)), 3, |_| ()).met);
    assert!(!measure(against(20.1, rival(20.0)), 3, |_| ()).met);
}

#[test]
fn a_budget_stands_in_for_a_peer() {
    let outcome = measure(against(5.0, Peer::Budget(10.0)), 1, |_| ());
    assert_eq!(
        (outcome.peer, outcome.theirs, outcome.ratio),
        ("budget", 10.0, 0.5)
    );
}

#[test]
fn rounds_alternate_who_goes_first_after_a_warm_up_of_both() {
    let calls = Rc::new(RefCell::new(String::new()));
    let note = |who: char| -> Cost {
        let calls = Rc::clone(&calls);
        Box::new(move || {
            calls.borrow_mut().push(who);
            1.0
        })
    };
    let peer = Peer::Rival {
        name: "them",
        theirs: note('t'),
    };
    let metric = Metric {
        name: "m",
        unit: "ns",
        ours: note('o'),
        peer,
        goal_ratio: 1.0,
    };
    let mut seen = Vec::new();
    measure(metric, 3, |round| seen.push(round));
    assert_eq!(*calls.borrow(), "ototto".to_owned() + "ot");
    assert_eq!(seen, [1, 2, 3]);
}

#[test]
fn one_wild_round_moves_neither_median_nor_spread_much() {
    let mut round = 0;
    let ours = Box::new(move || {
        round += 1;
        if round == 10 { 1000.0 } else { 10.0 }
    });
    let metric = Metric {
        name: "m",
        unit: "ns",
        ours,
        peer: Peer::Budget(10.0),
        goal_ratio: 1.0,
    };
    let outcome = measure(metric, 31, |_| ());
    assert_eq!(
        (outcome.ours, outcome.ratio, outcome.spread),
        (10.0, 1.0, 0.0)
    );
}

#[test]
fn quantiles_lie_between_neighbours() {
    let sample = Quantiles::of([4.0, 1.0, 3.0, 2.0].into_iter());
    assert_eq!(
        [sample.at(0.0), sample.at(0.5), sample.at(1.0)],
        [1.0, 2.5, 4.0]
    );
}

#[test]
fn a_limit_cuts_rounds_but_never_below_what_a_median_needs() {
    let slow = measure_within(against(1.0, rival(1.0)), 31, Duration::ZERO, |_| ());
    assert_eq!(slow.rounds, ROUNDS_MIN);
    let quick = measure_within(against(1.0, rival(1.0)), 31, Duration::MAX, |_| ());
    assert_eq!(quick.rounds, 31);
}
