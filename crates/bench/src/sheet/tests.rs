use super::*;

fn row(metric: &str, ratio: f64) -> Row {
    Row::new(metric, "ours", 10.0, "µs")
        .beside("nginx", Some(ratio))
        .beside("HAProxy", None)
}

#[test]
fn a_goal_is_judged_by_every_peer_that_was_there() {
    let near = row("a", 0.9).at_most(1.0);
    assert_eq!(
        near.goal,
        Some(Goal {
            words: "at most 1 × nginx".to_owned(),
            met: true
        })
    );
    let far = row("a", 0.9).beside("Varnish", Some(1.1)).at_most(1.0);
    assert!(far.goal.is_some_and(|goal| !goal.met));
    let unjudged = row("a", 9.0).at_most(f64::INFINITY);
    assert!(unjudged.goal.is_none());
    let alone = Row::new("a", "ours", 1.0, "µs").at_most(1.0);
    assert_eq!(alone.goal, None, "nobody was there to be compared with");
}

#[test]
fn what_failed_keeps_no_promise() {
    let failed = row("a", 0.5).at_most(1.0).failed(3);
    assert!(failed.goal.is_some_and(|goal| !goal.met));
    assert_eq!(failed.note.as_deref(), Some("INVALID: 3 failures"));
}

#[test]
fn a_sheet_comes_back_from_its_text_and_takes_new_rows_for_old() {
    let mut sheet = Sheet {
        name: "proxy".to_owned(),
        rows: vec![row("a", 1.0), row("b", 1.0)],
        ..Sheet::default()
    };
    let plot = |title: &str, x: f64| Plot {
        title: title.to_owned(),
        lines: vec![Series {
            name: "ours".to_owned(),
            points: vec![(x, 1.0)],
        }],
        ..Plot::default()
    };
    sheet.take(vec![], vec![plot("p", 1.0)]);
    sheet.take(vec![row("b", 2.0), row("c", 3.0)], vec![plot("p", 2.0)]);
    let ratios: Vec<f64> = sheet.rows.iter().map(|row| row.beside[0].ratio).collect();
    assert_eq!(ratios, [1.0, 2.0, 3.0]);
    assert_eq!(sheet.plots, [plot("p", 2.0)]);
    let text = serde_json::to_string(&sheet).unwrap();
    assert_eq!(serde_json::from_str::<Sheet>(&text).unwrap(), sheet);
}

#[test]
fn no_number_is_written_that_json_has_no_word_for() {
    let odd = Row::new("a", "ours", f64::NAN, "µs")
        .beside("nginx", Some(f64::INFINITY))
        .over(1, Some(f64::NAN));
    assert_eq!((odd.value, odd.beside.len(), odd.spread), (0.0, 0, None));
}

#[test]
fn rows_of_one_metric_stand_together_in_the_order_they_came() {
    let row = |metric: &str, who: &str| Row::new(metric, who, 1.0, "ms");
    let rows = vec![
        row("at 2", "a"),
        row("at 10", "a"),
        row("at 2", "b"),
        row("at 10", "b"),
    ];
    let keys: Vec<String> = by_metric(rows).iter().map(Row::key).collect();
    assert_eq!(keys, ["at 2/a", "at 2/b", "at 10/a", "at 10/b"]);
}

#[test]
fn a_figure_has_as_many_digits_as_can_be_used() {
    let figure = |value: f64| Row::new("m", "ours", value, "ms").figure();
    assert_eq!(figure(0.034), "0.03 ms");
    assert_eq!(figure(123.46), "123.5 ms");
    assert_eq!(figure(1_234.5), "1234 ms");
    assert_eq!(figure(3.0), "3 ms");
}
