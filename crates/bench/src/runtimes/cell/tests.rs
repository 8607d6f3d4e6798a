use super::*;

/// Every request took so many microseconds, the last of a hundred ten times as many.
fn sample(micros: u64, cost: f64) -> Sample {
    let mut latency = new_histogram();
    latency.record_n(micros, 98).unwrap();
    latency.record_n(micros * 10, 2).unwrap();
    Sample {
        latency,
        cost,
        failures: 0,
        is_valid: true,
    }
}

fn measured(costs: [f64; 2], micros: [u64; 2]) -> Vec<Cell> {
    let samples = [0, 1].map(|who| {
        vec![
            sample(micros[who], costs[who]),
            sample(micros[who], costs[who]),
        ]
    });
    cells(&[Setup::MultiOnTwo, Setup::PerCore], 500, &samples)
}

#[test]
fn ratios_are_those_of_the_rounds_to_the_other_on_as_many_cores() {
    let cells = measured([40.0, 30.0], [1_000, 900]);
    assert_eq!(cells[0].beside, None);
    assert_eq!(cells[1].beside.as_deref(), Some("multi, two cores"));
    assert_eq!(cells[1].cost.ratio, Some(0.75));
    let p50 = cells[1].latency[0];
    assert!(
        (p50.value - 0.9).abs() < 0.002 && p50.ratio == Some(0.9),
        "{p50:?}"
    );
    assert!(cells[1].latency[TAIL].value > 8.9, "the tail is seen");
    assert_eq!(cells[1].requests, 200);
}

#[test]
fn only_what_is_clearly_better_and_in_nothing_worse_wins() {
    let wins = |costs, micros| measured(costs, micros)[1].wins();
    assert_eq!(wins([40.0, 30.0], [1_000, 900]), Some(true));
    assert_eq!(wins([40.0, 39.0], [1_000, 700]), Some(true));
    assert_eq!(wins([40.0, 30.0], [1_000, 1_100]), Some(false));
    assert_eq!(wins([40.0, 36.0], [1_000, 900]), Some(false));
    assert_eq!(measured([1.0, 1.0], [9, 9])[0].wins(), None);
}

#[test]
fn a_histogram_has_every_request_and_no_gap() {
    let bins = bins(&sample(1_000, 1.0).latency);
    let sum: f64 = bins.iter().map(|bin| bin.1).sum();
    assert!((sum - 100.0).abs() < 0.01, "{bins:?}");
    assert_eq!(bins.len(), 13, "a decade, both ends with it");
    assert!((0.9..1.3).contains(&bins[0].0), "{bins:?}");
    assert!(super::bins(&new_histogram()).is_empty());
}

#[test]
fn each_load_has_its_rows_and_its_picture() {
    let mut all = measured([40.0, 30.0], [1_000, 900]);
    all[1].failures = 3;
    let rows = Cell::rows(&all);
    assert_eq!(rows.len(), 10);
    assert_eq!(rows[0].metric, "p50 at 500/s");
    assert_eq!(rows[1].beside[0].peer, "multi, two cores");
    let note = rows[1].note.as_deref();
    assert_eq!(note, Some("INVALID: 3 requests went wrong"));
    let plots = Cell::plots(&all);
    assert_eq!((plots.len(), plots[0].lines.len()), (1, 2));
}
