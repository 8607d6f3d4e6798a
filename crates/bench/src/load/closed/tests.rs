use super::*;
use crate::load::request;
use crate::origin::tests::start;

fn plan(target: SocketAddr, path: &str) -> Plan {
    Plan {
        target,
        connections: 8,
        request: request("GET", target, path, &[], b""),
        warm_up: Duration::from_millis(50),
        until: Until::Elapsed(Duration::from_millis(200)),
    }
}

#[test]
fn each_client_waits_for_its_answer() {
    let target = start(8, 20);
    let outcome = run(&plan(target, "/work"), || Duration::ZERO).unwrap();
    assert!((40..=88).contains(&outcome.answers), "{}", outcome.answers);
    assert_eq!(outcome.failures, 0);
    assert!(outcome.latency.min() >= 19_900);
}

#[test]
fn a_number_of_answers_ends_it_and_the_meter_is_divided_by_them() {
    let target = start(8, 1);
    let mut plan = plan(target, "/bytes/70000");
    plan.until = Until::Answers(100);
    let mut readings = [3, 5].map(Duration::from_millis).into_iter();
    let outcome = run(&plan, || readings.next().unwrap()).unwrap();
    assert!(outcome.answers >= 100 && outcome.failures == 0);
    let each = 2_000.0 / outcome.answers as f64;
    assert!((outcome.micros_each() - each).abs() < 1e-9);
}

#[test]
fn refusals_are_no_answers() {
    let target = start(8, 1);
    let outcome = run(&plan(target, "/nothing"), || Duration::ZERO).unwrap();
    assert!(outcome.answers == 0 && outcome.failures > 0);
}
