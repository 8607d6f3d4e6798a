use std::sync::OnceLock;

use super::*;

const LENGTH: Duration = Duration::from_secs(2);
const SEED: u64 = 7;

fn simulate(discipline: Discipline, load: f64, length: Duration, seed: u64) -> Figures {
    crowd::simulate(Crowd::Noisy, discipline, load, length, seed)
}

/// One seed of everything, for all tests.
fn study() -> &'static Study {
    static STUDY: OnceLock<Study> = OnceLock::new();
    STUDY.get_or_init(|| Study::run(1, LENGTH))
}

#[test]
fn a_seed_gives_the_same_numbers_again_and_another_seed_others() {
    for discipline in Discipline::ALL {
        let run = |seed| simulate(discipline, 0.9, LENGTH, seed);
        assert_eq!(run(SEED), run(SEED), "{discipline:?}");
        assert_ne!(run(SEED), run(SEED + 1), "{discipline:?}");
    }
    for contender in Contender::ALL {
        let run = |seed| limits::simulate(Trace::Step, contender, seed);
        assert_eq!(run(SEED), run(SEED), "{contender:?}");
        assert_ne!(run(SEED), run(SEED + 1), "{contender:?}");
    }
}

// req: FQ-02
#[test]
fn fifo_starves_the_polite_at_ten_times_the_capacity_and_drr_does_not() {
    let ok = |discipline| simulate(discipline, 10.0, LENGTH, SEED).polite_ok;
    assert!(ok(Discipline::Unbounded) < 0.5);
    assert!(ok(Discipline::Fifo) < 0.5);
    assert!(ok(Discipline::Drr) >= 0.99);
}

// req: FQ-02
#[test]
fn drr_hides_the_noisy_tenant_from_the_polite_and_leaves_no_place_idle() {
    for load in LOADS {
        let figures = simulate(Discipline::Drr, load, LENGTH, SEED);
        assert!(figures.polite_ok >= 0.99, "{load}: {figures:?}");
        assert!(figures.polite_p99_ms <= 30.0, "{load}: {figures:?}");
        let wanted = 0.95 * load.min(1.0) * CAPACITY_PER_S;
        assert!(figures.goodput_per_s >= wanted, "{load}: {figures:?}");
    }
}

#[test]
fn below_capacity_every_queue_serves_everybody() {
    for discipline in Discipline::ALL {
        let figures = simulate(discipline, 0.5, LENGTH, SEED);
        assert!(figures.polite_ok >= 0.999, "{discipline:?}: {figures:?}");
        assert!(figures.jain.is_some_and(|jain| jain > 0.999));
    }
}

#[test]
fn fairness_of_every_queue_at_every_load_is_between_one_nth_and_one() {
    let nth = 1.0 / crowd::TENANTS as f64;
    let within = |index: f64| (nth - 1e-9..=1.0 + 1e-9).contains(&index);
    for curve in &study().curves {
        for figures in curve.points.iter().flatten() {
            let named = (curve.discipline, figures);
            assert!(figures.jain.is_none_or(within), "{named:?}");
        }
    }
}

#[test]
fn a_queue_without_bound_answers_nobody_in_time() {
    let figures = simulate(Discipline::Unbounded, 3.0, LENGTH, SEED);
    assert_eq!(figures.goodput_per_s, 0.0);
    assert_eq!(figures.jain, None);
}

// req: FQ-01
#[test]
fn drr_charges_a_tenant_for_what_its_requests_cost() {
    let taken = |discipline, load| {
        let figures = crowd::simulate(Crowd::Dear, discipline, load, LENGTH, SEED);
        Crowd::Dear.percent(&figures)
    };
    // As many requests as the others send, 32 of 40 parts of the work.
    assert!(taken(Discipline::Fifo, 5.0) > 70.0);
    // Nine tenants that all want more than a ninth.
    let ours = taken(Discipline::Drr, 5.0);
    assert!((8.0..16.0).contains(&ours), "{ours}");
}

// req: FQ-02
#[test]
fn drr_gives_weight_four_four_times_as_much() {
    for load in [2.0, 5.0, 10.0] {
        let of_four = |discipline| {
            let figures = crowd::simulate(Crowd::Weighted, discipline, load, LENGTH, SEED);
            Crowd::Weighted.percent(&figures)
        };
        let (ours, fifo) = (of_four(Discipline::Drr), of_four(Discipline::Fifo));
        assert!((78.0..82.0).contains(&ours), "{load}: {ours}");
        assert!((45.0..55.0).contains(&fifo), "{load}: {fifo}");
    }
}

// req: FQ-05
#[test]
fn drr_begins_nothing_that_its_client_will_not_wait_for() {
    for load in LOADS {
        let run = |discipline| crowd::simulate(Crowd::Hasty, discipline, load, LENGTH, SEED);
        let (ours, fifo) = (run(Discipline::Drr), run(Discipline::Fifo));
        assert_eq!(ours.in_vain, 0.0, "{load}: {ours:?}");
        assert!(load < 1.5 || fifo.in_vain > 0.4, "{load}: {fifo:?}");
        // Those who leave soon get what those get who stay.
        assert!(
            ours.jain.is_some_and(|jain| jain > 0.98),
            "{load}: {ours:?}"
        );
    }
}

// req: GT-12
#[test]
fn policies_move_the_limit_and_answer_no_more_than_is_possible() {
    for course in &study().courses {
        let (ride, named) = (&course.rides[0], (course.trace, course.contender));
        let share = ride.goodput_share;
        assert!(share > 0.0 && share < 1.05, "{named:?}: {share}");
        let still = ride.limits.iter().all(|(_, limit)| *limit == 32.0);
        assert_eq!(still, course.contender == Contender::Fixed, "{named:?}");
        if course.contender == Contender::Fixed {
            assert!(
                share > 0.97,
                "as many as there are places: {named:?}: {share}"
            );
        }
    }
}

// req: GT-12
#[test]
fn the_default_limit_finds_the_origin_on_every_trace_without_being_told() {
    for trace in Trace::ALL {
        let ride = &study().course(trace, Contender::Guarded).rides[0];
        assert!(ride.goodput_share >= 0.95, "{trace:?}: {ride:?}");
        // Where all is as it was at first, and three seconds of it have passed.
        let mut limits: Vec<f64> = ride
            .limits
            .iter()
            .filter(|(at, _)| (5.0..30.0).contains(at) || *at >= 48.0)
            .map(|(_, limit)| *limit)
            .collect();
        let usual = quantile(&mut limits, 0.5);
        assert!((30.0..=42.0).contains(&usual), "{trace:?}: {usual}");
    }
    let few = &study().course(Trace::FewerPlaces, Contender::Guarded).rides[0];
    let changed = few
        .limits
        .iter()
        .filter(|(at, _)| (33.0..45.0).contains(at));
    assert!(
        changed.clone().all(|(_, limit)| *limit <= 11.0),
        "{changed:?}"
    );
}

#[test]
fn what_is_shown_holds_every_queue_and_every_policy() {
    let (text, drawn) = (table::text(study()), picture::svg(study()));
    let names = Discipline::ALL
        .map(Discipline::name)
        .into_iter()
        .chain(Contender::ALL.map(Contender::name));
    for name in names {
        assert!(text.contains(name) && drawn.contains(name), "{name}");
    }
    assert_eq!(drawn.matches("<polyline").count(), 5 + 6 * 5 + 4 + 5 * 4);
}

#[test]
fn the_lines_of_json_compare_ours_with_each_peer_at_each_load() {
    let outcomes = metrics::outcomes(study());
    assert_eq!(
        outcomes.len(),
        7 * LOADS.len() * 4 + Trace::ALL.len() * 2 * 3
    );
    let of = |metric, peer| {
        let mut found = outcomes.iter();
        found.find(|outcome| (outcome.metric, outcome.peer) == (metric, peer))
    };
    let p99 = of("polite_p99_at_10x", "FIFO 512").unwrap();
    assert_eq!((p99.unit, p99.rounds), ("ms", 1));
    assert!(p99.ratio < 0.2, "{p99:?}");
    assert!(outcomes.iter().all(|outcome| outcome.ratio.is_finite()));
}
