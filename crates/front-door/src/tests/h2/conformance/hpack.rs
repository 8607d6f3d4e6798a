//! Compressed fields: what is kept, and what cannot be read.

use super::reader::squeezed;
use super::*;

#[tokio::test]
async fn what_cannot_be_read_ends_the_connection() {
    let mut cases = Cases::default();
    let with = |extra: &[u8]| whole(1, &[GET, extra].concat());
    let mut wrong = |name: &str, extra: &[u8]| {
        cases.dies(name, COMPRESSION, with(extra));
    };
    wrong("the zeroth field", &[0x80]);
    wrong("a field beyond the table", &[0xc6]);
    wrong("a field far beyond the table", &[0xff, 0xff, 0xff, 0x03]);
    wrong("the first one behind the fixed ones", &[0xbf]);
    wrong("a name beyond the table, kept", &[0x7f, 0x20, 1, b'x']);
    wrong("a name beyond the table", &[0x0f, 0x40, 1, b'x']);
    wrong(
        "a name beyond the table, never kept",
        &[0x1f, 0x40, 1, b'x'],
    );
    wrong(
        "a number without end",
        &[
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
        ],
    );
    wrong("a number that is cut", &[0xff]);
    wrong("a number that is cut later", &[0xff, 0x80]);
    wrong("a name that is cut", &[0x40, 5, b'x']);
    wrong("a value that is cut", &[0x40, 1, b'x', 5, b'y']);
    wrong("a value that is missing", &[0x40, 1, b'x']);
    wrong("everything missing", &[0x40]);
    wrong(
        "a string of very many bytes",
        &[0x40, 1, b'x', 0x7f, 0xff, 0xff, 0xff, 0x7f, b'y'],
    );
    let coded = |code: &[u8]| [&[0x40, 1, b'x', 0x80 | code.len() as u8], code].concat();
    // `a` is 00011.
    wrong("padding of zeros", &coded(&[0b0001_1000]));
    wrong("padding of a zero among ones", &coded(&[0b0001_1101]));
    wrong("padding of eight ones", &coded(&[0b0001_1111, 0xff]));
    wrong("padding of eight ones and nothing else", &coded(&[0xff]));
    wrong("the code of the end", &coded(&[0xff, 0xff, 0xff, 0xff]));
    wrong(
        "the code of the end in the middle",
        &coded(&[0x1f, 0xff, 0xff, 0xff, 0xe1, 0xff]),
    );
    wrong("a table size behind fields", &[0x20]);
    wrong(
        "a table size between fields",
        &[0x20, 0x00, 1, b'x', 1, b'y'],
    );
    let first = |update: &[u8]| whole(1, &[update, GET].concat());
    cases.dies(
        "a table of 4097",
        COMPRESSION,
        first(&integer(5, 0x20, 4097)),
    );
    cases.dies(
        "a table of very much",
        COMPRESSION,
        first(&[0x3f, 0xff, 0xff, 0xff, 0x07]),
    );
    let second = first(&[&[0x20][..], &integer(5, 0x20, 4097)].concat());
    cases.dies("a table of 4097 after one of nothing", COMPRESSION, second);
    // In trailers, and in what comes for a stream that is gone.
    let trailers = [begun(1, &telling(&[])), whole(1, &[0xc6])].concat();
    cases.dies("trailers beyond the table", COMPRESSION, trailers);
    let parts = [
        frame(HEADERS, END_STREAM, 1, GET),
        frame(CONTINUATION, END_HEADERS, 1, &[0xc6]),
    ];
    cases.dies("a part beyond the table", COMPRESSION, parts.concat());
    cases.hold().await;
}

#[tokio::test]
async fn every_way_to_say_a_field_is_read() {
    let mut cases = Cases::default();
    let with = |extra: &[u8]| whole(1, &[&ask("/tell"), extra].concat());
    let name = [
        &[0x40][..],
        &squeezed("custom-key"),
        &squeezed("custom-value"),
    ]
    .concat();
    cases
        .answered("a squeezed name", with(&name))
        .tells(&["field custom-key: custom-value"]);
    let all = "!\"#$%&'()*+,-./0189:;<=>?@AZ[]^_`az{|}~";
    let every = [&[0][..], &text(b"x"), &squeezed(all)].concat();
    cases
        .answered("every squeezed character", with(&every))
        .tells(&[&format!("field x: {all}")]);
    // Codes of 20 bits and more: a backslash has 19, 0x80 has 20.
    let long = [&[0][..], &text(b"x"), &[0x85, 0xff, 0xfe, 0x1f, 0xff, 0xcd]].concat();
    cases
        .answered("long codes", with(&long))
        .tells(&["field x: \\\u{fffd}"]);
    cases
        .answered("an empty squeezed value", with(&[0, 1, b'x', 0x80]))
        .tells(&["field x: "]);
    cases
        .answered("a fixed field", with(&[0x90]))
        .tells(&["field accept-encoding: gzip, deflate"]);
    cases
        .answered("a fixed name", with(&[0x0f, 43, 2, b'm', b'e']))
        .tells(&["field user-agent: me"]);
    let never = [&[0x1f, 8][..], &text(b"secret")].concat();
    cases
        .answered("a fixed name, never kept", with(&never))
        .tells(&["field authorization: secret"]);
    cases.answered(
        "kept and said again",
        with(&[kept("x", "y"), vec![0xbe]].concat()),
    );
    let named = [kept("x", "y"), vec![0x7e], text(b"z"), vec![0xbe, 0xbf]].concat();
    cases
        .answered("a kept name", with(&named))
        .tells(&["field x: y", "field x: z"]);
    let first = |update: &[u8]| whole(1, &[update, &ask("/tell"), &kept("x", "y")].concat());
    cases
        .answered("a table of nothing", first(&[0x20]))
        .tells(&["field x: y"]);
    cases
        .answered("a table of the most", first(&integer(5, 0x20, 4096)))
        .tells(&["field x: y"]);
    let twice = [&[0x20][..], &integer(5, 0x20, 100)].concat();
    cases
        .answered("a smaller table twice", first(&twice))
        .tells(&["field x: y"]);
    let long = field("x", "y".repeat(10_000));
    cases
        .answered("a long value", with(&long))
        .tells(&[&format!("field x: {}", "y".repeat(10_000))]);
    // A number may be said with more bytes than it needs.
    let slack = [&[0, 1, b'x', 0x7f, 0x80, 0x00][..], &[b'y'; 127]].concat();
    cases
        .answered("a number with slack", with(&slack))
        .or(Verdict::Dies(COMPRESSION));
    cases.hold().await;
}

/// Requests one after another on one connection, and what the service has to hear.
async fn hear(name: &str, requests: &[(Vec<u8>, &[&str])]) {
    let ground = Ground::open(lenient()).await;
    let mut peer = Peer::open(&ground, &[]).await;
    peer.case = name.into();
    for (number, (block, lines)) in requests.iter().enumerate() {
        let stream = number as u32 * 2 + 1;
        peer.send(&whole(stream, block)).await;
        let told = peer.answer(stream).await.text();
        for line in *lines {
            assert!(
                told.contains(&format!("{line}\n")),
                "{name}, {number}: no {line} in {told}"
            );
        }
    }
}

#[tokio::test]
async fn the_table_lasts_as_long_as_the_connection() {
    let tell = |extra: &[u8]| [&ask("/tell"), extra].concat();
    // The examples of RFC 7541, C.3 and C.4.
    for coded in [|name: &str| text(name.as_bytes()), squeezed] {
        let example = [
            (
                [vec![0x82, 0x86, 0x84, 0x41], coded("www.example.com")].concat(),
                &[][..],
            ),
            (
                [vec![0x82, 0x86, 0x84, 0xbe, 0x58], coded("no-cache")].concat(),
                &[],
            ),
            (
                [
                    &[0x82, 0x87, 0x85, 0xbf, 0x40][..],
                    &coded("custom-key"),
                    &coded("custom-value"),
                ]
                .concat(),
                &[],
            ),
            (
                [
                    &[0x82, 0x86, 0x04][..],
                    &coded("/tell"),
                    &[0xc0, 0xbf, 0xbe],
                ]
                .concat(),
                &[
                    "authority www.example.com",
                    "field cache-control: no-cache",
                    "field custom-key: custom-value",
                ],
            ),
        ];
        hear("the examples", &example).await;
    }
    // The oldest goes first, and what is larger than the table empties it.
    let half = "y".repeat(2000);
    let table = [
        (tell(&kept("a", "1")), &["field a: 1"][..]),
        (tell(&kept("b", &half)), &[]),
        (tell(&[0xbf]), &["field a: 1"]),
        (tell(&kept("c", &half)), &[]),
        (
            tell(&[0xbf, 0xbe]),
            &[&format!("field b: {half}"), &format!("field c: {half}")],
        ),
        (tell(&kept("d", &"z".repeat(4096))), &[]),
        (tell(&kept("e", "2")), &["field e: 2"]),
        (tell(&[0xbe]), &["field e: 2"]),
    ];
    let table: Vec<_> = table.into_iter().collect();
    hear("the oldest goes first", &table).await;
    let smaller = [
        (tell(&[kept("a", "1"), kept("b", "2")].concat()), &[][..]),
        (
            [&integer(5, 0x20, 40)[..], &tell(&[0xbe])].concat(),
            &["field b: 2"],
        ),
        (
            [&[0x20][..], &integer(5, 0x20, 4096), &tell(&kept("c", "3"))].concat(),
            &[],
        ),
        (tell(&[0xbe]), &["field c: 3"]),
    ];
    hear("a smaller table", &smaller).await;
}

#[tokio::test]
async fn what_left_the_table_is_gone() {
    let mut cases = Cases::default();
    let tell = |extra: &[u8]| [&ask("/tell"), extra].concat();
    let two = |first: Vec<u8>, second: Vec<u8>| [whole(1, &first), whole(3, &second)].concat();
    let large = kept("x", &"y".repeat(4096));
    let emptied = two(tell(&[kept("a", "1"), large].concat()), tell(&[0xbe]));
    cases
        .dies("emptied by what is too large", COMPRESSION, emptied)
        .on(3);
    let half = "y".repeat(2040);
    let evicted = [kept("a", "1"), kept("b", &half), kept("c", &half)].concat();
    cases
        .dies("evicted", COMPRESSION, two(tell(&evicted), tell(&[0xc0])))
        .on(3);
    let sized = two(
        tell(&kept("a", "1")),
        [&[0x20][..], &tell(&[0xbe])].concat(),
    );
    cases.dies("cut to nothing", COMPRESSION, sized).on(3);
    let plain = two(tell(&field("a", "1")), tell(&[0xbe]));
    cases.dies("not kept", COMPRESSION, plain).on(3);
    let never = [vec![0x10], text(b"a"), text(b"1")].concat();
    cases
        .dies("never kept", COMPRESSION, two(tell(&never), tell(&[0xbe])))
        .on(3);
    cases.hold().await;
}

#[tokio::test]
async fn the_fields_of_a_broken_request_are_kept_for_the_next() {
    let ground = Ground::open(lenient()).await;
    let keep = kept("x", "kept");
    let tell = ask("/tell");
    let large: Vec<u8> = std::iter::repeat_n(0xbe, 900).collect();
    let bulky = kept("bulk", &"y".repeat(100));
    for (name, block) in [
        (
            "a field of connections",
            [&tell, &field("connection", "close"), &keep[..]].concat(),
        ),
        (
            "no path",
            [&[0x82, 0x86, 0x41, 1, b'a'][..], &keep].concat(),
        ),
        (
            "a name in upper case",
            [&tell, &field("X", "y"), &keep[..]].concat(),
        ),
        ("a second method", [&tell[..], &[0x82], &keep].concat()),
        (
            "too many fields",
            [&tell, &bulky[..], &large, &keep].concat(),
        ),
    ] {
        let mut peer = Peer::open(&ground, &[]).await;
        peer.case = name.into();
        peer.send(&whole(1, &block)).await;
        peer.until("a word about it", |peer| {
            peer.goodbye.is_some() || peer.seen(1).is_over()
        })
        .await;
        let (status, reset) = (peer.seen(1).status, peer.seen(1).reset);
        if name == "too many fields" {
            assert!(
                peer.goodbye.is_none() && (status == 431 || reset.is_some()),
                "{}",
                peer.summary()
            );
        }
        assert_ne!(status, 200, "{name}");
        if peer.goodbye.is_none() {
            peer.send(&whole(3, &[&tell[..], &[0xbe]].concat())).await;
            let told = peer.answer(3).await.text();
            assert!(told.contains("field x: kept\n"), "{name}: {told}");
        }
    }
}
