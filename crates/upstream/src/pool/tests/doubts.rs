//! What may be somebody else's fault opens a breaker only where it is the endpoint's.

use super::*;
use futures_util::future::join_all;

const SERVICE: Duration = Duration::from_millis(40);

/// An origin of two places that sends everybody else away at once.
async fn narrow() -> Upstream {
    let origin = Upstream::start().await.unwrap();
    origin.set_default(Answer::default().delay(SERVICE));
    origin.set_places(2);
    origin.refuse_beyond_places();
    origin
}

/// So many at once, and what they were answered.
async fn crowd(pool: &Pool, size: usize) -> Vec<u16> {
    let asked = (0..size).map(|_| fetch(pool, "/"));
    let answers = join_all(asked).await.into_iter();
    answers.map(|answer| answer.expect("an answer").0).collect()
}

fn open(pool: &Pool) -> usize {
    let endpoints = pool.view().endpoints.into_iter();
    endpoints
        .filter(|one| one.state == crate::State::Open)
        .count()
}

// req: GW-11
#[tokio::test]
async fn who_is_sent_too_much_and_does_what_it_can_is_not_cut_off() {
    let origin = narrow().await;
    let pool = pool(spec(&[&origin]));
    for _ in 0..5 {
        let answers = crowd(&pool, 20).await;
        assert_eq!(answers.iter().filter(|status| **status == 200).count(), 2);
    }
    assert_eq!((only(&pool).failures, open(&pool)), (0, 0));
}

// req: GW-11
#[tokio::test]
async fn who_sends_everybody_away_is_cut_off() {
    let origin = narrow().await;
    let pool = pool(spec(&[&origin]));
    crowd(&pool, 20).await;
    origin.set_places(0);
    let began = clock::now();
    while open(&pool) == 0 {
        let answers = join_all((0..4).map(|_| try_fetch(&pool))).await;
        assert!(answers.iter().all(|status| *status == 503), "{answers:?}");
        assert!(began.elapsed() < PATIENCE, "it goes on");
    }
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
}

/// 503 by the origin, or since there is nobody to ask.
async fn try_fetch(pool: &Pool) -> u16 {
    match try_pick(pool) {
        Ok(pick) => {
            let until = clock::now() + PATIENCE;
            pick.send(get("/"), until)
                .await
                .expect("an answer")
                .status()
                .as_u16()
        }
        Err(_) => 503,
    }
}

// req: GW-11
#[tokio::test]
async fn where_somebody_else_is_there_who_is_full_is_left_out_as_before() {
    let (narrow, wide) = (narrow().await, Upstream::start().await.unwrap());
    wide.set_default(Answer::default().delay(SERVICE));
    let pool = pool(spec(&[&narrow, &wide]));
    let began = clock::now();
    while open(&pool) == 0 {
        crowd(&pool, 60).await;
        assert!(began.elapsed() < PATIENCE, "both are asked for ever");
    }
    assert_eq!(crowd(&pool, 60).await, [200; 60]);
}

// req: GW-11
// attack: K-10
#[tokio::test]
async fn a_black_hole_is_found_though_every_caller_is_in_haste() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(spec(&[&origin]));
    fetch(&pool, "/").await.expect("it is well at first");
    origin.set_default(Fault::Silence);
    let began = clock::now();
    while open(&pool) == 0 {
        let pick = pool.pick_in_haste(clock::now(), None, &Tried::default());
        let until = clock::now() + Duration::from_millis(100);
        let sent = tokio::time::timeout_at(until, pick.unwrap().send(get("/"), until));
        assert!(sent.await.is_err());
        assert!(began.elapsed() < PATIENCE, "it is asked for ever");
    }
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "a second of doubt"
    );
}
