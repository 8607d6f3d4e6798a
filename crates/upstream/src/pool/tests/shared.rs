//! HTTP/2 connections that many share: what one request leaves behind is in nobody's way.

use std::sync::atomic::AtomicUsize;

use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream};
use http::Response;
use http_body_util::Channel;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::*;
use crate::{Protocol, outgoing::BoxError};

/// A request as the peer has it; dropping either of these would end it.
type Asked = (Request<RecvStream>, SendResponse<Bytes>);

/// The peer of a pool, which answers as the test tells it to.
struct Peer {
    pool: Arc<Pool>,
    connections: Arc<AtomicUsize>,
    asked: tokio::sync::mpsc::Receiver<Asked>,
    _tasks: JoinSet<()>,
}

async fn listener() -> (TcpListener, PoolSpec) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let spec = PoolSpec::new("test", vec![EndpointSpec::parse(&url).unwrap()]);
    let protocol = Protocol::H2;
    (listener, PoolSpec { protocol, ..spec })
}

impl Peer {
    /// One that takes so many streams at once on a connection.
    #[expect(
        clippy::disallowed_methods,
        reason = "hands the test what its peer is asked"
    )]
    async fn start(streams: u32) -> Self {
        let (listener, spec) = listener().await;
        let connections = Arc::<AtomicUsize>::default();
        let (sender, asked) = tokio::sync::mpsc::channel(16);
        let mut tasks = JoinSet::new();
        let count = connections.clone();
        tasks.spawn(async move {
            let mut tasks = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let sender = sender.clone();
                tasks.spawn(async move {
                    let mut builder = server::Builder::new();
                    let builder = builder.max_concurrent_streams(streams);
                    let mut connection = builder.handshake(stream).await.unwrap();
                    while let Some(Ok(asked)) = connection.accept().await {
                        if asked.0.uri().path() == "/last" {
                            connection.graceful_shutdown();
                        }
                        let _ended = sender.send(asked).await;
                    }
                });
            }
        });
        Self {
            pool: pool(spec),
            connections,
            asked,
            _tasks: tasks,
        }
    }

    async fn heard(&mut self) -> Asked {
        let asked = tokio::time::timeout(PATIENCE * 4, self.asked.recv()).await;
        asked.expect("asked in time").expect("the peer lives")
    }
}

/// Waits for the client to give a request up, reading nothing of it, and says how.
async fn given_up(body: &mut RecvStream) -> Option<Reason> {
    let ended = async {
        loop {
            match body.data().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => return error.reason(),
                None => return None,
            }
        }
    };
    let ended = tokio::time::timeout(PATIENCE * 4, ended).await;
    ended.expect("a request that nobody waits for goes on")
}

// req: GW-01, GW-11
#[tokio::test]
async fn an_upload_goes_no_further_once_its_answer_has_ended() {
    let mut peer = Peer::start(100).await;
    let (mut sender, body) = Channel::<Bytes>::new(1);
    let request = Request::post("/").body(body).unwrap();
    let until = clock::now() + PATIENCE;
    let ask = pick(&peer.pool).send(request, until);
    let answer = async {
        // More than the peer lets it send, and it is never let to send more.
        let large = Bytes::from(vec![b'x'; 200_000]);
        sender.send_data(large).await.unwrap();
        let (request, mut respond) = peer.heard().await;
        let refusal = Response::builder().status(413).body(()).unwrap();
        let end = respond.send_response(refusal, true).unwrap();
        (request.into_body(), respond, end)
    };
    let (answered, (mut upload, _respond, _end)) = tokio::join!(ask, answer);
    let answered = answered.unwrap();
    assert_eq!(answered.status(), 413);
    assert!(
        answered
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes()
            .is_empty()
    );
    assert_eq!(given_up(&mut upload).await, Some(Reason::CANCEL));
    let more = async { while sender.send_data(Bytes::from_static(b"x")).await.is_ok() {} };
    let ended = tokio::time::timeout(PATIENCE * 4, more).await;
    ended.expect("who sends it is not told that nobody wants it");
}

// req: GW-08
#[tokio::test]
async fn a_request_body_that_fails_is_its_clients_failure_before_the_answer_and_within_it() {
    let mut peer = Peer::start(100).await;
    for answered in [false, true] {
        let (mut sender, body) = Channel::<Bytes, BoxError>::new(1);
        let request = Request::post("/").body(body).unwrap();
        let until = clock::now() + PATIENCE;
        let ask = async {
            let response = pick(&peer.pool).send(request, until).await?;
            response.into_body().collect().await
        };
        let answer = async {
            sender.send_data(Bytes::from_static(b"x")).await.unwrap();
            let (mut request, mut respond) = peer.asked.recv().await.unwrap();
            request.body_mut().data().await.unwrap().unwrap();
            let begun = answered.then(|| respond.send_response(Response::new(()), false).unwrap());
            // The answer has to be there first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            sender.abort("its client is gone".into());
            (request, respond, begun)
        };
        let (failed, _kept) = tokio::join!(ask, answer);
        let error = failed.unwrap_err();
        assert_eq!(error.cause(), Cause::RequestBody, "{error}");
        let view = only(&peer.pool);
        assert_eq!(
            (view.failures, view.in_flight),
            (0, 0),
            "answered: {answered}"
        );
    }
}

// req: GW-01, GW-11
#[tokio::test]
async fn who_lets_go_of_an_answer_gives_up_what_is_left_of_the_request() {
    let mut peer = Peer::start(100).await;
    let (_sender, body) = Channel::<Bytes>::new(1);
    let request = Request::post("/").body(body).unwrap();
    let until = clock::now() + PATIENCE;
    let ask = pick(&peer.pool).send(request, until);
    let answer = async {
        let (request, mut respond) = peer.heard().await;
        let mut messages = respond.send_response(Response::new(()), false).unwrap();
        messages
            .send_data(Bytes::from_static(b"one"), false)
            .unwrap();
        (request.into_body(), messages)
    };
    let (answered, (mut upload, _messages)) = tokio::join!(ask, answer);
    let mut answered = answered.unwrap().into_body();
    let first = answered.frame().await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), "one");
    drop(answered);
    assert_eq!(given_up(&mut upload).await, Some(Reason::CANCEL));
}

// req: GW-01
#[tokio::test]
async fn a_peer_is_asked_no_more_at_once_on_a_connection_than_it_takes() {
    let mut peer = Peer::start(1).await;
    let until = clock::now() + PATIENCE;
    let ask = pick(&peer.pool).send(get("/first"), until);
    let (first, (_request, mut respond)) = tokio::join!(ask, async {
        let (request, mut respond) = peer.heard().await;
        let held = respond.send_response(Response::new(()), false).unwrap();
        (request, held)
    });
    let first = first.unwrap();
    let full = || !peer.pool.fleet().endpoints[0].streams.has_room();
    let known = async {
        while !full() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let known = tokio::time::timeout(PATIENCE * 4, known).await;
    known.expect("the next would wait behind the first");
    let pool = peer.pool.clone();
    let (second, ()) = tokio::join!(fetch(&pool, "/second"), async {
        let (_request, mut respond) = peer.heard().await;
        respond.send_response(Response::new(()), true).unwrap();
    });
    assert_eq!(second.unwrap().0, 200);
    assert_eq!(peer.connections.load(Ordering::Relaxed), 2);
    respond
        .send_data(Bytes::from_static(b"done"), true)
        .unwrap();
    assert_eq!(
        first.into_body().collect().await.unwrap().to_bytes(),
        "done"
    );
}

// Nothing of it was said: that it may not be said twice is in nobody's way.
// req: GW-01, GW-16
#[tokio::test]
async fn a_request_too_late_for_a_connection_that_ends_goes_over_another() {
    let mut peer = Peer::start(100).await;
    let pool = peer.pool.clone();
    let until = clock::now() + PATIENCE;
    // What is under way on it keeps the connection.
    let mut held = Vec::new();
    for path in ["/first", "/last"] {
        let ask = pick(&pool).send(get(path), until);
        let answer = async {
            let (request, mut respond) = peer.heard().await;
            let end = path == "/last";
            let rest = respond.send_response(Response::new(()), end).unwrap();
            (request, rest)
        };
        let (answered, rest) = tokio::join!(ask, answer);
        held.push((answered.unwrap(), rest));
    }
    let (mut sender, body) = Channel::<Bytes>::new(1);
    let request = Request::post("/").body(body).unwrap();
    let ask = pick(&pool).send(request, clock::now() + PATIENCE);
    let answer = async {
        sender
            .send_data(Bytes::from_static(b"whole"))
            .await
            .unwrap();
        drop(sender);
        let (request, mut respond) = peer.heard().await;
        let mut upload = request.into_body();
        let first = upload.data().await.unwrap().unwrap();
        respond.send_response(Response::new(()), true).unwrap();
        first
    };
    let (answered, heard) = tokio::join!(ask, answer);
    assert_eq!(
        (answered.unwrap().status().as_u16(), &heard[..]),
        (200, &b"whole"[..])
    );
    assert_eq!(peer.connections.load(Ordering::Relaxed), 2);
    assert_eq!(only(&pool).failures, 0);
}

// Servers of gRPC end a connection on which they are asked more often than every five minutes.
// req: GW-01
#[tokio::test]
async fn a_silent_stream_is_left_in_peace_for_five_minutes() {
    const PING: u8 = 6;
    let (listener, spec) = listener().await;
    let pool = pool(spec);
    let ask = pick(&pool).send(get("/"), clock::now() + PATIENCE);
    let (answered, mut stream) = tokio::join!(ask, async {
        let (mut stream, _) = listener.accept().await.unwrap();
        // Nothing to be set, what the other side has set is well, and an answer with status 200 begins.
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0];
        let head = [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88];
        stream.write_all(&settings).await.unwrap();
        let mut heard = Vec::new();
        // The preface, and behind it frames up to the head of the request.
        while !frames(&heard).any(|kind| kind == 1) {
            assert!(stream.read_buf(&mut heard).await.unwrap() > 0);
        }
        stream.write_all(&head).await.unwrap();
        stream
    });
    let answered = answered.unwrap();
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(5 * 60)).await;
    tokio::time::resume();
    let last = [0, 0, 0, 0, 1, 0, 0, 0, 1];
    stream.write_all(&last).await.unwrap();
    let body = answered.into_body().collect().await.unwrap();
    assert!(body.to_bytes().is_empty());
    drop(pool);
    let mut heard = vec![b' '; PREFACE];
    let ended = tokio::time::timeout(PATIENCE * 4, stream.read_to_end(&mut heard)).await;
    ended.expect("the connection ends with its pool").unwrap();
    assert!(!frames(&heard).any(|kind| kind == PING));
}

// Who waits for an event may wait for long, and nobody else would notice.
// req: GW-01, KN-15
#[tokio::test]
async fn the_system_asks_silent_peers_whether_they_are_still_there() {
    for protocol in [Protocol::Http1, Protocol::H2] {
        let (listener, spec) = listener().await;
        let port = listener.local_addr().unwrap().port();
        let pool = pool(PoolSpec { protocol, ..spec });
        let ready = pick(&pool).ready(clock::now() + PATIENCE).await.unwrap();
        let (_peer, client) = listener.accept().await.unwrap();
        let (mine, theirs) = (format!(":{:04X}", client.port()), format!(":{port:04X}"));
        let asks = async {
            loop {
                let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
                let mut lines = sockets.lines().map(|line| line.split_whitespace());
                let timer = lines.find_map(|mut line| {
                    let own = line.nth(1)?.ends_with(&mine) && line.next()?.ends_with(&theirs);
                    own.then(|| line.nth(2)).flatten()
                });
                // What was said last has been taken, and the next thing due is that question.
                if timer.expect("connected").starts_with("02:") {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let asked = tokio::time::timeout(PATIENCE * 4, asks).await;
        asked.unwrap_or_else(|_| panic!("{protocol:?} waits for ever"));
        drop(ready);
    }
}

/// Bytes that come before the first frame.
const PREFACE: usize = 24;

/// The kinds of the frames that are there in full.
fn frames(heard: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = heard.get(PREFACE..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = u32::from_be_bytes([0, *rest.first()?, *rest.get(1)?, *rest.get(2)?]);
        let kind = *rest.get(3)?;
        rest = rest.get(9 + length as usize..)?;
        Some(kind)
    })
}

// attack: K-15
#[tokio::test]
async fn interim_answers_without_end_are_a_failure_and_a_few_are_fine() {
    let mut peer = Peer::start(100).await;
    for (interim, wanted) in [(20, Ok(200)), (10_000, Err(Cause::Oversized))] {
        let pool = peer.pool.clone();
        let flood = async {
            let (_request, mut respond) = peer.heard().await;
            for _ in 0..interim {
                let hints = Response::builder().status(103).body(()).unwrap();
                if respond.send_informational(hints).is_err() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            let last = Response::builder().status(200).body(()).unwrap();
            // Nobody hears it after a flood.
            respond.send_response(last, true).is_ok()
        };
        let (met, _sent) = tokio::join!(fetch(&pool, "/"), flood);
        let met = met.map(|(status, _)| status).map_err(|error| error.cause());
        assert_eq!(met, wanted, "{interim}");
    }
    let view = only(&peer.pool);
    assert_eq!((view.failures, view.in_flight), (1, 0));
}
