use super::*;

fn outcome() -> Outcome {
    Outcome {
        metric: "ping",
        ours: 10.123_456,
        peer: "them",
        theirs: 20.0,
        ratio: 0.5,
        unit: "ns/op",
        rounds: 31,
        spread: 0.04,
        met: true,
    }
}

#[test]
fn the_json_line_has_the_agreed_keys_in_the_agreed_order() {
    assert_eq!(
        json("queue", &outcome()),
        concat!(
            r#"{"bench":"queue","metric":"ping","ours":10.123,"peer":"them","theirs":20.0,"#,
            r#""ratio":0.5,"unit":"ns/op","rounds":31,"spread":0.04}"#
        )
    );
}

#[test]
fn a_missed_goal_is_marked_in_the_table() {
    assert!(!row(&outcome()).contains("misses"));
    assert!(
        row(&Outcome {
            ratio: 1.2,
            met: false,
            ..outcome()
        })
        .ends_with("misses its goal")
    );
}

#[test]
fn a_bar_shows_both_costs() {
    assert_eq!(bar(0.5), format!("{}{}│", "█".repeat(10), "·".repeat(10)));
    assert_eq!(bar(1.0), format!("{}│", "█".repeat(20)));
    assert_eq!(bar(1.5), format!("{}│{}", "█".repeat(20), "█".repeat(9)));
    assert_eq!(bar(1e9).chars().count(), 40);
    assert_eq!(bar(f64::NAN).chars().count(), 21);
}

#[test]
fn rows_line_up_with_their_heading() {
    let column = |text: &str, word: &str| text.find(word).map(|at| at + word.len());
    assert_eq!(
        column(&heading(), "theirs"),
        column(&row(&outcome()), "20.0 ns/op")
    );
}

#[test]
fn rows_of_one_metric_stand_below_its_name() {
    let row = |who: &str| Row::new("drain", who, 2.0, "ms");
    let told = rows(&[
        row("nginx"),
        row("macronode")
            .beside("nginx", Some(0.5))
            .over(3, Some(0.1))
            .promised("at most 5 ms", false),
    ]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "drain"));
    assert!(lines[2].ends_with("0.50 × nginx; ± 5 %; at most 5 ms: MISSED"));
}
