use super::scenario::Scenario;
use super::*;
use crate::load::open::Outcome;
use crate::load::tally::{End, Tally, new_histogram};

fn outcome(names: &[&str]) -> Outcome {
    let stream = |name: &&str| {
        let mut tally = Tally::new(name);
        let ms = Duration::from_millis;
        (0..80).for_each(|_| tally.add(End::Answered { status: 200 }, ms(23), ms(22)));
        (0..10).for_each(|_| tally.add(End::Answered { status: 503 }, ms(3), ms(1)));
        (0..10).for_each(|_| tally.add(End::TimedOut, ms(1500), ms(1500)));
        tally
    };
    Outcome {
        streams: names.iter().map(stream).collect(),
        lateness: new_histogram(),
        window: Duration::from_secs(1),
        connections: 0,
        answered: names.len() as u64 * 80,
    }
}

const LENGTH: Length = Length {
    warm_up: Duration::from_secs(3),
    counted: Duration::from_secs(10),
};

#[test]
fn a_row_says_what_became_of_the_polite_and_of_all() {
    let row = Row::new(
        Contender::HaproxyExpert,
        Scenario::of("S1").unwrap(),
        &outcome(&["polite", "noisy-1"]),
        0.0,
    );
    assert_eq!(row.polite_ok_percent, Some(80.0));
    assert!(
        row.polite_p99_ms
            .is_some_and(|p99| (22.9..23.2).contains(&p99))
    );
    assert_eq!(row.goodput_per_s, 160.0);
    assert_eq!(row.capacity_percent, Some(10.0));
    assert_eq!(row.timed_out_percent, 10.0);
    assert!(row.refusal_p99_ms.is_some_and(|p99| p99 < 1.1));
    assert_eq!(row.word_kept_at_once_percent, None);
    assert!(!row.valid, "nothing was sent, so nothing was sent in time");
}

#[test]
fn weights_are_compared_by_what_was_served() {
    let row = Row::new(
        Contender::OursFound,
        Scenario::of("weights").unwrap(),
        &outcome(&["gold", "silver"]),
        0.0,
    );
    assert_eq!(row.weight_ratio, Some(1.0));
    assert_eq!(row.polite_ok_percent, None);
}

#[test]
fn every_scenario_but_the_first_asks_for_more_than_there_is() {
    for scenario in &scenario::ALL {
        let target = "127.0.0.1:1".parse().unwrap();
        let streams = scenario.streams(target, LENGTH);
        let asked: f64 = streams.iter().map(|stream| stream.rate_per_s).sum();
        let capacity = scenario.capacity_per_s();
        assert!(
            capacity.is_none_or(|capacity| asked > capacity * 1.5),
            "{scenario:?}"
        );
        let mut sources: Vec<_> = streams.iter().map(|stream| stream.source).collect();
        sources.dedup();
        assert_eq!(sources.len(), streams.len(), "tenants share no address");
    }
}

#[test]
fn what_is_shown_holds_every_row_and_marks_an_invalid_one() {
    let rows: Vec<Row> = Contender::ALL
        .into_iter()
        .flat_map(|contender| {
            scenario::ALL
                .iter()
                .map(move |scenario| (contender, scenario))
        })
        .filter(|(contender, scenario)| scenario.suits(*contender))
        .map(|(contender, scenario)| {
            Row::new(contender, scenario, &outcome(&["polite", "noisy"]), 0.0)
        })
        .collect();
    let (text, page) = (table::text(&rows), table::markdown(&rows));
    assert_eq!(text.matches("INVALID").count(), rows.len());
    assert_eq!(page.matches("INVALID").count(), rows.len());
    let drawn = picture::svg(&rows);
    assert_eq!(drawn.matches("<polyline").count(), 7 + 3 * 7);
    let kept: Vec<Row> = rows
        .iter()
        .map(|row| serde_json::from_str(&results::line(row)).unwrap())
        .collect();
    assert_eq!(kept, rows);
}
