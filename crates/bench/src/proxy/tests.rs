use super::*;

fn samples(costs: &[f64]) -> Vec<Sample> {
    let sample = |each: &f64| Sample {
        each: *each,
        per_s: 1e6 / each,
        p50_us: Some(500.0),
        p99_us: None,
        failures: 0,
    };
    costs.iter().map(sample).collect()
}

#[test]
fn ratios_are_those_of_the_rounds() {
    let rows = row::rows(
        &Case::ALL[0],
        vec![
            (Kind::Nginx, samples(&[10.0, 20.0, 30.0])),
            (Kind::Macronode, samples(&[9.0, 18.0, 60.0])),
        ],
    );
    let [nginx, ours] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    assert_eq!((nginx.to_nginx, nginx.to_haproxy), (None, None));
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
        let servers = Kind::ALL.map(|kind| (kind, samples(&[10_000.0])));
        rows.extend(row::rows(case, servers.into()));
    }
    rows[4].failures = 3;
    let (text, page) = (table::text(&rows), table::markdown(&rows));
    assert_eq!(text.matches("macronode").count(), Case::ALL.len());
    assert_eq!(page.lines().count(), rows.len() + 2);
    for shown in [text, page] {
        assert_eq!(shown.matches("INVALID: 3 failures").count(), 1);
    }
}

#[test]
fn a_missing_server_leaves_the_others() {
    let tried = [
        (Kind::Nginx, Err("not installed".to_owned())),
        (Kind::Haproxy, Ok(1)),
    ];
    assert_eq!(told(tried), [(Kind::Haproxy, 1)]);
}

#[test]
fn a_post_carries_its_body() {
    let post = Case::ALL.iter().find(|case| case.body_bytes > 0).unwrap();
    let request = post.request("127.0.0.1:1".parse().unwrap());
    assert!(request.starts_with(b"POST /bytes/1024 HTTP/1.1\r\n"));
    assert!(request.len() > 16 * 1024);
}
