use super::*;

pub(super) fn measured(kind: Kind, costs: &[f64], lines: Option<u64>) -> Measured {
    let sample = |each: &f64| Sample {
        each: *each,
        per_s: 1e6 / each,
        p50_us: Some(500.0),
        p99_us: None,
        answers: 100,
        failures: 0,
    };
    Measured {
        kind,
        samples: costs.iter().map(sample).collect(),
        lines,
    }
}

#[test]
fn ratios_are_those_of_the_rounds() {
    let rows = row::rows(
        &Case::ALL[0],
        &[
            measured(Kind::Nginx, &[10.0, 20.0, 30.0], Some(400)),
            measured(Kind::Macronode, &[9.0, 18.0, 60.0], Some(30)),
        ],
    );
    let [nginx, ours] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    assert_eq!((nginx.to_nginx, nginx.to_haproxy), (None, None));
    assert_eq!(nginx.logged_percent, Some(100.0));
    assert_eq!(ours.logged_percent, Some(10.0));
    assert_eq!(
        (ours.each, ours.to_nginx, ours.to_haproxy),
        (18.0, Some(0.9), None)
    );
    assert_eq!(
        (ours.p50_us, ours.p99_us, ours.rounds),
        (Some(500.0), None, 3)
    );
}

#[test]
fn what_is_shown_holds_every_row_and_marks_an_invalid_one() {
    let mut rows = Vec::new();
    for case in Case::ALL {
        let servers = Kind::ALL.map(|kind| measured(kind, &[10_000.0], Some(50)));
        rows.extend(row::rows(case, &servers));
    }
    rows[4].failures = 3;
    let (text, page) = (table::text(&rows), table::markdown(&rows));
    assert_eq!(text.matches("macronode").count(), Case::ALL.len());
    assert_eq!(page.lines().count(), rows.len() + 2);
    for shown in [text, page] {
        assert_eq!(shown.matches("INVALID: 3 failures").count(), 1);
        assert_eq!(shown.matches("logged 50 %").count(), rows.len() - 1);
    }
}

#[test]
fn a_post_carries_its_body() {
    let post = Case::ALL.iter().find(|case| case.body_bytes > 0).unwrap();
    let request = post.request("127.0.0.1:1".parse().unwrap());
    assert!(request.starts_with(b"POST /bytes/1024 HTTP/1.1\r\n"));
    assert!(request.len() > 16 * 1024);
}
