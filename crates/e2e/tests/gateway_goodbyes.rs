//! Upstreams that leave, or have no room, before they have looked at what they were asked.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use e2e::gateway::{Gateway, ROOMY, assert_refusal, to};
use testkit::frames::kind::{DATA, GOAWAY, HEADERS, RST_STREAM, WINDOW_UPDATE};
use testkit::frames::{END_HEADERS, END_STREAM, Peer, block, frame};
use testkit::upstream::filler;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Requests under way at once.
const MANY: usize = 24;
/// A window of a megabyte, for each and for all.
const ROOM_OF_A_STREAM: [u8; 6] = [0, 4, 0, 0x10, 0, 0];
const ROOM_OF_ALL: [u8; 4] = [0, 0x10, 0, 0];
const REFUSED: [u8; 4] = 7_u32.to_be_bytes();
const CANCEL: [u8; 4] = 8_u32.to_be_bytes();
const CALM: [u8; 4] = 11_u32.to_be_bytes();
const FINE: [u8; 4] = [0; 4];
/// The last stream of a goodbye: none, the first, any that there may be.
const NONE: [u8; 4] = [0; 4];
const ONE: [u8; 4] = 1_u32.to_be_bytes();
const ANY: [u8; 4] = (u32::MAX >> 1).to_be_bytes();

/// What an origin does with the first it is asked, or with all; with all else it is asked it answers what it was sent.
#[derive(Clone, Copy, Debug)]
enum First {
    /// Once this many requests are there, it says goodbye to all but the first, which it has answered: it has looked at
    /// no other.
    Leaves(usize),
    /// It says goodbye to the first on each connection, for this reason.
    TakesNone([u8; 4]),
    /// It resets one when all of it is there, and says this.
    Resets([u8; 4]),
}

struct Origin {
    first: First,
    /// Requests that were asked, or asked again.
    asked: AtomicUsize,
}

impl First {
    /// What it says when it has been asked so many, if it leaves then.
    fn goodbye(self, asked: usize) -> Option<Vec<u8>> {
        let goodbye = |last: [u8; 4], code: [u8; 4]| frame(GOAWAY, 0, 0, &[last, code].concat());
        match self {
            Self::Leaves(after) => (asked == after).then(|| goodbye(ONE, FINE)),
            // As servers leave that are told to: first whoever may yet come is let in, then nobody was.
            Self::TakesNone(FINE) => Some([goodbye(ANY, FINE), goodbye(NONE, FINE)].concat()),
            Self::TakesNone(code) => Some(goodbye(NONE, code)),
            Self::Resets(_) => None,
        }
    }
}

async fn start(first: First) -> (SocketAddr, Arc<Origin>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = AtomicUsize::new(0);
    let origin = Arc::new(Origin { first, asked });
    let known = origin.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, known.clone()));
        }
    });
    (address, origin)
}

async fn serve(stream: TcpStream, origin: Arc<Origin>) {
    let mut peer = Peer::serve(stream, &ROOM_OF_A_STREAM).await.unwrap();
    peer.send(&frame(WINDOW_UPDATE, 0, 0, &ROOM_OF_ALL)).await;
    let mut bodies = HashMap::<u32, Vec<u8>>::new();
    while let Some(came) = peer.listener.next().await {
        match came.kind {
            HEADERS => {
                let asked = origin.asked.fetch_add(1, Ordering::Relaxed) + 1;
                if let Some(goodbye) = origin.first.goodbye(asked) {
                    peer.send(&goodbye).await;
                    // Closed with something unread, it would be reset, and the goodbye lost.
                    while peer.listener.next().await.is_some() {}
                    return;
                }
            }
            DATA => bodies.entry(came.stream).or_default().extend(&came.payload),
            _ => continue,
        }
        let (whole, asked) = (
            came.flags & END_STREAM != 0,
            origin.asked.load(Ordering::Relaxed),
        );
        match origin.first {
            First::Leaves(after) if (2..after).contains(&asked) => {}
            First::Resets(code) if whole && asked == 1 => {
                peer.send(&frame(RST_STREAM, 0, came.stream, &code)).await;
            }
            _ if whole => {
                let head = block(&[(b":status", b"200")]);
                peer.send(&frame(HEADERS, END_HEADERS, came.stream, &head))
                    .await;
                let body = bodies.remove(&came.stream).unwrap_or_default();
                peer.send(&frame(DATA, END_STREAM, came.stream, &body))
                    .await;
            }
            _ => {}
        }
    }
}

/// Statuses and bodies of this many POSTs of this length at once, with and without a declared length.
async fn posts(gateway: &Gateway, many: usize, length: usize) -> Vec<(u16, bool)> {
    let mut asked = JoinSet::new();
    for number in 0..many {
        let door = gateway.door;
        asked.spawn(async move {
            let body = String::from_utf8(filler(length + number)).unwrap();
            let request = match number % 2 {
                0 => format!("content-length: {}\r\n\r\n{body}", body.len()),
                _ => {
                    let (one, two) = body.split_at(body.len() / 2);
                    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
                    let (one, two) = (chunk(one), chunk(two));
                    format!("transfer-encoding: chunked\r\n\r\n{one}{two}0\r\n\r\n")
                }
            };
            let head = "POST /t HTTP/1.1\r\nhost: gate.test\r\nconnection: close\r\n";
            let request = format!("{head}{request}");
            let asked = testkit::http::exchange(door, request.as_bytes(), e2e::gateway::PATIENCE);
            let answer = asked.await.unwrap();
            (answer.status, answer.body == body.as_bytes())
        });
    }
    asked.join_all().await
}

fn section(origin: SocketAddr) -> String {
    let to = to(
        origin,
        "protocol = \"http2\"\nlimit = 100\nadaptive = false",
    );
    format!("{ROOMY}{to}")
}

/// The same, with one try for each.
fn tried_once(origin: SocketAddr) -> String {
    section(origin).replace("[[gateway.routes]]", "[[gateway.routes]]\nretry.tries = 1")
}

// RFC 9113, 6.8 and 8.7: what is above the last stream of a goodbye was not looked at, and may be asked again.
// req: GW-10, GW-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_left_behind_by_a_goodbye_is_carried_by_another_connection() {
    for length in [1, 3_000] {
        let (address, origin) = start(First::Leaves(1 + MANY)).await;
        // It is not tried twice: nobody has looked at it.
        let gateway = Gateway::start(&tried_once(address)).await;
        assert_eq!(posts(&gateway, 1, length).await, [(200, true)]);
        let answers = posts(&gateway, MANY, length).await;
        assert_eq!(answers, vec![(200, true); MANY], "{length} bytes");
        assert_eq!(origin.asked.load(Ordering::Relaxed), 1 + 2 * MANY);
    }
}

// req: GW-10, GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_takes_nothing_on_any_connection_is_asked_little_more_and_then_left_alone() {
    for code in [FINE, CALM] {
        for (breaker, most) in [("samples = 100000", 40 * 6 / 5 + 5), ("samples = 20", 40)] {
            let (address, origin) = start(First::TakesNone(code)).await;
            let breaker = format!("[gateway.upstreams.main.breaker]\n{breaker}\n");
            let gateway = Gateway::start(&(section(address) + &breaker)).await;
            let mut last = None;
            for _ in 0..40 {
                last = gateway.ask("POST", "/t", &[], b"once").await.ok();
            }
            let asked = origin.asked.load(Ordering::Relaxed);
            assert!(asked <= most, "{asked} for 40, {code:?}, {breaker}");
            let (status, reason) = match most {
                40 => (503, "open-circuit"),
                _ => (502, "upstream-reset"),
            };
            assert_refusal(&last.unwrap(), status, reason);
        }
    }
}

// req: GW-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_refused_unheard_goes_again_and_what_was_given_up_does_not() {
    for (code, answer, asked) in [(REFUSED, (200, true), 2), (CANCEL, (502, false), 1)] {
        let (address, origin) = start(First::Resets(code)).await;
        let gateway = Gateway::start(&section(address)).await;
        assert_eq!(posts(&gateway, 1, 500).await, [answer]);
        assert_eq!(origin.asked.load(Ordering::Relaxed), asked);
    }
}

// What is too large to be kept goes once.
// req: GW-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_body_that_was_refused_is_not_sent_in_part() {
    let (address, origin) = start(First::Resets(REFUSED)).await;
    let gateway = Gateway::start(&section(address)).await;
    assert_eq!(posts(&gateway, 1, 66_000).await, [(502, false)]);
    assert_eq!(origin.asked.load(Ordering::Relaxed), 1);
}
