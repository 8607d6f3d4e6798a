use super::*;
use futures_util::FutureExt;
use http::StatusCode;
use http_body_util::BodyExt;
use http_rules::cache::{Varies, WhyNot};

fn head(length: usize) -> Head {
    let mut headers = HeaderMap::new();
    headers.insert("content-length", length.into());
    Head {
        status: StatusCode::OK,
        varies: Varies::of(&headers),
        variant: Varies::default().select(&HeaderMap::new()),
        headers,
        policy: Err(WhyNot::Useless),
        origin_status: StatusCode::OK,
    }
}

// req: ED-04
#[test]
fn readers_keep_their_own_pace_and_all_read_the_same() {
    let flight = Flight::new(&Arc::new(Room::new(100)));
    let waiting = flight.wait(10).unwrap();
    assert!(waiting.arrival().now_or_never().is_none());
    flight.show(Arc::new(head(6)));
    let Some(Arrival::Coming(_, mut quick)) = waiting.arrival().now_or_never() else {
        panic!("the head is not shown");
    };
    flight.piece(Bytes::from_static(b"abc")).unwrap();
    let first = quick.frame().now_or_never().unwrap().unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), "abc");
    assert!(quick.frame().now_or_never().is_none());
    let Some(Arrival::Coming(_, slow)) = waiting.arrival().now_or_never() else {
        panic!("the head is not shown");
    };
    flight.piece(Bytes::from_static(b"def")).unwrap();
    let body = flight.body();
    assert_eq!(body, "abcdef");
    flight.land(Arc::new(Entry::new(head(6), body, Vec::new())));
    assert_eq!(
        quick.collect().now_or_never().unwrap().unwrap().to_bytes(),
        "def"
    );
    assert_eq!(
        slow.collect().now_or_never().unwrap().unwrap().to_bytes(),
        "abcdef"
    );
    assert!(matches!(
        waiting.arrival().now_or_never(),
        Some(Arrival::Whole(_))
    ));
}

// req: ED-04
#[test]
fn a_flight_that_fails_fails_for_all_and_only_once() {
    let flight = Flight::new(&Arc::new(Room::new(100)));
    let waiting = flight.wait(10).unwrap();
    flight.show(Arc::new(head(6)));
    let Some(Arrival::Coming(_, mut reader)) = waiting.arrival().now_or_never() else {
        panic!("the head is not shown");
    };
    flight.fail(Failure::Broken);
    flight.fail(Failure::Late);
    assert!(reader.frame().now_or_never().unwrap().unwrap().is_err());
    assert_eq!(
        waiting.whole().now_or_never().unwrap().unwrap_err(),
        Failure::Broken
    );
    assert!(flight.has_begun());
}

// req: ED-04
#[test]
fn who_leaves_frees_a_place_and_is_not_woken() {
    let flight = Flight::new(&Arc::new(Room::new(100)));
    let first = flight.wait(1).unwrap();
    assert!(flight.wait(1).is_none());
    assert!(first.arrival().now_or_never().is_none());
    assert!(flight.state.lock().wakers.is_empty());
    drop(first);
    assert!(flight.wait(1).is_some());
}

// req: ED-04
// attack: L-11, L-24
#[test]
fn fetches_hold_no_more_together_than_there_is_room_for() {
    let room = Arc::new(Room::new(10));
    let (one, other) = (Flight::new(&room), Flight::new(&room));
    one.piece(Bytes::from_static(b"sixsix")).unwrap();
    assert_eq!(
        other.piece(Bytes::from_static(b"fives")),
        Err(Failure::Queue)
    );
    other.piece(Bytes::from_static(b"four")).unwrap();
    assert_eq!(room.held(), 10);
    one.clear();
    assert_eq!(room.held(), 4);
    one.piece(Bytes::from_static(b"sixsix")).unwrap();
    let waiting = one.wait(1).unwrap();
    drop((one, other));
    assert_eq!(room.held(), 6, "who still waits may still read");
    drop(waiting);
    assert_eq!(room.held(), 0);
}
