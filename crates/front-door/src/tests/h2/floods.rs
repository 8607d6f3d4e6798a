//! Peers that say too much, or what nobody may say.

use super::*;

const PROTOCOL_ERROR: u32 = 1;
const FRAME_SIZE_ERROR: u32 = 6;
const COMPRESSION_ERROR: u32 = 9;
const ENHANCE_YOUR_CALM: u32 = 11;

/// Sends a flood until the door has had enough; says how long that took.
async fn flood(house: &House, settings: &[u8], mut next: impl FnMut(u32) -> Vec<u8>) -> Duration {
    let Raw { stream, .. } = Raw::open(house, settings).await;
    let (mut reading, mut writing) = stream.into_split();
    let began = kernel::clock::now();
    let pour = async {
        for number in 0.. {
            if writing.write_all(&next(number)).await.is_err() {
                break;
            }
        }
    };
    let drain = async {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(1..) = reading.read(&mut bytes).await {}
    };
    let both = async { tokio::join!(pour, drain) };
    tokio::time::timeout(Duration::from_secs(5), both)
        .await
        .expect("the flood goes on");
    kernel::clock::now() - began
}

// req: GW-15
// attack: B-01, B-02, B-03, B-04, B-05, B-06, B-09, B-10, B-11, B-12, B-13, B-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_end_their_connection_and_no_other() {
    let house = House::open(DoorSettings {
        timeouts: Timeouts::default(),
        ..quick()
    })
    .await;
    let mut good = client(&house).await;
    let open = END_HEADERS | END_STREAM;
    let request = move |number: u32| frame(HEADERS, open, number * 2 + 1, GET);
    let upload = move |number: u32| frame(HEADERS, END_HEADERS, number * 2 + 1, &post("/hang"));
    type Flood = Box<dyn FnMut(u32) -> Vec<u8>>;
    let floods: Vec<(&str, Flood)> = vec![
        (
            "rapid reset",
            Box::new(move |number| {
                [
                    request(number),
                    frame(RST_STREAM, 0, number * 2 + 1, &[0, 0, 0, 8]),
                ]
                .concat()
            }),
        ),
        (
            "window update of nothing",
            Box::new(move |number| {
                [
                    upload(number),
                    frame(WINDOW_UPDATE, 0, number * 2 + 1, &[0; 4]),
                ]
                .concat()
            }),
        ),
        (
            "window overflow",
            Box::new(move |number| {
                let most = [0x7f, 0xff, 0xff, 0xff];
                [
                    upload(number),
                    frame(WINDOW_UPDATE, 0, number * 2 + 1, &most),
                ]
                .concat()
            }),
        ),
        (
            "data behind the end",
            Box::new(move |number| {
                [request(number), frame(DATA, 0, number * 2 + 1, b"x")].concat()
            }),
        ),
        (
            "priority of a wrong size",
            Box::new(move |number| {
                [upload(number), frame(PRIORITY, 0, number * 2 + 1, &[0; 4])].concat()
            }),
        ),
        (
            "continuation",
            Box::new(move |number| match number {
                0 => frame(HEADERS, END_STREAM, 1, GET),
                _ => frame(CONTINUATION, 0, 1, &[0x40, 1, b'x', 1, b'y']),
            }),
        ),
        (
            "empty continuation",
            Box::new(move |number| match number {
                0 => frame(HEADERS, END_STREAM, 1, GET),
                _ => frame(CONTINUATION, 0, 1, &[]),
            }),
        ),
        ("settings", Box::new(|_| frame(SETTINGS, 0, 0, &[]))),
        ("ping", Box::new(|_| frame(PING, 0, 0, &[0; 8]))),
        (
            "empty data",
            Box::new(move |number| match number {
                0 => upload(0),
                _ => frame(DATA, 0, 1, &[]),
            }),
        ),
        (
            "priority",
            Box::new(|number| frame(PRIORITY, 0, number * 2 + 1, &[0, 0, 0, 0, 1])),
        ),
        (
            "window update",
            Box::new(|_| frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ),
        ("unknown", Box::new(|_| frame(0xfa, 0, 0, &[0; 10]))),
    ];
    for (name, next) in floods {
        let took = flood(&house, &[], next).await;
        assert!(took < Duration::from_millis(100), "{name}: {took:?}");
        assert_eq!(
            get(&mut good, "/").await,
            (200, b"hello".to_vec()),
            "{name}"
        );
        until(name, || house.live() == 0).await;
    }
}

// attack: B-07, B-08, B-17, B-18, B-19, B-20, B-21
#[tokio::test]
async fn what_no_request_may_be_resets_its_stream_or_ends_the_connection() {
    let house = House::open(quick()).await;
    let field = |name: &str, value: &[u8]| {
        let mut block = vec![0x00, name.len() as u8];
        block.extend_from_slice(name.as_bytes());
        block.push(value.len() as u8);
        block.extend_from_slice(value);
        block
    };
    let with = |extra: Vec<u8>| {
        frame(
            HEADERS,
            END_HEADERS | END_STREAM,
            1,
            &[GET, &extra].concat(),
        )
    };
    // A field that is stored once and said again, more often than a list may be long.
    let list = |times: usize| {
        let mut stored = field("cookie", &[b'x'; 100]);
        stored[0] = 0x40;
        let mut block = [GET.to_vec(), stored].concat();
        block.resize(block.len() + times, 0xbe);
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &block)
    };
    let thrash = [&[0x3f, 0xff, 0xff, 0x7f], GET].concat();
    let thrash = frame(HEADERS, END_HEADERS | END_STREAM, 1, &thrash);
    let length = [post("/echo"), field("content-length", b"9")].concat();
    let short = [
        frame(HEADERS, END_HEADERS, 1, &length),
        frame(DATA, END_STREAM, 1, b"four"),
    ];
    let line_end = with(field("x", b"a\r\nb: c"));
    let cases = [
        ("a list too long", list(130), (HEADERS, 431)),
        ("a bomb of fields", list(4000), (GOAWAY, ENHANCE_YOUR_CALM)),
        (
            "a table larger than allowed",
            thrash,
            (GOAWAY, COMPRESSION_ERROR),
        ),
        (
            "two methods",
            with(vec![0x82]),
            (RST_STREAM, PROTOCOL_ERROR),
        ),
        (
            "a connection field",
            with(field("connection", b"close")),
            (RST_STREAM, PROTOCOL_ERROR),
        ),
        (
            "te",
            with(field("te", b"gzip")),
            (RST_STREAM, PROTOCOL_ERROR),
        ),
        (
            "a line end in a value",
            line_end,
            (RST_STREAM, PROTOCOL_ERROR),
        ),
        (
            "a zero in a value",
            with(field("x", b"a\0b")),
            (RST_STREAM, PROTOCOL_ERROR),
        ),
        (
            "a wrong length",
            short.concat(),
            (RST_STREAM, PROTOCOL_ERROR),
        ),
        (
            "a frame too large",
            frame(DATA, 0, 1, &[0; 16_385]),
            (GOAWAY, FRAME_SIZE_ERROR),
        ),
    ];
    for (name, bytes, expected) in cases {
        let calls = house.host.calls.load(Ordering::Relaxed);
        let mut raw = Raw::open(&house, &[]).await;
        raw.send(&bytes).await;
        let wanted = |kind, _, _, _: &[u8]| matches!(kind, HEADERS | RST_STREAM | GOAWAY);
        let (kind, _, _, payload) = raw.until(wanted).await.expect(name);
        let code = |at: usize| u32::from(payload[at + 3]);
        let said = match kind {
            RST_STREAM => code(0),
            GOAWAY => code(4),
            // Behind the word that no table is kept; a status that is in no static table is written out.
            _ if payload.starts_with(b"\x20\x08\x03431") => 431,
            _ => panic!("{name} was answered: {payload:?}"),
        };
        assert_eq!((kind, said), expected, "{name}");
        let called = house.host.calls.load(Ordering::Relaxed) - calls;
        // A body that is not there with its head is asked for before it turns out to be short.
        assert!(called <= usize::from(name == "a wrong length"), "{name}");
    }
}
