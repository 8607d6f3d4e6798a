use std::collections::BTreeSet;

use super::*;

// req: KN-18
#[test]
fn every_reason_is_listed_once_with_an_error_status() {
    let listed = reasons();
    let unique: BTreeSet<_> = listed.iter().map(|reason| reason.reason).collect();
    assert_eq!(unique.len(), listed.len());
    for reason in &listed {
        assert!((400..600).contains(&reason.status), "{reason:?}");
        assert!(!reason.doc.is_empty(), "{reason:?}");
    }
    assert!(unique.contains("length-over") && unique.contains("worker-lost"));
}

// req: TR-05
#[test]
fn want_of_room_says_when_to_come_again_and_nothing_else_is_called_so() {
    let wait = Duration::from_millis(70);
    assert_eq!(Refusal::Gate(wait).retry_after(), Some(wait));
    for busy in [
        Refusal::Gate(wait),
        Refusal::Work,
        oap::Refusal::Busy.into(),
    ] {
        assert!(busy.is_busy() && busy.retry_after().is_some());
        assert_eq!((busy.status(), busy.reason()), (429, "busy"));
    }
    assert!(!Refusal::WorkerLost.is_busy());
}

// req: TR-04
#[test]
fn a_body_that_grows_is_refused_and_one_that_is_broken_ends_its_connection() {
    assert_eq!(Refusal::from(BadBody::Ratio).status(), 413);
    assert_eq!(Refusal::from(BadBody::Cap).status(), 413);
    let broken = Refusal::from(BadBody::Broken);
    assert_eq!(broken, Refusal::Broken(Violation::PayloadBroken));
}
