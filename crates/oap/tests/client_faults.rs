//! The client against servers that break rules, stall, or vanish: it says what was wrong, and is not worn out by it.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test plays the outside world: its servers are tasks of their own, and a surprise ends it"
)]

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use oap::client::{Ask, Client, Failure, Settings, Tcp};
use oap::limits::CHUNK_BYTES_MAX;
use oap::{Control, Decoder, Event, Flags, Frame, GoAway, Header, Hello, Session, Violation};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

const SPACE: u16 = 40;
/// For what happens at once on an idle machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// For what never happens: long enough that a busy machine gets round to what is to be seen meanwhile.
const IN_VAIN: Duration = Duration::from_secs(6);
/// Tries in that time, each later than the one before.
const TRIES_MAX: usize = 12;

/// Does the same to everybody who connects; the count is of those.
async fn server<F: Future<Output = ()> + Send + 'static>(
    deed: fn(TcpStream) -> F,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(deed(stream));
        }
    });
    (address, connections)
}

fn settings() -> Settings {
    Settings {
        timeout: PATIENCE,
        hello_timeout: PATIENCE,
        write_timeout: PATIENCE,
        drain_timeout: Duration::from_millis(50),
        ..Settings::default()
    }
}

fn client(address: SocketAddr) -> Client {
    Client::new(Tcp(address.to_string()), settings())
}

fn ask() -> Ask {
    Ask {
        app_proto: SPACE,
        opcode: 1,
        ..Ask::default()
    }
}

fn in_vain() -> Ask {
    Ask {
        timeout: Some(IN_VAIN),
        ..ask()
    }
}

async fn frame(stream: &mut TcpStream, inbox: &mut BytesMut) -> Frame {
    loop {
        if let Some(frame) = Decoder::default().decode(inbox).unwrap() {
            return frame;
        }
        if stream.read_buf(inbox).await.unwrap() == 0 {
            std::future::pending::<()>().await;
        }
    }
}

async fn say(stream: &mut TcpStream, frame: &Frame) {
    let mut out = BytesMut::new();
    frame.encode(&mut out).unwrap();
    // A client that has noticed is gone.
    let _ = stream.write_all(&out).await;
}

/// Greets as it should; what has come after HELLO is left in the buffer.
async fn greeted(stream: &mut TcpStream) -> BytesMut {
    let mut inbox = BytesMut::new();
    let hello = frame(stream, &mut inbox).await;
    let mut session = Session::server(Hello::full("hostile"));
    let Ok(Event::Hello { answer, .. }) = session.receive(hello) else {
        panic!("a client says hello");
    };
    say(stream, &answer).await;
    inbox
}

/// Greets, and takes one request.
async fn asked(stream: &mut TcpStream) -> Header {
    let mut inbox = greeted(stream).await;
    frame(stream, &mut inbox).await.header
}

fn piece(flags: Flags, code: u16, id: u64, bytes: usize) -> Frame {
    Frame {
        header: Header {
            flags,
            code,
            app_proto: SPACE,
            tenant: 0,
            corr_id: id,
        },
        cap: Bytes::new(),
        payload: Bytes::from(vec![0; bytes]),
    }
}

/// Nobody greets: the call waits for its deadline and is told why, and the server is not besieged meanwhile.
async fn is_unreachable<F: Future<Output = ()> + Send + 'static>(
    deed: fn(TcpStream) -> F,
    why: &str,
) {
    let (address, connections) = server(deed).await;
    let impatient = Settings {
        hello_timeout: Duration::from_millis(300),
        ..settings()
    };
    let client = Client::new(Tcp(address.to_string()), impatient);
    let failure = client.call(&in_vain(), Bytes::new()).await.unwrap_err();
    let Failure::Unreachable(said) = &failure else {
        panic!("{failure:?} is not what was expected: {why}");
    };
    assert!(said.contains(why), "{said}");
    let tries = connections.load(Ordering::SeqCst);
    assert!((1..=TRIES_MAX).contains(&tries), "{tries} tries");
    client.shutdown().await;
}

// req: TR-08
#[tokio::test]
async fn a_server_that_does_not_greet_is_told_of_and_tried_again_at_leisure() {
    let http = is_unreachable(
        |mut stream| async move {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        },
        "a frame longer than agreed",
    );
    let silence = is_unreachable(
        |stream| async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            drop(stream);
        },
        "does not greet",
    );
    let hang_up = is_unreachable(|stream| async move { drop(stream) }, "lost");
    let refusal = is_unreachable(
        |mut stream| async move {
            frame(&mut stream, &mut BytesMut::new()).await;
            say(&mut stream, &Frame::farewell(Violation::HelloVersion)).await;
        },
        "505 hello-version",
    );
    let too_much = is_unreachable(
        |mut stream| async move {
            let hello = frame(&mut stream, &mut BytesMut::new()).await;
            let more = Frame::answer(&hello.header, 200, r#"{"version":2}"#.into());
            say(&mut stream, &more).await;
        },
        "a HELLO that makes no sense",
    );
    tokio::join!(http, silence, hang_up, refusal, too_much);
}

// req: TR-08
#[tokio::test]
async fn where_nobody_listens_a_call_fails_at_its_deadline_and_says_why() {
    // Bound, so that nobody else takes the port, but not listening.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let client = client(address);
    let failure = client.call(&in_vain(), Bytes::new()).await.unwrap_err();
    assert!(matches!(&failure, Failure::Unreachable(why) if why.contains("refused")));
    let listener = socket.listen(16).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let header = asked(&mut stream).await;
        say(&mut stream, &Frame::answer(&header, 204, Bytes::new())).await;
        std::future::pending::<()>().await;
    });
    let answer = client.call(&ask(), Bytes::new()).await.unwrap();
    assert_eq!(
        answer.status(),
        204,
        "as soon as somebody does, it is served"
    );
}

/// The server says this to a request; the client's call and its connection end with that violation.
async fn breaks<F: Future<Output = ()> + Send + 'static>(
    deed: fn(TcpStream) -> F,
    violation: Violation,
) {
    let (address, _) = server(deed).await;
    let client = client(address);
    let failure = match client.call(&ask(), Bytes::new()).await {
        Err(failure) => failure,
        Ok(begun) => begun.collect(usize::MAX).await.unwrap_err(),
    };
    assert_eq!(failure, Failure::Violation(violation));
    client.shutdown().await;
}

// req: TR-03, TR-08
#[tokio::test]
async fn a_server_that_breaks_a_rule_is_hung_up_on() {
    breaks(
        |mut stream| async move {
            let id = asked(&mut stream).await.corr_id;
            say(&mut stream, &piece(Flags::RESP, 200, id + 1, 0)).await;
        },
        Violation::IdUnknown,
    )
    .await;
    breaks(
        |mut stream| async move {
            let id = asked(&mut stream).await.corr_id;
            say(&mut stream, &piece(Flags::REQ, 5, id + 1, 0)).await;
        },
        Violation::Role,
    )
    .await;
    breaks(
        |mut stream| async move {
            let id = asked(&mut stream).await.corr_id;
            say(&mut stream, &piece(Flags::RESP, 0, id, 9)).await;
        },
        Violation::Sequence,
    )
    .await;
    breaks(
        |mut stream| async move {
            asked(&mut stream).await;
            let _ = stream.write_all(&u32::MAX.to_be_bytes()).await;
        },
        Violation::LengthOver,
    )
    .await;
    breaks(
        |mut stream| async move {
            let id = asked(&mut stream).await.corr_id;
            say(&mut stream, &piece(Flags::RESP | Flags::START, 200, id, 0)).await;
            // Its reader has had no chance to grant anything beyond what it has consumed; this is far more.
            for _ in 0..200 {
                say(&mut stream, &piece(Flags::RESP, 0, id, CHUNK_BYTES_MAX)).await;
            }
            std::future::pending::<()>().await;
        },
        Violation::WindowOver,
    )
    .await;
}

#[tokio::test]
async fn an_answer_byte_by_byte_is_an_answer_and_half_of_one_is_none() {
    let (address, _) = server(|mut stream| async move {
        let header = asked(&mut stream).await;
        let mut out = BytesMut::new();
        Frame::answer(&header, 200, "drip".into())
            .encode(&mut out)
            .unwrap();
        for byte in &out {
            stream.write_all(&[*byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        let header = frame(&mut stream, &mut BytesMut::new()).await.header;
        out.clear();
        Frame::answer(&header, 200, "half".into())
            .encode(&mut out)
            .unwrap();
        stream.write_all(&out[..40]).await.unwrap();
    })
    .await;
    let client = client(address);
    let answer = client.call(&ask(), Bytes::new()).await.unwrap();
    assert_eq!(answer.collect(100).await.unwrap(), "drip");
    let half = client.call(&ask(), Bytes::new()).await;
    assert!(matches!(half, Err(Failure::Lost { unseen: false, .. })));
}

// attack: G-13
#[tokio::test]
async fn a_server_that_does_not_read_is_given_up_at_the_write_timeout() {
    let (address, _) = server(|mut stream| async move {
        greeted(&mut stream).await;
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let impatient = Settings {
        write_timeout: Duration::from_millis(300),
        ..settings()
    };
    let client = Client::new(Tcp(address.to_string()), impatient);
    let large = Bytes::from(vec![0; 900_000]);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let (client, large) = (client.clone(), large.clone());
        calls.spawn(async move { client.call(&ask(), large).await });
    }
    // The first that ends was on the connection; those that wait for room would try the next one.
    let first = calls.join_next().await.unwrap().unwrap();
    let why = "the server does not read".to_owned();
    let lost = Failure::Lost { unseen: false, why };
    assert_eq!(first.unwrap_err(), lost);
}

// attack: G-13
#[tokio::test]
async fn a_flood_of_pings_whose_answers_nobody_reads_is_survived() {
    let (address, _) = server(|mut stream| async move {
        let header = asked(&mut stream).await;
        let mut out = BytesMut::new();
        for _ in 0..100 {
            Control::Ping([7; 8]).encode(0).encode(&mut out).unwrap();
        }
        for _ in 0..1_000 {
            stream.write_all(&out).await.unwrap();
        }
        say(&mut stream, &Frame::answer(&header, 200, "calm".into())).await;
        std::future::pending::<()>().await;
    })
    .await;
    let client = client(address);
    let answer = client.call(&ask(), Bytes::new()).await.unwrap();
    assert_eq!(answer.collect(100).await.unwrap(), "calm");
}

#[tokio::test]
async fn a_server_that_always_leaves_is_not_besieged() {
    let (address, connections) = server(|mut stream| async move {
        greeted(&mut stream).await;
        let away = GoAway {
            last_id: 0,
            status: 503,
            reason: "draining".into(),
        };
        say(&mut stream, &Control::GoAway(away).encode(0)).await;
        std::future::pending::<()>().await;
    })
    .await;
    let failure = client(address).call(&in_vain(), Bytes::new()).await;
    assert!(failure.is_err());
    let tries = connections.load(Ordering::SeqCst);
    assert!((1..=TRIES_MAX).contains(&tries), "{tries} tries");
}
