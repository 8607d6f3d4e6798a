//! What a peer may do over HTTP/2, and what comes of it.

use ::h2::client;

use super::*;
use http2_wire::frame::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, PRIORITY, RST_STREAM,
    SETTINGS,
};

mod conformance;
mod floods;
mod late;
mod raw;
mod untaken;

use raw::*;

async fn client(house: &House) -> client::SendRequest<Bytes> {
    let (requests, connection) = client::handshake(house.connect().await).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test's own task")]
    tokio::spawn(connection);
    requests.ready().await.unwrap()
}

/// All a peer says who would take everything at once.
pub(super) fn asks_for_all_of(path: &str) -> Vec<u8> {
    let most = (u32::MAX >> 1).to_be_bytes();
    let window = [&[0, 4][..], &most].concat();
    let mut block = post(path);
    block[0] = 0x82; // `:method GET`
    [
        PREFACE,
        &frame(SETTINGS, 0, 0, &window),
        &frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0, 0]),
        &frame(HEADERS, END_HEADERS | END_STREAM, 1, &block),
    ]
    .concat()
}

fn ask(method: &str, path: &str) -> Request<()> {
    let uri = format!("http://a{path}");
    Request::builder().method(method).uri(uri).body(()).unwrap()
}

async fn get(requests: &mut client::SendRequest<Bytes>, path: &str) -> (u16, Vec<u8>) {
    let (answer, _) = requests.send_request(ask("GET", path), true).unwrap();
    let (head, mut body) = answer.await.unwrap().into_parts();
    let mut read = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        read.extend_from_slice(&piece);
    }
    (head.status.as_u16(), read)
}

// req: GW-01
#[tokio::test]
async fn a_plain_door_speaks_both_versions_and_tells_them_apart_by_the_first_bytes() {
    let house = House::open(quick()).await;
    let mut requests = client(&house).await;
    let (status, body) = get(&mut requests, "/who").await;
    assert_eq!(status, 200);
    assert!(String::from_utf8(body).unwrap().contains("protocol: H2"));
    let answer = testkit::http::get(house.address, "/who").await.unwrap();
    assert!(String::from_utf8_lossy(&answer.body).contains("protocol: H1"));
    // One byte at a time it is still HTTP/2, and a method that begins like it is still none.
    let mut stream = house.connect().await;
    for byte in PREFACE {
        stream.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.unwrap();
    let mut first = [0; 9];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(first[3], SETTINGS);
    let answer = house
        .tell(b"PRO / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

// req: GW-01
#[tokio::test]
async fn bodies_and_trailers_go_both_ways() {
    let house = House::open(quick()).await;
    let mut requests = client(&house).await;
    let (answer, mut body) = requests.send_request(ask("POST", "/echo"), false).unwrap();
    body.send_data(Bytes::from_static(b"there and back"), true)
        .unwrap();
    let mut answer = answer.await.unwrap().into_body();
    assert_eq!(
        &answer.data().await.unwrap().unwrap()[..],
        b"there and back"
    );

    let (answer, _) = requests
        .send_request(ask("GET", "/trailers"), true)
        .unwrap();
    let mut answer = answer.await.unwrap().into_body();
    assert_eq!(&answer.data().await.unwrap().unwrap()[..], b"hello");
    assert_eq!(
        answer.trailers().await.unwrap().unwrap()["grpc-status"],
        "0"
    );
}

// A proxy in front sends many clients' requests over one connection: what one of them is not asked for yet is in no
// other's way.
// req: GW-01
#[tokio::test]
async fn uploads_that_nobody_takes_are_in_no_others_way() {
    let large = (12, 1, Bytes::from(vec![b'x'; 200_000]));
    let small = (1, 40_000, Bytes::from_static(b"little"));
    for (uploads, pieces, piece) in [large, small] {
        let house = House::open(patient()).await;
        let mut requests = client(&house).await;
        let mut held = Vec::new();
        for _ in 0..uploads {
            let (answer, mut body) = requests.send_request(ask("POST", "/hang"), false).unwrap();
            for _ in 0..pieces {
                body.send_data(piece.clone(), false).unwrap();
            }
            held.push((answer, body));
        }
        until("they begin", || house.live() == uploads).await;
        for _ in 0..3 {
            get(&mut requests, "/slow").await;
            let (answer, mut body) = requests.send_request(ask("POST", "/echo"), false).unwrap();
            body.send_data(Bytes::from_static(b"there and back"), true)
                .unwrap();
            let answer = tokio::time::timeout(Duration::from_secs(20), answer).await;
            let mut answer = answer.expect("held up").unwrap().into_body();
            assert_eq!(answer.data().await.unwrap().unwrap(), "there and back");
        }
        drop(held);
        until("they end", || house.live() == 0).await;
    }
}

#[tokio::test]
async fn a_panic_costs_one_stream_and_no_other() {
    let house = House::open(quick()).await;
    let mut requests = client(&house).await;
    let mut other = requests.clone();
    let (slow, panicked) = tokio::join!(get(&mut other, "/slow"), get(&mut requests, "/panic"));
    assert_eq!((slow.0, panicked.0), (200, 500));
}

// req: GW-09
#[tokio::test]
async fn a_reset_or_a_client_that_goes_away_ends_the_call() {
    let house = House::open(quick()).await;
    let mut raw = Raw::open(&house, &[]).await;
    let mut hang = post("/hang");
    hang[0] = 0x82;
    for stream in [1, 3] {
        raw.send(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &hang))
            .await;
    }
    until("the calls begin", || house.live() == 2).await;
    raw.send(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])).await;
    until("one call ends", || house.live() == 1).await;
    drop(raw);
    until("the other ends", || house.live() == 0).await;
}

// attack: B-16
#[tokio::test]
async fn streams_over_the_limit_are_refused_and_the_others_go_on() {
    let house = House::open(DoorSettings {
        streams_per_connection: 4,
        ..quick()
    })
    .await;
    let mut raw = Raw::open(&house, &[]).await;
    let mut slow = post("/slow");
    slow[0] = 0x82;
    for number in 0..6 {
        raw.send(&frame(
            HEADERS,
            END_HEADERS | END_STREAM,
            number * 2 + 1,
            &slow,
        ))
        .await;
    }
    let (mut refused, mut answered) = (0, 0);
    while refused + answered < 6 {
        let (kind, flags, ..) = raw.next().await.expect("the connection goes on");
        refused += usize::from(kind == RST_STREAM);
        answered += usize::from(kind == DATA && flags & END_STREAM != 0);
    }
    assert_eq!((refused, answered), (2, 4));
}

// req: GW-03
// attack: B-15
#[tokio::test]
async fn answers_nobody_takes_are_given_up_after_the_write_time() {
    let house = House::open(quick()).await;
    // A window of nothing, and one that lets the first byte of each answer out.
    for (window, streams) in [(0, 100), (1, 100)] {
        let stalled = house.timeouts("write");
        let mut raw = Raw::open(&house, &[0, 4, 0, 0, 0, window]).await;
        for number in 0..streams {
            raw.send(&frame(
                HEADERS,
                END_HEADERS | END_STREAM,
                number * 2 + 1,
                GET,
            ))
            .await;
        }
        let began = kernel::clock::now();
        for _ in 0..streams {
            raw.until(|kind, _, _, _| kind == RST_STREAM).await.unwrap();
        }
        let took = kernel::clock::now() - began;
        assert_took(QUICK.write, took);
        let counted = house.timeouts("write") - stalled;
        assert_eq!(counted, u64::from(streams), "{window}");
    }
}

// req: GW-03
// attack: B-15
#[tokio::test]
async fn a_stream_that_stands_still_does_not_take_the_others_along() {
    let house = House::open(quick()).await;
    let mut requests = client(&house).await;
    let (stalled, _) = requests.send_request(ask("GET", "/big"), true).unwrap();
    // Its answer is begun and never read on.
    let stalled = stalled.await.unwrap().into_body();
    until("it is given up", || house.timeouts("write") == 1).await;
    drop(stalled);
    assert_eq!(get(&mut requests, "/").await.0, 200);
}

// req: GW-03
// attack: B-22
#[tokio::test]
async fn a_body_that_drips_is_408_by_its_rate() {
    let house = House::open(quick()).await;
    let mut requests = client(&house).await;
    let (answer, mut body) = requests.send_request(ask("POST", "/echo"), false).unwrap();
    let began = kernel::clock::now();
    let drip = async {
        while body.send_data(Bytes::from_static(b"x"), false).is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        std::future::pending::<()>().await;
    };
    let answer = tokio::select! {
        () = drip => unreachable!(),
        answer = answer => answer.unwrap(),
    };
    let took = kernel::clock::now() - began;
    assert_eq!(answer.status(), 408);
    assert!(took < QUICK.body + LATE, "{took:?}");
}

// req: GW-03
// attack: A-50
#[tokio::test]
async fn a_preface_a_head_or_a_silence_that_takes_too_long_ends_the_connection() {
    let house = House::open(quick()).await;
    for said in [&PREFACE[..10], PREFACE] {
        let mut stream = house.connect().await;
        stream.write_all(said).await.unwrap();
        let (took, _) = until_closed(&mut stream).await;
        assert_took(QUICK.head, took);
    }
    let mut raw = Raw::open(&house, &[]).await;
    raw.send(&frame(HEADERS, 0, 1, GET)).await;
    let (took, _) = raw.ends().await;
    assert_took(QUICK.head, took);
    assert_eq!(house.timeouts("read"), 3);
    // Answers to our pings, and asks for nothing.
    let mut raw = Raw::open(&house, &[]).await;
    let began = kernel::clock::now();
    let mut goodbye = false;
    while let Some((kind, flags, _, payload)) = raw.next().await {
        goodbye |= kind == GOAWAY;
        if kind == PING && flags & ACK == 0 {
            raw.send(&frame(PING, ACK, 0, &payload)).await;
        }
    }
    let took = kernel::clock::now() - began;
    assert!(goodbye);
    assert_took(QUICK.idle, took);
}

// req: GW-03
#[tokio::test]
async fn a_preface_alone_is_no_reason_to_wait_for_long() {
    let house = House::open(DoorSettings {
        timeouts: Timeouts {
            idle: Duration::from_secs(6),
            ..QUICK
        },
        ..quick()
    })
    .await;
    let mut stream = house.connect().await;
    stream.write_all(PREFACE).await.unwrap();
    let (took, _) = until_closed(&mut stream).await;
    assert_took(QUICK.head, took);
}

// req: GW-03
#[tokio::test]
async fn an_upload_is_not_late_while_it_is_the_door_that_does_not_read() {
    let house = House::open(DoorSettings {
        timeouts: Timeouts {
            body: Duration::from_millis(500),
            write: Duration::from_secs(3),
            head: Duration::from_secs(5),
            ..QUICK
        },
        ..quick()
    })
    .await;
    let mut raw = Raw::open(&house, &[0, 4, 0x7f, 0xff, 0, 0]).await;
    let mut big = post("/big");
    big[0] = 0x82;
    let piece = frame(DATA, 0, 1, &[b'x'; 16_000]);
    let said = [
        frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0, 0, 0]),
        frame(HEADERS, END_HEADERS, 1, &post("/hang")),
        frame(HEADERS, END_HEADERS | END_STREAM, 3, &big),
        piece[..100].to_vec(),
    ];
    raw.send(&said.concat()).await;
    // What the peer does not take fills all there is; what it sends then is not read.
    for drip in piece[100..].chunks(50).take(40) {
        tokio::time::sleep(Duration::from_millis(40)).await;
        raw.send(drip).await;
    }
    assert_eq!((house.timeouts("read"), house.live()), (0, 1));
}

// req: GW-16
// attack: B-23
#[tokio::test]
async fn a_drain_says_goodbye_and_finishes_what_was_asked_for() {
    let house = House::open(quick()).await;
    let mut requests = client(&house).await;
    let (slow, _) = requests.send_request(ask("GET", "/slow"), true).unwrap();
    let mut resting = Raw::open(&house, &[]).await;
    until("the call begins", || house.live() == 1).await;
    house.kernel.requests.request();
    let (took, goodbye) = resting.ends().await;
    assert!(goodbye && took < QUICK.write + LATE, "{took:?}");
    let mut body = slow.await.unwrap().into_body();
    assert_eq!(&body.data().await.unwrap().unwrap()[..], b"hello");
    assert_eq!(house.running.await.unwrap(), Outcome::Drained);
}

// attack: B-23
#[tokio::test]
async fn a_stream_without_end_is_cut_off_at_the_deadline_of_the_drain() {
    let house = House::open(quick()).await;
    let mut requests = client(&house).await;
    let (hang, _) = requests.send_request(ask("GET", "/hang"), true).unwrap();
    until("the call begins", || house.live() == 1).await;
    house.kernel.requests.request();
    let began = kernel::clock::now();
    assert_ne!(house.running.await.unwrap(), Outcome::Drained);
    assert!(kernel::clock::now() - began < Duration::from_secs(4));
    assert!(hang.await.is_err());
    assert_eq!(house.host.live.load(Ordering::Relaxed), 0);
}

// req: ED-10
#[tokio::test]
async fn sealed_bytes_are_framed_like_any_others() {
    let house = House::open(patient()).await;
    let (status, body) = get(&mut client(&house).await, "/sealed").await;
    assert_eq!(status, 200);
    let text = host::sealed_text();
    assert!(body == text[3..text.len() - 3]);
}

// req: GW-03
// attack: B-15
#[tokio::test]
async fn who_makes_room_byte_by_byte_is_not_waited_for_any_longer() {
    let house = House::open(quick()).await;
    let mut raw = Raw::open(&house, &[0, 4, 0, 0, 0, 0]).await;
    let mut big = post("/big");
    big[0] = 0x82;
    let began = kernel::clock::now();
    raw.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &big))
        .await;
    while house.timeouts("write") == 0 {
        raw.send(&frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1])).await;
        tokio::time::sleep(QUICK.write / 10).await;
        assert!(kernel::clock::now() - began < Duration::from_secs(5));
    }
    assert_took(QUICK.write, kernel::clock::now() - began);
}
