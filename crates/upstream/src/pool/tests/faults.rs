//! Every fault of an origin has its stated error and verdict.

use super::*;

/// What a client with little time sees of a faulty origin.
async fn meet(answer: impl Into<Answer>) -> (Option<SendError>, crate::EndpointView) {
    let origin = Upstream::start().await.unwrap();
    origin.set_default(answer);
    let pool = pool(spec(&[&origin]));
    let until = clock::now() + Duration::from_millis(150);
    let met = match fetch_until(&pool, "/", until).await {
        Ok(answer) => Some(answer.map(drop).unwrap_err()),
        Err(_too_late) => None,
    };
    (met, only(&pool))
}

async fn fails_with(answer: impl Into<Answer>, stage: Stage, cause: Cause) {
    let (error, view) = meet(answer).await;
    let error = error.expect("an error before the deadline");
    assert_eq!((error.stage(), error.cause()), (stage, cause), "{error}");
    assert!(error.may_have_reached());
    assert_eq!((view.failures, view.in_flight), (1, 0));
    assert_eq!((view.idle, view.busy), (0, 0));
}

async fn is_late(answer: impl Into<Answer>) {
    let (error, view) = meet(answer).await;
    assert!(error.is_none());
    assert_eq!((view.failures, view.in_flight), (1, 0));
    assert_eq!((view.idle, view.busy), (0, 0));
}

fn ten() -> Answer {
    Answer::status(200).body("0123456789")
}

// attack: K-10, K-12
#[tokio::test]
async fn silence_stalling_and_dripping_until_the_deadline_are_failures() {
    is_late(Fault::Silence).await;
    is_late(ten().fault(Fault::StallAt(0))).await;
    is_late(ten().fault(Fault::StallAt(5))).await;
    is_late(ten().fault(Fault::Slow { bytes_per_s: 1 })).await;
    is_late(ten().chunked().fault(Fault::StallAt(5))).await;
}

// attack: K-11
#[tokio::test]
async fn a_reset_is_a_failure_before_the_head_and_within_the_body() {
    fails_with(Fault::Reset, Stage::Head, Cause::Closed).await;
    fails_with(ten().fault(Fault::ResetAt(5)), Stage::Body, Cause::Closed).await;
    let large = Answer::status(200).body(vec![b'x'; 500_000]);
    let cut = large.fault(Fault::ResetAt(250_000));
    fails_with(cut, Stage::Body, Cause::Closed).await;
}

// attack: K-13, K-16
#[tokio::test]
async fn fewer_bytes_than_promised_are_a_failure() {
    let half = Fault::HalfCloseAt(5);
    fails_with(ten().fault(half.clone()), Stage::Body, Cause::Short).await;
    fails_with(ten().fault(Fault::LengthLong(3)), Stage::Body, Cause::Short).await;
    fails_with(ten().chunked().fault(half), Stage::Body, Cause::Short).await;
}

// attack: K-16
#[tokio::test]
async fn more_bytes_than_promised_are_a_failure_and_the_connection_is_not_used_again() {
    let more = ten().fault(Fault::LengthShort(3));
    fails_with(more, Stage::Body, Cause::Garbage).await;
}

// attack: K-14
#[tokio::test]
async fn what_is_not_http_is_a_failure() {
    fails_with(Fault::Garbage, Stage::Head, Cause::Garbage).await;
}

// attack: K-15
#[tokio::test]
async fn heads_without_end_are_a_failure() {
    let endless = [
        Fault::HugeHeaders { bytes: 300_000 },
        Fault::HugeHeaders { bytes: 40_000 },
        Fault::InterimFlood { count: 5000 },
    ];
    for fault in endless {
        fails_with(fault, Stage::Head, Cause::Oversized).await;
    }
}

// attack: K-15
#[tokio::test]
async fn a_few_interim_responses_and_a_large_head_are_fine() {
    let origin = Upstream::start().await.unwrap();
    origin.set("/hints", Fault::InterimFlood { count: 5 });
    origin.set("/large", Fault::HugeHeaders { bytes: 20_000 });
    let pool = pool(spec(&[&origin]));
    for path in ["/hints", "/large", "/hints"] {
        assert_eq!(fetch(&pool, path).await.unwrap().0, 200);
    }
    assert_eq!(origin.connections(), 1);
}

// attack: F-20
#[tokio::test]
async fn an_endless_body_is_read_as_far_as_it_is_wanted() {
    let origin = Upstream::start().await.unwrap();
    origin.set_default(Fault::EndlessBody);
    let pool = pool(spec(&[&origin]));
    let until = clock::now() + PATIENCE;
    let response = pick(&pool).send(get("/"), until).await.unwrap();
    let mut body = response.into_body();
    let mut bytes = 0;
    while bytes < 1 << 20 {
        let frame = body.frame().await.unwrap().unwrap();
        bytes += frame.into_data().unwrap().len();
    }
    drop(body);
    assert_eq!((only(&pool).busy, only(&pool).failures), (0, 0));
}

#[tokio::test]
async fn nobody_there_is_a_failure_that_reached_nobody() {
    let origin = Upstream::start().await.unwrap();
    let spec = spec(&[&origin]);
    drop(origin);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let pool = pool(spec);
    let error = fetch(&pool, "/").await.unwrap_err();
    let seen = (error.stage(), error.cause());
    assert_eq!(seen, (Stage::Connect, Cause::Unreachable));
    assert!(!error.may_have_reached());
    assert_eq!(only(&pool).failures, 1);
}

#[tokio::test]
async fn failing_statuses_are_those_that_are_configured() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(PoolSpec {
        failure_statuses: vec![503],
        ..spec(&[&origin])
    });
    for (status, failures) in [(200, 0), (404, 0), (500, 0), (502, 0), (503, 1)] {
        let path = format!("/?status={status}");
        assert_eq!(fetch(&pool, &path).await.unwrap().0, status);
        assert_eq!(only(&pool).failures, failures, "after a {status}");
    }
    assert_eq!(only(&pool).idle, 1, "a refusal is a complete response");
}

// req: GW-11
// attack: K-10
#[tokio::test]
async fn a_deadline_that_a_caller_chose_says_nothing_about_the_endpoint() {
    let origin = Upstream::start().await.unwrap();
    origin.set_default(Fault::Silence);
    let mut spec = spec(&[&origin]);
    spec.passive.open_for = Duration::from_millis(50);
    let pool = pool(spec);
    let in_haste = || pool.pick_in_haste(clock::now(), None, &Tried::default());
    let give_up = async |pick: Pick| {
        let until = clock::now() + Duration::from_millis(10);
        let sent = tokio::time::timeout_at(until, pick.send(get("/"), until));
        assert!(sent.await.is_err());
    };
    for _ in 0..10 {
        give_up(in_haste().unwrap()).await;
    }
    let view = only(&pool);
    assert_eq!((view.failures, view.state), (0, crate::State::Up));
    for _ in 0..5 {
        give_up(pick(&pool)).await;
    }
    assert_eq!(only(&pool).state, crate::State::Open, "a black hole is one");
    tokio::time::sleep(Duration::from_millis(60)).await;
    let probe = in_haste().expect("it is time for a probe");
    let patient = try_pick(&pool).expect("who has time goes all the same");
    give_up(probe).await;
    assert_eq!(only(&pool).breaker, "half_open");
    give_up(patient).await;
    assert_eq!(only(&pool).breaker, "open");
}

// req: GW-11
#[tokio::test]
async fn only_the_time_of_a_hasty_caller_is_no_failure() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(spec(&[&origin]));
    let endpoint = pool.fleet().endpoints[0].clone();
    let now = clock::now();
    let failures = |cause: Cause, hasty: bool, until: Instant| {
        let before = only(&pool).failures;
        let mut lease = Lease::new(endpoint.clone(), endpoint.admit(), now, hasty);
        lease.owes(Some(until));
        lease.fail(
            now,
            &SendError::new(Stage::Connect, cause, false, &endpoint),
        );
        only(&pool).failures - before
    };
    let later = now + PATIENCE;
    assert_eq!(failures(Cause::Timeout, true, now), 0);
    assert_eq!(failures(Cause::Timeout, true, later), 1, "the dial's own");
    assert_eq!(failures(Cause::Timeout, false, now), 1);
    assert_eq!(failures(Cause::Closed, true, now), 1);
}

// req: GW-11
#[tokio::test]
async fn leaving_a_body_that_is_read_at_leisure_says_nothing_and_its_silence_does() {
    let origin = Upstream::start().await.unwrap();
    origin.set_default(ten().fault(Fault::StallAt(5)));
    let pool = pool(spec(&[&origin]));
    for (silent, failures) in [(false, 0), (true, 1)] {
        let until = clock::now() + Duration::from_millis(50);
        let response = pick(&pool).send(get("/"), until).await.unwrap();
        let mut body = response.into_body();
        body.at_leisure();
        let all = async { while body.frame().await.is_some_and(|frame| frame.is_ok()) {} };
        let late = until + Duration::from_millis(20);
        assert!(tokio::time::timeout_at(late, all).await.is_err());
        if silent {
            body.fell_silent();
        }
        drop(body);
        assert_eq!(only(&pool).failures, failures);
    }
}

// attack: K-10
#[tokio::test]
async fn a_blackhole_opens_the_breaker_and_then_fails_fast() {
    let origin = Upstream::start().await.unwrap();
    origin.set_default(Fault::Silence);
    let pool = pool(spec(&[&origin]));
    for _ in 0..5 {
        let until = clock::now() + Duration::from_millis(20);
        assert!(fetch_until(&pool, "/", until).await.is_err());
    }
    let began = clock::now();
    let refused = try_pick(&pool).map(drop).unwrap_err();
    assert!(clock::now() - began < Duration::from_millis(10));
    let NoEndpoint::AllOpen { retry_after } = refused else {
        panic!("{refused} is not an open breaker");
    };
    assert!(retry_after <= Duration::from_secs(2));
    let state = only(&pool).state;
    assert_eq!((origin.received(), state), (5, crate::State::Open));
}
