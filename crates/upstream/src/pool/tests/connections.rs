//! What becomes of connections.

use super::*;

/// More than are looked at in one go, and than were ever kept.
const CROWD: usize = 300;

// req: GW-01
#[tokio::test]
async fn a_connection_whose_response_was_read_is_used_again() {
    let origin = Upstream::start().await.unwrap();
    origin.set("/chunked", Answer::status(200).body("in chunks").chunked());
    origin.set("/none", Answer::status(204));
    let pool = pool(spec(&[&origin]));
    for _ in 0..3 {
        assert_eq!(fetch(&pool, "/").await.unwrap().0, 200);
        assert_eq!(fetch(&pool, "/chunked").await.unwrap().1, "in chunks");
        assert_eq!(fetch(&pool, "/none").await.unwrap().0, 204);
        let large = fetch(&pool, "/?bytes=300000").await.unwrap();
        assert_eq!(large.1.len(), 300_000);
    }
    assert_eq!((origin.connections(), origin.received()), (1, 12));
    let view = only(&pool);
    assert_eq!((view.idle, view.busy, view.in_flight), (1, 0, 0));
}

/// So many exchanges at once, each on a connection of its own.
async fn crowd(pool: &Pool, people: usize) {
    let until = clock::now() + PATIENCE;
    let mut ready = Vec::new();
    for _ in 0..people {
        ready.push(pick(pool).ready(until).await.unwrap());
    }
    for one in ready {
        let response = one.send(get("/"), until).await.unwrap();
        assert_eq!(response.status(), 200);
        response.into_body().collect().await.unwrap();
    }
}

// req: GW-01
#[tokio::test]
async fn a_crowd_that_comes_again_finds_all_its_connections_and_who_is_alone_takes_the_last() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(spec(&[&origin]));
    crowd(&pool, CROWD).await;
    let view = only(&pool);
    assert_eq!((view.idle, view.busy), (CROWD, 0));
    crowd(&pool, CROWD).await;
    assert_eq!(origin.connections(), CROWD as u64);
    for _ in 0..3 {
        fetch(&pool, "/").await.unwrap();
    }
    let requests = origin.requests();
    let later = &requests[2 * CROWD..];
    assert!(
        later
            .iter()
            .all(|one| one.connection == later[0].connection)
    );
}

// req: GW-01
#[tokio::test]
async fn connections_that_are_needed_no_more_grow_old_and_those_in_use_stay() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(spec(&[&origin]));
    crowd(&pool, CROWD).await;
    let since = clock::now();
    tokio::time::sleep(Duration::from_millis(20)).await;
    crowd(&pool, 3).await;
    let endpoint = pool.fleet().endpoints[0].clone();
    let now = clock::now();
    let idle_time = now - since;
    let (mut at, mut glances) = (Some(0), 0);
    while let Some(from) = at {
        at = endpoint.idle.sweep(from, now, idle_time);
        glances += 1;
    }
    assert_eq!(only(&pool).idle, 3);
    assert!(glances > 2, "{glances} holds of the lock for all of them");
    crowd(&pool, 3).await;
    assert_eq!(origin.connections(), CROWD as u64);
}

// req: GW-09
#[tokio::test]
async fn a_client_that_goes_away_cancels_the_call_and_blames_nobody() {
    let origin = Upstream::start().await.unwrap();
    let stalls = Answer::status(200).body("0123456789");
    origin.set("/silent", Fault::Silence);
    origin.set("/stalls", stalls.fault(Fault::StallAt(5)));
    let pool = pool(spec(&[&origin]));
    for path in ["/silent", "/stalls"] {
        for _ in 0..6 {
            let until = clock::now() + PATIENCE;
            let work = async {
                let response = pick(&pool).send(get(path), until).await.unwrap();
                response.into_body().collect().await.map(drop)
            };
            let gone = tokio::time::timeout(Duration::from_millis(20), work).await;
            assert!(gone.is_err());
        }
    }
    while origin.abandoned() < 12 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let view = only(&pool);
    assert_eq!((view.in_flight, view.idle, view.busy), (0, 0, 0));
    assert_eq!((view.failures, view.breaker), (0, "closed"));
}

#[tokio::test]
async fn a_body_dropped_halfway_closes_its_connection() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(spec(&[&origin]));
    let until = clock::now() + PATIENCE;
    let response = pick(&pool).send(get("/?bytes=9000000"), until).await;
    let mut body = response.unwrap().into_body();
    assert!(body.frame().await.unwrap().is_ok());
    drop(body);
    let view = only(&pool);
    assert_eq!((view.idle, view.busy), (0, 0));
    assert_eq!((view.in_flight, view.failures), (0, 0));
}

#[tokio::test]
async fn connections_are_bounded_and_who_finds_none_is_told_at_once() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(PoolSpec {
        max_connections: 2,
        ..spec(&[&origin])
    });
    let until = clock::now() + PATIENCE;
    let one = pick(&pool).ready(until).await.unwrap();
    let two = pick(&pool).ready(until).await.unwrap();
    assert_eq!(try_pick(&pool).map(drop), Err(NoEndpoint::AllBusy));
    drop((one, two));
    assert_eq!(fetch(&pool, "/").await.unwrap().0, 200);
    assert_eq!(only(&pool).failures, 0);
}

// attack: K-17
#[tokio::test]
async fn a_stale_connection_says_so_and_the_next_try_opens_a_new_one() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(spec(&[&origin]));
    fetch(&pool, "/").await.unwrap();
    let addr = origin.addr();
    let until = clock::now() + PATIENCE;
    // Taken while it was well; then its peer goes.
    let ready = pick(&pool).ready(until).await.unwrap();
    drop(origin);
    let again = bind_again(addr).await;
    let error = ready.send(get("/"), until).await.map(drop).unwrap_err();
    assert!(error.is_stale(), "{error}");
    let mut tried = Tried::default();
    tried.note(&error);
    let retry = pool.pick(clock::now(), None, &tried).unwrap();
    let response = retry.send(get("/"), until).await.unwrap();
    assert!(response.body().timing().connect.is_some());
    assert_eq!((again.received(), only(&pool).failures), (1, 0));
}

// attack: K-17
#[tokio::test]
async fn a_connection_its_peer_closed_while_it_rested_is_not_used() {
    let mut origin = Upstream::start().await.unwrap();
    let pool = pool(spec(&[&origin]));
    for _ in 0..3 {
        assert_eq!(fetch(&pool, "/").await.unwrap().0, 200);
        assert_eq!(only(&pool).idle, 1);
        let addr = origin.addr();
        drop(origin);
        origin = bind_again(addr).await;
        // Time for the close to arrive.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(only(&pool).failures, 0);
}

async fn bind_again(addr: SocketAddr) -> Upstream {
    loop {
        match Upstream::bind(addr).await {
            Ok(origin) => return origin,
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

// req: GW-01
#[tokio::test]
async fn a_request_body_is_streamed_and_its_failure_is_its_clients() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(spec(&[&origin]));
    let until = clock::now() + PATIENCE;
    let body = Full::new(Bytes::from(vec![b'x'; 200_000]));
    let request = Request::post("/").header("host", "h").body(body).unwrap();
    let response = pick(&pool).send(request, until).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(origin.requests()[0].body.len(), 200_000);

    let frames = futures_util::stream::iter([
        Ok(hyper::body::Frame::data(Bytes::from_static(b"begun"))),
        Err(std::io::Error::other("the client has gone")),
    ]);
    let body = http_body_util::StreamBody::new(frames);
    let request = Request::post("/").header("host", "h").body(body).unwrap();
    let error = pick(&pool).send(request, until).await.map(drop);
    let error = error.unwrap_err();
    assert_eq!(error.cause(), Cause::RequestBody, "{error}");
    assert_eq!(only(&pool).failures, 0);
}

// req: GW-16
#[tokio::test]
async fn who_stays_through_an_update_keeps_what_it_has_and_who_goes_ends_in_peace() {
    let stays = Upstream::start().await.unwrap();
    let goes = Upstream::start().await.unwrap();
    let pool = pool(PoolSpec {
        balance: Balance::RoundRobin,
        ..spec(&[&stays, &goes])
    });
    for _ in 0..4 {
        fetch(&pool, "/").await.unwrap();
    }
    for origin in [&stays, &goes] {
        origin.set_default(Answer::status(200).delay(Duration::from_millis(50)));
    }
    let both = async { tokio::join!(fetch(&pool, "/"), fetch(&pool, "/")) };
    let update = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        pool.update(spec(&[&stays]));
    };
    let ((one, two), ()) = tokio::join!(both, update);
    assert_eq!((one.unwrap().0, two.unwrap().0), (200, 200));
    let view = only(&pool);
    assert_eq!((view.idle, stays.connections()), (1, 1));
    assert!(view.ewma_ms > 0.0);
    let before = goes.received();
    for _ in 0..4 {
        fetch(&pool, "/").await.unwrap();
    }
    assert_eq!((goes.received(), stays.connections()), (before, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_may_be_driven_from_any_thread() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(spec(&[&origin]));
    let mut tasks = tokio::task::JoinSet::new();
    for client in 0..32 {
        let pool = pool.clone();
        tasks.spawn(async move {
            for round in 0..50 {
                let bytes = (client * 977 + round * 3331) % 100_000;
                let path = format!("/?bytes={bytes}");
                let (status, body) = fetch(&pool, &path).await.unwrap();
                assert_eq!((status, body.len()), (200, bytes));
                tokio::task::yield_now().await;
            }
        });
    }
    while let Some(joined) = tasks.join_next().await {
        joined.unwrap();
    }
    assert_eq!((origin.received(), only(&pool).in_flight), (1600, 0));
    assert!(origin.connections() <= 32);
}

#[tokio::test]
async fn what_has_rested_too_long_or_was_closed_is_swept() {
    let origin = Upstream::start().await.unwrap();
    origin.set_default(Answer::status(200).delay(Duration::from_millis(20)));
    let pool = pool(spec(&[&origin]));
    let [a, b, c] = [(); 3].map(|()| fetch(&pool, "/"));
    let (a, b, c) = tokio::join!(a, b, c);
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    let sweep = |later: Duration| {
        let now = clock::now() + later;
        pool.fleet().endpoints[0]
            .idle
            .sweep_all(now, Duration::from_secs(9));
        only(&pool).idle
    };
    assert_eq!(sweep(Duration::from_secs(8)), 3);
    assert_eq!(sweep(Duration::from_secs(10)), 0);
    assert_eq!(only(&pool).busy, 0);
    fetch(&pool, "/").await.unwrap();
    drop(origin);
    while sweep(Duration::ZERO) > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(only(&pool).busy, 0);
}

#[tokio::test]
async fn an_answer_before_the_request_has_ended_is_passed_on_and_its_connection_closed() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let pool = pool(PoolSpec::new(
        "test",
        vec![EndpointSpec::parse(&url).unwrap()],
    ));
    let hasty = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
        let answer = b"HTTP/1.1 413 Content Too Large\r\ncontent-length: 3\r\n\r\nno\n";
        stream.write_all(answer).await.unwrap();
        while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
    };
    let endless =
        futures_util::stream::pending::<Result<hyper::body::Frame<Bytes>, std::io::Error>>();
    let body = http_body_util::StreamBody::new(endless);
    let request = Request::post("/").header("host", "h").body(body).unwrap();
    let asked = async {
        let until = clock::now() + PATIENCE;
        let response = pick(&pool).send(request, until).await.unwrap();
        let status = response.status().as_u16();
        (
            status,
            response.into_body().collect().await.unwrap().to_bytes(),
        )
    };
    let ((status, body), ()) = tokio::join!(asked, hasty);
    assert_eq!((status, &*body), (413, &b"no\n"[..]));
    let view = only(&pool);
    assert_eq!((view.idle, view.busy, view.failures), (0, 0, 0));
}

#[tokio::test]
async fn a_client_that_reads_slowly_until_the_deadline_is_not_the_endpoints_fault() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(spec(&[&origin]));
    for frames in [0, 1, 5] {
        let until = clock::now() + Duration::from_millis(200);
        let response = pick(&pool).send(get("/?bytes=9000000"), until).await;
        let mut body = response.unwrap().into_body();
        for _ in 0..frames {
            body.frame().await.unwrap().unwrap();
        }
        tokio::time::sleep_until(until + Duration::from_millis(5)).await;
        drop(body);
        let view = only(&pool);
        assert_eq!((view.failures, view.busy), (0, 0), "after {frames} frames");
    }
}
