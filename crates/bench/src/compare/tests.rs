use super::*;

fn sheet(machine: &str, value: f64, ratio: Option<f64>, spread: f64) -> Sheet {
    Sheet {
        name: "proxy".to_owned(),
        machine: machine.to_owned(),
        rows: vec![
            Row::new("1 KiB", "macronode", value, "µs")
                .beside("nginx of 9.0 µs", ratio)
                .over(5, Some(spread)),
        ],
        ..Sheet::default()
    }
}

#[test]
fn only_what_moves_by_more_than_the_spread_is_told() {
    let old = [sheet("a", 10.0, None, 0.10)];
    assert!(moved(&old, &[sheet("a", 10.9, None, 0.02)]).is_empty());
    let moves = moved(&old, &[sheet("a", 12.0, None, 0.02)]);
    assert_eq!((moves.len(), moves[0].from, moves[0].to), (1, 10.0, 12.0));
    assert!(told(1, &moves).contains("+20.0 %"));
}

#[test]
fn a_ratio_counts_before_the_number_and_across_machines() {
    let old = [sheet("a", 10.0, Some(1.0), 0.05)];
    let slower = [sheet("b", 20.0, Some(1.0), 0.05)];
    assert!(
        moved(&old, &slower).is_empty(),
        "a slower machine is no change"
    );
    let worse = moved(&old, &[sheet("b", 10.0, Some(1.3), 0.05)]);
    assert_eq!((worse.len(), worse[0].unit.as_str()), (1, "× nginx"));
    let alone = [sheet("b", 99.0, None, 0.05)];
    assert!(moved(&old, &alone).is_empty(), "nothing can be compared");
}

#[test]
fn no_spread_at_all_is_not_believed() {
    let old = [sheet("a", 100.0, None, 0.0)];
    assert!(moved(&old, &[sheet("a", 102.0, None, 0.0)]).is_empty());
    assert_eq!(moved(&old, &[sheet("a", 104.0, None, 0.0)]).len(), 1);
}

#[test]
fn a_baseline_is_one_sheet_or_many() {
    let one = serde_json::to_string(&sheet("a", 1.0, None, 0.0)).unwrap();
    assert_eq!(parse(&one).map(|sheets| sheets.len()), Some(1));
    assert_eq!(parse(&format!("[{one},{one}]")).map(|s| s.len()), Some(2));
    assert_eq!(parse("{\"rows\":[]}"), None);
    assert_eq!(parse("nonsense"), None);
}
