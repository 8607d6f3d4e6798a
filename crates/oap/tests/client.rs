//! The client against a server that keeps the rules, over real sockets.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test plays the outside world: its servers are tasks of their own, and a surprise ends it"
)]

#[path = "client/server.rs"]
mod server;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use oap::client::{Ask, Client, Failure, Settings, Tcp};
use oap::limits::{CHUNK_BYTES_MAX, WINDOW_BYTES_MIN};
use oap::{BadBody, Hello};
use server::{SPACE, Server};

/// For what happens at once on an idle machine.
const PATIENCE: Duration = Duration::from_secs(30);

fn settings() -> Settings {
    Settings {
        hello: Hello {
            window: WINDOW_BYTES_MIN,
            ..Hello::full("test-client")
        },
        timeout: PATIENCE,
        hello_timeout: PATIENCE,
        write_timeout: PATIENCE,
        drain_timeout: PATIENCE,
        ..Settings::default()
    }
}

async fn pair() -> (Server, Client) {
    let server = Server::start().await;
    let client = Client::new(Tcp(server.address.to_string()), settings());
    (server, client)
}

fn ask(opcode: u16) -> Ask {
    Ask {
        app_proto: SPACE,
        opcode,
        ..Ask::default()
    }
}

fn seen(count: &AtomicUsize) -> usize {
    count.load(Ordering::SeqCst)
}

/// Waits for something that happens soon, for as long as a busy machine may need.
async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("waited in vain for {what}");
}

// req: TR-08
#[tokio::test]
async fn calls_share_a_connection_and_no_more_are_in_flight_than_was_agreed_on() {
    let (server, client) = pair().await;
    assert_eq!(client.ready().await.unwrap().max_inflight, 8);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..300_u32 {
        let client = client.clone();
        calls.spawn(async move {
            let payload = Bytes::from(vec![number as u8; number as usize]);
            let answer = client.call(&ask(server::ECHO), payload.clone()).await;
            let answer = answer.unwrap().collect(1 << 20).await;
            assert_eq!(answer.unwrap(), payload);
        });
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap();
    }
    assert_eq!(seen(&server.seen.connections), 1);
    assert_eq!(seen(&server.seen.requests), 300);
    assert!(seen(&server.seen.in_flight_most) <= 8);
    client.shutdown().await;
}

// req: TR-08
#[tokio::test]
async fn an_answer_goes_to_who_asked_for_it_in_whatever_order_they_come() {
    let (_server, client) = pair().await;
    let swapped = ask(server::SWAPPED);
    let (one, other) = tokio::join!(
        client.call(&swapped, "one".into()),
        client.call(&swapped, "other".into())
    );
    assert_eq!(one.unwrap().collect(100).await.unwrap(), "one");
    assert_eq!(other.unwrap().collect(100).await.unwrap(), "other");
}

// req: TR-06, TR-08
#[tokio::test]
async fn a_stream_goes_both_ways_at_once_and_arrives_whole() {
    let (_server, client) = pair().await;
    let (mut upload, pending) = client.open(&ask(server::ECHO), "\0".into()).await.unwrap();
    let sender = tokio::spawn(async move {
        for number in 1..40_u8 {
            let piece = Bytes::from(vec![number; 30_000]);
            upload.send(piece).await.unwrap();
        }
        upload.end(Bytes::from(vec![40; 3 * CHUNK_BYTES_MAX])).await
    });
    let all = pending
        .answer()
        .await
        .unwrap()
        .collect(1 << 24)
        .await
        .unwrap();
    sender.await.unwrap().unwrap();
    assert_eq!(all.len(), 1 + 39 * 30_000 + 3 * CHUNK_BYTES_MAX);
    assert!(all.is_sorted(), "pieces are in their order");
}

// req: TR-06
#[tokio::test]
async fn a_reader_that_waits_makes_the_server_wait_and_nobody_else() {
    let (server, client) = pair().await;
    let bytes = 5_000_000;
    let many = Bytes::from(bytes.to_string());
    let mut slow = client.call(&ask(server::FLOOD), many).await.unwrap();
    for _ in 0..20 {
        let other = client
            .call(&ask(server::ECHO), "hello".into())
            .await
            .unwrap();
        assert_eq!(other.collect(100).await.unwrap(), "hello");
    }
    let flooded = server.seen.flooded_bytes.load(Ordering::SeqCst);
    assert!(flooded <= u64::from(WINDOW_BYTES_MIN) + 100, "{flooded}");
    let mut received = 0;
    while let Some(piece) = slow.next().await.unwrap() {
        received += piece.len();
    }
    assert_eq!(received, bytes);
}

// req: TR-08
#[tokio::test]
async fn a_call_that_is_dropped_is_canceled_at_the_server() {
    let (server, client) = pair().await;
    for _ in 0..20 {
        let silent = ask(server::SILENCE);
        let call = client.call(&silent, Bytes::new());
        let dropped = tokio::time::timeout(Duration::from_millis(5), call).await;
        assert!(dropped.is_err(), "nobody answers");
    }
    let mut flood = client
        .call(&ask(server::FLOOD), "5000000".into())
        .await
        .unwrap();
    flood.next().await.unwrap();
    drop(flood);
    let (upload, pending) = client.open(&ask(server::ECHO), "a".into()).await.unwrap();
    drop(upload);
    let failure = match pending.answer().await {
        Ok(begun) => begun.collect(100).await.err(),
        Err(failure) => Some(failure),
    };
    assert!(matches!(failure, Some(Failure::Reset { status: 499, .. })));
    until("every one of them", || {
        let (requests, resets) = (seen(&server.seen.requests), seen(&server.seen.resets));
        requests >= 2 && requests == resets
    })
    .await;
    assert_eq!(seen(&server.seen.connections), 1);
}

// req: TR-08
#[tokio::test]
async fn a_call_ends_at_its_deadline_and_the_server_is_told() {
    let (server, client) = pair().await;
    client.ready().await.unwrap();
    let hasty = Ask {
        timeout: Some(Duration::from_millis(200)),
        ..ask(server::SILENCE)
    };
    let late = client.call(&hasty, Bytes::new()).await;
    assert_eq!(late.err(), Some(Failure::Deadline));
    until("the reset", || seen(&server.seen.resets) == 1).await;
    let (mut upload, _pending) = client.open(&hasty, Bytes::new()).await.unwrap();
    // The window is used up, nothing is consumed at a server that stays silent about it.
    let mut sent = Ok(());
    while sent.is_ok() {
        sent = upload.send(Bytes::from(vec![0; CHUNK_BYTES_MAX])).await;
    }
    assert!(matches!(
        sent,
        Err(Failure::Deadline | Failure::Reset { .. })
    ));
}

// req: TR-05, TR-08
#[tokio::test]
async fn a_refusal_is_an_answer_with_its_directive() {
    let (_server, client) = pair().await;
    let refused = client.call(&ask(server::BUSY), Bytes::new()).await.unwrap();
    assert_eq!(refused.status(), 429);
    let directive = refused.problem().unwrap().directive.unwrap();
    assert_eq!(
        (&*directive.control, &*directive.reason),
        ("FAIL", "RATE_LIMITED")
    );
    assert_eq!(
        (directive.opcode, directive.retry_after_ms),
        (server::BUSY, 70)
    );
    let gone = client.call(&ask(server::GIVES_UP), Bytes::new()).await;
    let reason = "upstream".to_owned();
    assert_eq!(
        gone.err(),
        Some(Failure::Reset {
            status: 502,
            reason
        })
    );
}

// req: TR-04, TR-08
// attack: G-14
#[tokio::test]
async fn payloads_are_compressed_both_ways_and_a_bomb_harms_its_own_call_only() {
    let (_server, client) = pair().await;
    let plain = Bytes::from("all work and no play ".repeat(3_000));
    let packed = Ask {
        compress: true,
        ..ask(server::ECHO)
    };
    let echoed = client.call(&packed, plain.clone()).await.unwrap();
    assert_eq!(echoed.collect(1 << 20).await.unwrap(), plain);
    let zeros = Bytes::from(vec![0; 1 << 19]);
    let echoed = client.call(&packed, zeros.clone()).await.unwrap();
    let echoed = echoed.collect(1 << 20).await.unwrap();
    assert!(
        echoed == zeros,
        "what would be taken for a bomb is not compressed"
    );
    let answer = client
        .call(&ask(server::PACKED), plain.clone())
        .await
        .unwrap();
    assert_eq!(answer.collect(1 << 20).await.unwrap(), plain);
    let bomb = client.call(&ask(server::BOMB), Bytes::new()).await;
    assert_eq!(bomb.err(), Some(Failure::Decoded(BadBody::Ratio)));
    let after = client
        .call(&ask(server::ECHO), "still".into())
        .await
        .unwrap();
    assert_eq!(after.collect(100).await.unwrap(), "still");
}

#[tokio::test]
async fn an_answer_that_is_larger_than_wanted_is_given_up() {
    let (server, client) = pair().await;
    let flood = client
        .call(&ask(server::FLOOD), "5000000".into())
        .await
        .unwrap();
    assert_eq!(flood.collect(10_000).await, Err(Failure::Large));
    until("the reset", || seen(&server.seen.resets) == 1).await;
}

// req: TR-08
#[tokio::test]
async fn a_lost_connection_is_made_anew_and_what_was_on_it_is_told() {
    let (server, client) = pair().await;
    client.ready().await.unwrap();
    let (silent, hangs) = (ask(server::SILENCE), ask(server::HANGS_UP));
    let (waiting, hung) = tokio::join!(
        client.call(&silent, Bytes::new()),
        client.call(&hangs, Bytes::new())
    );
    for lost in [waiting, hung] {
        assert!(matches!(lost, Err(Failure::Lost { unseen: false, .. })));
    }
    let answer = client
        .call(&ask(server::ECHO), "again".into())
        .await
        .unwrap();
    assert_eq!(answer.collect(100).await.unwrap(), "again");
    assert_eq!(seen(&server.seen.connections), 2);
}

// req: TR-08
#[tokio::test]
async fn a_server_that_leaves_finishes_old_calls_and_new_ones_go_to_a_new_connection() {
    let (server, client) = pair().await;
    let (mut upload, pending) = client.open(&ask(server::ECHO), "old".into()).await.unwrap();
    upload.send("er".into()).await.unwrap();
    let (last, echo) = (ask(server::LAST), ask(server::ECHO));
    let (last, crossing) = tokio::join!(
        client.call(&last, Bytes::new()),
        client.call(&echo, "crossing".into())
    );
    assert_eq!(last.unwrap().status(), 200);
    let crossing = crossing.unwrap();
    assert_eq!(crossing.collect(100).await.unwrap(), "crossing");
    assert_eq!(seen(&server.seen.connections), 2);
    upload.end("!".into()).await.unwrap();
    let old = pending.answer().await.unwrap().collect(100).await.unwrap();
    assert_eq!(old, "older!");
    until("the old connection to end", || seen(&server.seen.open) == 1).await;
}

// req: TR-07, TR-08
#[tokio::test]
async fn shutdown_lets_running_calls_finish_and_takes_no_new_ones() {
    let (server, client) = pair().await;
    let (upload, pending) = client.open(&ask(server::ECHO), "a".into()).await.unwrap();
    let closing = tokio::spawn({
        let client = client.clone();
        async move { client.shutdown().await }
    });
    until("the door to close", || {
        let echo = ask(server::ECHO);
        let refused = client.call(&echo, Bytes::new());
        let polled = model_kit::hand::poll_once(&mut Box::pin(refused));
        matches!(polled, Some(Err(Failure::Closed)))
    })
    .await;
    upload.end("b".into()).await.unwrap();
    let answer = pending.answer().await.unwrap();
    assert_eq!(answer.collect(100).await.unwrap(), "ab");
    closing.await.unwrap();
    until("the connection to end", || seen(&server.seen.open) == 0).await;
}

// req: TR-07, TR-08
#[tokio::test]
async fn shutdown_does_not_wait_for_ever_and_neither_does_dropping() {
    let server = Server::start().await;
    for drops in [false, true] {
        let impatient = Settings {
            drain_timeout: Duration::from_millis(50),
            ..settings()
        };
        let client = Client::new(Tcp(server.address.to_string()), impatient);
        let (_upload, pending) = client
            .open(&ask(server::SILENCE), Bytes::new())
            .await
            .unwrap();
        match drops {
            true => drop(client),
            false => client.shutdown().await,
        }
        assert!(pending.answer().await.is_err());
        until("the connection to end", || seen(&server.seen.open) == 0).await;
    }
}

// req: TR-04
#[tokio::test]
async fn a_compressed_stream_is_whole_even_if_there_is_nothing_in_it() {
    let (_server, client) = pair().await;
    let packed = Ask {
        compress: true,
        ..ask(server::COUNT)
    };
    for pieces in [0, 3] {
        let (mut upload, pending) = client.open(&packed, Bytes::new()).await.unwrap();
        for _ in 0..pieces {
            let noise = std::iter::repeat_with(|| fastrand::u8(..));
            let noise = Bytes::from_iter(noise.take(100_000));
            upload.send(noise).await.unwrap();
        }
        upload.end(Bytes::new()).await.unwrap();
        let counted = pending.answer().await.unwrap().collect(100).await.unwrap();
        assert_eq!(counted, (pieces * 100_000).to_string());
    }
}

// req: TR-06
#[tokio::test]
async fn a_writer_that_waits_for_credit_hears_of_the_end_of_its_connection() {
    let (_server, client) = pair().await;
    let (mut upload, _pending) = client
        .open(&ask(server::HOARDS), Bytes::new())
        .await
        .unwrap();
    let writing = tokio::spawn(async move {
        loop {
            let sent = upload.send(Bytes::from(vec![0; CHUNK_BYTES_MAX])).await;
            if let Err(failure) = sent {
                return failure;
            }
        }
    });
    // It has more to say than the window holds, so it waits by now or will.
    let hung = client.call(&ask(server::HANGS_UP), Bytes::new()).await;
    assert!(matches!(hung, Err(Failure::Lost { .. })));
    let failure = writing.await.unwrap();
    assert!(matches!(failure, Failure::Lost { .. }), "{failure:?}");
}
