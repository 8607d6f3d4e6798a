//! Bodies as long as they say, and the trailers behind them.

use super::*;

fn sized(lengths: &[&str]) -> Vec<u8> {
    let fields: Vec<_> = lengths
        .iter()
        .map(|length| ("content-length", *length))
        .collect();
    telling(&fields)
}

fn upload(lengths: &[&str], frames: &[Vec<u8>]) -> Vec<u8> {
    [begun(1, &sized(lengths)), frames.concat()].concat()
}

#[tokio::test]
async fn a_body_is_as_long_as_it_says() {
    let mut cases = Cases::default();
    let four = || last(1, b"four");
    let case = cases.answered("as long as it says", upload(&["4"], &[four()]));
    case.tells(&["text four", "field content-length: 4"]);
    cases
        .answered("in pieces", upload(&["8"], &[data(1, b"four"), four()]))
        .tells(&["body 8"]);
    let end = upload(&["4"], &[data(1, b"four"), last(1, b"")]);
    cases
        .answered("with an empty end", end)
        .tells(&["text four"]);
    let padded = frame(
        DATA,
        PADDED | END_STREAM,
        1,
        &[&[9][..], b"four", &[0; 9]].concat(),
    );
    cases
        .answered("with padding", upload(&["4"], &[padded]))
        .tells(&["text four"]);
    let trailers = upload(&["4"], &[data(1, b"four"), whole(1, &field("x", "y"))]);
    cases
        .answered("with trailers", trailers)
        .tells(&["text four", "trailer x: y"]);
    cases
        .answered("nothing, as it says", whole(1, &sized(&["0"])))
        .tells(&["body 0"]);
    cases
        .answered("nothing, in a frame", upload(&["0"], &[last(1, b"")]))
        .tells(&["body 0"]);
    cases
        .answered("without a length", upload(&[], &[four()]))
        .tells(&["text four"]);
    cases
        .answered("no body", whole(1, &telling(&[])))
        .tells(&["body 0"]);
    let empty = upload(
        &[],
        &[data(1, b""), data(1, b"fo"), data(1, b""), last(1, b"ur")],
    );
    cases
        .answered("with frames of nothing", empty)
        .tells(&["text four"]);
    cases
        .answered("an empty end alone", upload(&[], &[last(1, b"")]))
        .tells(&["body 0"]);
    cases.malformed("too short", upload(&["5"], &[four()]));
    cases.malformed(
        "much too short",
        upload(&["18446744073709551615"], &[four()]),
    );
    cases.malformed(
        "too short, with an empty end",
        upload(&["5"], &[data(1, b"four"), last(1, b"")]),
    );
    cases.malformed(
        "nothing where there is to be some",
        whole(1, &sized(&["4"])),
    );
    cases.malformed(
        "an end where there is to be some",
        upload(&["4"], &[last(1, b"")]),
    );
    cases.malformed("too long", upload(&["3"], &[four()]));
    cases.malformed(
        "too long, without an end",
        upload(&["3"], &[data(1, b"four")]),
    );
    cases.malformed(
        "too long in pieces",
        upload(&["5"], &[data(1, b"four"), four()]),
    );
    cases.malformed(
        "some where there is to be nothing",
        upload(&["0"], &[four()]),
    );
    let trailers = upload(&["5"], &[data(1, b"four"), whole(1, &field("x", "y"))]);
    cases.malformed("too short, with trailers", trailers);
    let trailers = upload(&["5"], &[whole(1, &field("x", "y"))]);
    cases.malformed("trailers for a body", trailers);
    let padded = frame(
        DATA,
        PADDED | END_STREAM,
        1,
        &[&[1][..], b"four", &[0]].concat(),
    );
    cases.malformed("as long with its padding", upload(&["5"], &[padded]));
    cases.hold().await;
}

#[tokio::test]
async fn a_length_is_one_number() {
    let mut cases = Cases::default();
    let four = || last(1, b"four");
    cases.malformed("two lengths", upload(&["4", "5"], &[four()]));
    cases.malformed(
        "two lengths, the first one wrong",
        upload(&["5", "4"], &[four()]),
    );
    // Twice the same may be taken for one, or for none.
    cases
        .malformed("a length twice", upload(&["4", "4"], &[four()]))
        .or(Verdict::Says(200));
    cases
        .malformed("a list of one length", upload(&["4, 4"], &[four()]))
        .or(Verdict::Says(200));
    let odd = [
        "x",
        "",
        "-4",
        "+4",
        "4x",
        "0x4",
        "4.0",
        "4, 5",
        "99999999999999999999999",
        "٤",
    ];
    for length in odd {
        cases.malformed(
            &format!("a length of {length:?}"),
            upload(&[length], &[four()]),
        );
    }
    cases.hold().await;
}

#[tokio::test]
async fn trailers_end_a_request_and_are_fields_only() {
    let mut cases = Cases::default();
    let after = |frames: &[Vec<u8>]| {
        [&[begun(1, &telling(&[])), data(1, b"body")], frames]
            .concat()
            .concat()
    };
    let trailers = |fields: &[(&str, &str)]| whole(1, &block(fields));
    let two = after(&[trailers(&[("x", "y"), ("grpc-status", "0")])]);
    let case = cases.answered("trailers", two);
    case.tells(&["text body", "trailer x: y", "trailer grpc-status: 0"]);
    let bare = [begun(1, &telling(&[])), trailers(&[("x", "y")])].concat();
    cases
        .answered("trailers without a body", bare)
        .tells(&["body 0", "trailer x: y"]);
    let said = [
        begun(1, &telling(&[("te", "trailers"), ("trailer", "x")])),
        trailers(&[("x", "y")]),
    ];
    cases
        .answered("trailers that were announced", said.concat())
        .tells(&["trailer x: y"]);
    cases
        .answered("trailers of nothing", after(&[trailers(&[])]))
        .tells(&["text body"]);
    cases.malformed(
        "trailers without an end",
        after(&[begun(1, &field("x", "y"))]),
    );
    let twice = after(&[begun(1, &field("x", "y")), trailers(&[("x", "y")])]);
    cases.malformed("trailers twice", twice);
    cases.malformed(
        "a second head",
        after(&[begun(1, &telling(&[])), last(1, b"x")]),
    );
    for (name, value) in [
        (":method", "GET"),
        (":path", "/"),
        (":status", "200"),
        (":x", "y"),
    ] {
        let mixed = after(&[trailers(&[("x", "y"), (name, value)])]);
        cases.malformed(&format!("{name} in trailers"), mixed);
        cases.malformed(
            &format!("{name} alone in trailers"),
            after(&[trailers(&[(name, value)])]),
        );
    }
    for (name, value) in [
        ("X", "y"),
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("x", "a\nb"),
    ] {
        cases.malformed(
            &format!("{name}: {value:?} in trailers"),
            after(&[trailers(&[(name, value)])]),
        );
    }
    cases.hold().await;
}
