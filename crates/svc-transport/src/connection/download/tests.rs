use futures_util::stream;
use futures_util::task::noop_waker;
use oap::limits::WINDOW_BYTES_MIN;
use oap::{Event, Hello, Meta, Opening};

use super::*;

/// Both ends of a connection on which one request is open.
fn pair() -> (Session, Session, u64) {
    let hello = Hello {
        window: WINDOW_BYTES_MIN,
        ..Hello::full("test")
    };
    let (mut client, mut server) = (Session::client(hello.clone()), Session::server(hello));
    let first = client.hello(&Meta::default()).unwrap();
    let Ok(Event::Hello { answer, .. }) = server.receive(first) else {
        panic!("a hello is understood");
    };
    client.receive(answer).unwrap();
    let opening = Opening {
        app_proto: 40,
        opcode: 1,
        ..Opening::default()
    };
    let asked = client.open(&opening, Bytes::new(), true).unwrap();
    let id = asked.header.corr_id;
    server.receive(asked).unwrap();
    (client, server, id)
}

fn step(download: &mut Download, session: &mut Session) -> Step {
    download.step(session, &mut Context::from_waker(&noop_waker()))
}

/// The frames of an answer for whose chunks there is always credit: what they are, and their bytes.
fn sent(reply: Reply) -> Vec<(bool, usize)> {
    let (mut client, mut server, id) = pair();
    let mut download = Download::new(id, reply);
    let mut frames = Vec::new();
    loop {
        let Step::Frame { frame, ends, .. } = step(&mut download, &mut server) else {
            panic!("there is something to send");
        };
        frames.push((ends, frame.payload.len()));
        let bytes = frame.payload.len();
        client.receive(frame).unwrap();
        if ends {
            return frames;
        }
        if let Some(grant) = client.consumed(id, bytes) {
            server.receive(grant).unwrap();
        }
    }
}

fn streamed(head: &'static str, pieces: Vec<Result<Bytes, BrokenOff>>) -> Reply {
    Reply {
        status: 200,
        head: head.into(),
        body: Outflow::Stream(stream::iter(pieces).boxed()),
    }
}

fn bytes(length: usize) -> Bytes {
    Bytes::from(vec![1; length])
}

// req: TR-06
#[test]
fn what_is_there_and_fits_is_one_frame() {
    assert_eq!(sent(Reply::whole(200, bytes(500_000))), [(true, 500_000)]);
    let pieces = vec![Ok(bytes(10)), Ok(bytes(20))];
    assert_eq!(sent(streamed("head", pieces)), [(true, 34)]);
    assert_eq!(sent(streamed("", Vec::new())), [(true, 0)]);
}

// req: TR-06
#[test]
fn what_does_not_fit_is_a_stream_of_chunks() {
    let frames = sent(Reply::whole(200, bytes((1 << 20) + 5)));
    assert_eq!(frames.len(), 17);
    assert!(frames.iter().all(|(_, length)| *length <= CHUNK_BYTES_MAX));
    assert_eq!(
        frames.iter().map(|(_, length)| length).sum::<usize>(),
        (1 << 20) + 5
    );
    let pieces = vec![Ok(bytes(100_000)), Ok(bytes(1))];
    let frames = sent(streamed("head", pieces));
    assert_eq!(frames, [(false, 65_536), (true, 34_469)]);
}

// req: TR-06
#[test]
fn an_answer_without_credit_stands_still_and_knows_since_when() {
    let (mut client, mut server, id) = pair();
    let mut download = Download::new(id, Reply::whole(200, bytes(2 << 20)));
    let Step::Frame { frame, .. } = step(&mut download, &mut server) else {
        panic!("the first chunk never waits");
    };
    client.receive(frame).unwrap();
    assert!(download.stalled.is_none());
    assert!(matches!(step(&mut download, &mut server), Step::Waits));
    let since = download.stalled;
    assert!(since.is_some());
    assert!(matches!(step(&mut download, &mut server), Step::Waits));
    assert_eq!(download.stalled, since);
    let grant = client.consumed(id, 65_536).unwrap();
    server.receive(grant).unwrap();
    assert!(matches!(
        step(&mut download, &mut server),
        Step::Frame { .. }
    ));
    assert!(download.stalled.is_none());
}

#[test]
fn what_came_before_it_broke_off_is_sent_first() {
    let (_, mut server, id) = pair();
    let broken = BrokenOff {
        status: 502,
        reason: "gone",
    };
    let mut download = Download::new(id, streamed("", vec![Ok(bytes(5)), Err(broken)]));
    let first = step(&mut download, &mut server);
    assert!(matches!(first, Step::Frame { ends: false, .. }));
    let then = step(&mut download, &mut server);
    assert!(matches!(
        then,
        Step::Broken {
            status: 502,
            reason: "gone"
        }
    ));
}

#[test]
fn nobody_is_sent_what_was_reset() {
    let (mut client, mut server, id) = pair();
    let mut download = Download::new(id, Reply::whole(200, bytes(5)));
    server.receive(client.cancel(id).unwrap()).unwrap();
    assert!(matches!(step(&mut download, &mut server), Step::Over));
}
