//! The sizes and the heads of frames.

use super::Verdict::*;
use super::*;

#[tokio::test]
async fn frames_of_a_wrong_size_are_errors() {
    let mut cases = Cases::default();
    let open = begun(1, &asking("POST", "/hang"));
    let behind = |bytes: Vec<u8>| [open.clone(), bytes].concat();
    cases.resets(
        "data too large",
        FRAME_SIZE,
        behind(data(1, &[0; (1 << 14) + 1])),
    );
    let large = [GET.to_vec(), field("x", [b'x'; 1 << 14])].concat();
    cases.dies("a head too large", FRAME_SIZE, whole(1, &large));
    let halves = [
        frame(HEADERS, END_STREAM, 1, GET),
        frame(CONTINUATION, END_HEADERS, 1, &large),
    ];
    cases.dies("a continuation too large", FRAME_SIZE, halves.concat());
    cases.dies(
        "settings too large",
        FRAME_SIZE,
        frame(SETTINGS, 0, 0, &[0; 6 * 2731]),
    );
    cases.dies(
        "a goodbye too large",
        FRAME_SIZE,
        frame(GOAWAY, 0, 0, &[0; (1 << 14) + 1]),
    );
    let unknown = frame(0xfa, 0, 0, &[0; (1 << 14) + 1]);
    cases.dies("an unknown frame too large", FRAME_SIZE, unknown);
    for length in [0, 4, 6] {
        let wrong = frame(PRIORITY, 0, 1, &vec![0; length]);
        cases.resets(
            &format!("a priority of {length} bytes"),
            FRAME_SIZE,
            behind(wrong),
        );
    }
    for length in [0, 3, 5] {
        let wrong = frame(RST_STREAM, 0, 1, &vec![0; length]);
        cases.dies(
            &format!("a reset of {length} bytes"),
            FRAME_SIZE,
            behind(wrong),
        );
    }
    for length in [0, 7, 9] {
        let wrong = frame(PING, 0, 0, &vec![0; length]);
        cases.dies(&format!("a ping of {length} bytes"), FRAME_SIZE, wrong);
        let wrong = frame(PING, ACK, 0, &vec![0; length]);
        cases.dies(
            &format!("a ping's answer of {length} bytes"),
            FRAME_SIZE,
            wrong,
        );
    }
    for length in [0, 4, 7] {
        let wrong = frame(GOAWAY, 0, 0, &vec![0; length]);
        cases.dies(&format!("a goodbye of {length} bytes"), FRAME_SIZE, wrong);
    }
    for length in [0, 3, 5] {
        let wrong = frame(WINDOW_UPDATE, 0, 0, &vec![1; length]);
        cases.dies(&format!("an update of {length} bytes"), FRAME_SIZE, wrong);
        let wrong = frame(WINDOW_UPDATE, 0, 1, &vec![1; length]);
        cases.dies(
            &format!("an update of a stream of {length} bytes"),
            FRAME_SIZE,
            behind(wrong),
        );
    }
    cases.hold().await;
}

#[tokio::test]
async fn padding_is_taken_off_and_never_longer_than_its_frame() {
    let mut cases = Cases::default();
    let tell = telling(&[]);
    let padded = |length: u8, content: &[u8], padding: usize| {
        [&[length][..], content, &vec![0; padding]].concat()
    };
    let body = |payload: &[u8]| {
        [
            begun(1, &tell),
            frame(DATA, PADDED | END_STREAM, 1, payload),
        ]
        .concat()
    };
    let head = |payload: &[u8]| frame(HEADERS, PADDED | END_HEADERS | END_STREAM, 1, payload);
    for (length, padding) in [(0, 0), (1, 1), (7, 7), (255, 255)] {
        let name = format!("{length} bytes of padding");
        let case = cases.answered(&name, body(&padded(length, b"four", padding)));
        case.tells(&["body 4", "text four"]);
        cases
            .answered(&name, head(&padded(length, &tell, padding)))
            .tells(&["body 0"]);
        let nothing = body(&padded(length, b"", padding));
        cases.answered(&name, nothing).tells(&["body 0"]);
    }
    cases.dies("padding as long as data", PROTOCOL, body(&[4, 0, 0, 0]));
    cases.dies("padding longer than data", PROTOCOL, body(&[200, 0, 0, 0]));
    cases.dies("padding with nothing to pad", PROTOCOL, body(&[1]));
    let small = &[Dies(PROTOCOL), Dies(FRAME_SIZE), Resets(FRAME_SIZE)];
    cases.may("padded data of no bytes", small, body(&[]));
    cases.dies(
        "padding as long as a head",
        PROTOCOL,
        head(&padded(30, &[0x82; 29], 0)),
    );
    cases.dies(
        "padding longer than a head",
        PROTOCOL,
        head(&padded(31, &[0x82; 29], 0)),
    );
    cases.may("a padded head of no bytes", small, head(&[]));
    let both = PADDED | WITH_PRIORITY | END_HEADERS | END_STREAM;
    let right = [&[2, 0, 0, 0, 0, 15][..], &tell, &[0, 0]].concat();
    cases
        .answered("padding and a priority", frame(HEADERS, both, 1, &right))
        .tells(&["body 0"]);
    let wrong = frame(HEADERS, both, 1, &[3, 0, 0, 0, 0, 15, 0x82, 0x84]);
    cases.dies("padding that reaches into the priority", PROTOCOL, wrong);
    cases.hold().await;
}

#[tokio::test]
async fn flags_and_bits_that_mean_nothing_are_ignored() {
    let mut cases = Cases::default();
    let high = 1 << 31;
    let tell = telling(&[]);
    cases.ignored("an unknown frame", frame(0x16, 0, 0, &[0; 8]));
    cases.ignored("an empty unknown frame", frame(0xff, 0xff, 0, &[]));
    cases.ignored(
        "an unknown frame of an idle stream",
        frame(0xfa, 0xff, 7, b"abc"),
    );
    cases.ignored(
        "the largest unknown frame",
        frame(0xfa, 0, 0, &[0; 1 << 14]),
    );
    let odd = [
        begun(1, &tell),
        frame(0xfa, END_STREAM, 1, b"not a body"),
        last(1, b"body"),
    ];
    cases
        .answered("an unknown frame within a body", odd.concat())
        .tells(&["text body"]);
    let ended = [whole(1, GET), frame(0xfa, 0, 1, b"abc")].concat();
    cases.answered("an unknown frame behind the end", ended);
    cases.ignored("a ping with unknown flags", frame(PING, 0xfe, 0, &[0; 8]));
    cases.ignored(
        "an answer to a ping of nobody",
        frame(PING, ACK, 0, &[0; 8]),
    );
    cases.ignored(
        "a ping with the reserved bit",
        frame(PING, 0, high, &[0; 8]),
    );
    let reserved = update(0, 1 | high);
    cases.ignored("an update with the reserved bit", reserved);
    cases.answered("a head with the reserved bit", whole(1 | high, GET));
    let odd = [begun(1, &tell), last(1 | high, b"body")].concat();
    cases
        .answered("data with the reserved bit", odd)
        .tells(&["text body"]);
    let flags = 0x40 | 0x80 | 0x10 | 2;
    let odd = frame(HEADERS, flags | END_HEADERS | END_STREAM, 1, GET);
    cases.answered("a head with unknown flags", odd);
    let odd = [begun(1, &tell), frame(DATA, 0xf6 | END_STREAM, 1, b"body")].concat();
    cases
        .answered("data with unknown flags", odd)
        .tells(&["text body"]);
    let odd = [
        begun(1, &asking("POST", "/hang")),
        frame(RST_STREAM, 0xff, 1, &[0, 0, 0, 8]),
    ];
    cases.ignored("a reset with unknown flags", odd.concat());
    cases.ignored(
        "an update with unknown flags",
        frame(WINDOW_UPDATE, 0xff, 0, &[0, 0, 0, 1]),
    );
    let odd = [
        frame(HEADERS, END_STREAM, 1, GET),
        frame(CONTINUATION, 0xfb | END_HEADERS, 1, &[]),
    ];
    cases.answered("a continuation with unknown flags", odd.concat());
    cases.ignored(
        "a priority with unknown flags",
        frame(PRIORITY, 0xff, 1, &[0, 0, 0, 0, 1]),
    );
    cases.hold().await;
}

#[tokio::test]
async fn the_largest_frames_are_taken() {
    let mut cases = Cases::default();
    let tell = telling(&[]);
    let full = [begun(1, &tell), last(1, &[b'x'; 1 << 14])].concat();
    cases
        .answered("data of the most bytes", full)
        .tells(&["body 16384"]);
    let room = (1 << 14) - tell.len() - field("x", [b'x'; 1 << 13]).len();
    let head = [tell.clone(), field("x", vec![b'x'; room + (1 << 13)])].concat();
    assert_eq!(head.len(), 1 << 14);
    cases
        .answered("a head of the most bytes", whole(1, &head))
        .tells(&["body 0"]);
    let parts = [
        frame(HEADERS, END_STREAM, 1, &head),
        frame(CONTINUATION, END_HEADERS, 1, &[]),
    ];
    cases
        .answered("the same, and an empty part", parts.concat())
        .tells(&["body 0"]);
    cases.hold().await;
}
