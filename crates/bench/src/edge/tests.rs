use super::*;

fn measured(kind: Kind, costs: &[f64]) -> Measured {
    let sample = |each: f64| Sample {
        each,
        per_s: 1e6 / each,
        p50_us: Some(500.0),
        p99_us: None,
        answers: 100,
        failures: 0,
    };
    let mut all = Measured::once(kind, sample(costs[0]));
    all.samples = costs.iter().map(|each| sample(*each)).collect();
    all
}

#[test]
fn every_server_stands_beside_every_peer() {
    let all = [
        measured(Kind::Nginx, &[10.0, 20.0, 30.0]),
        measured(Kind::Varnish, &[20.0, 40.0, 60.0]),
        measured(Kind::Bare, &[5.0, 10.0, 15.0]),
        measured(Kind::Macronode, &[9.0, 18.0, 60.0]),
    ];
    let rows = row::rows(&Case::ALL[0], &all);
    let ours = rows.last().unwrap();
    assert_eq!(
        (ours.to_nginx, ours.to_varnish, ours.to_bare),
        (Some(0.9), Some(0.45), Some(1.8))
    );
    assert_eq!((rows[0].to_nginx, rows[0].to_bare), (None, Some(2.0)));
}

#[test]
fn what_is_shown_holds_every_row_and_marks_an_invalid_one() {
    let rows = Case::ALL.iter().flat_map(|case| {
        let servers = SERVERS.map(|kind| measured(kind, &[10_000.0]));
        row::rows(case, &servers)
    });
    let mut rows: Vec<Row> = rows.collect();
    rows[4].failures = 3;
    let (text, page) = (row::text(&rows), row::markdown(&rows));
    assert_eq!(text.matches("macronode").count(), Case::ALL.len());
    assert_eq!(page.lines().count(), rows.len() + 2);
    for shown in [text, page] {
        assert_eq!(shown.matches("INVALID: 3 failures").count(), 1);
    }
}

#[test]
fn all_servers_send_as_many_bytes() {
    for case in Case::ALL {
        let content = Content::of(case.bytes).unwrap();
        let file = content
            .files()
            .iter()
            .find(|(name, _)| *name == content::FILE)
            .unwrap()
            .1
            .len();
        assert_eq!(file, case.bytes);
        assert!(content.path(Kind::Bare).ends_with(&case.bytes.to_string()));
    }
}
