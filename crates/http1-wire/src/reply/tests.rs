use super::*;

const TERMS: Terms = Terms {
    keeps: true,
    ..Terms::UNREADABLE
};
const OLD: Terms = Terms { old: true, ..TERMS };
const HEAD: Terms = Terms {
    head: true,
    ..TERMS
};

fn write(
    status: u16,
    fields: &[(&'static str, &'static str)],
    terms: Terms,
    payload: Payload,
) -> (String, Told) {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        headers.append(*name, HeaderValue::from_static(value));
    }
    let tell = Tell {
        status: StatusCode::from_u16(status).unwrap(),
        headers: &headers,
        date: b"today",
    };
    let mut out = Vec::new();
    let told = write_answer(&mut out, &tell, &terms, payload);
    (String::from_utf8(out).unwrap(), told)
}

fn told(framing: Framing, keeps: bool) -> Told {
    Told { framing, keeps }
}

// req: GW-01
#[test]
fn an_answer_says_how_long_it_is_once_and_not_by_its_fields() {
    let fields = [
        ("content-length", "9"),
        ("transfer-encoding", "gzip"),
        ("x", "y"),
    ];
    let (head, how) = write(200, &fields, TERMS, Payload::Some(Some(5)));
    assert_eq!(
        head,
        "HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 5\r\ndate: today\r\n\r\n"
    );
    assert_eq!(how, told(Framing::Length(5), true));
    let (head, how) = write(404, &fields[..1], TERMS, Payload::Some(None));
    assert_eq!(
        head,
        "HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\ndate: today\r\n\r\n"
    );
    assert_eq!(how, told(Framing::Length(9), true));
    let (head, how) = write(200, &[("date", "then")], TERMS, Payload::Some(None));
    assert_eq!(
        head,
        "HTTP/1.1 200 OK\r\ndate: then\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    assert_eq!(how, told(Framing::Chunked, true));
    let (head, how) = write(200, &fields[..1], TERMS, Payload::Nothing);
    assert!(head.contains("content-length: 0\r\n"), "{head}");
    assert_eq!(how, told(Framing::Length(0), true));
}

// req: GW-01
#[test]
fn an_answer_that_has_no_body_says_nothing_of_one_but_what_a_head_stands_for() {
    for status in [204, 304] {
        let fields = [("content-length", "5"), ("trailer", "x")];
        let (head, how) = write(status, &fields, TERMS, Payload::Some(Some(5)));
        assert!(
            !head.contains("length") && !head.contains("trailer"),
            "{head}"
        );
        assert_eq!(how, told(Framing::Length(0), true));
    }
    let (head, how) = write(200, &[("content-length", "5")], HEAD, Payload::Nothing);
    assert!(head.contains("content-length: 5\r\n"), "{head}");
    assert_eq!(how, told(Framing::Length(0), true));
    let (head, _) = write(200, &[], HEAD, Payload::Some(Some(7)));
    assert!(head.contains("content-length: 7\r\n"), "{head}");
    for payload in [Payload::Nothing, Payload::Some(None)] {
        let (head, how) = write(200, &[], HEAD, payload);
        assert!(
            !head.contains("length") && !head.contains("chunked"),
            "{head}"
        );
        assert_eq!(how, told(Framing::Length(0), true));
    }
}

#[test]
fn what_becomes_of_the_connection_is_said_where_the_version_does_not() {
    let last = Terms {
        keeps: false,
        ..TERMS
    };
    let (head, how) = write(200, &[], last, Payload::Nothing);
    assert!(
        head.contains("connection: close\r\n") && !how.keeps,
        "{head}"
    );
    let (head, how) = write(200, &[("connection", "Close")], TERMS, Payload::Nothing);
    assert!(!head.contains("connection: close") && !how.keeps, "{head}");
    let (head, how) = write(200, &[], OLD, Payload::Nothing);
    assert!(head.starts_with("HTTP/1.0 200 OK\r\n"), "{head}");
    assert!(
        head.contains("connection: keep-alive\r\n") && how.keeps,
        "{head}"
    );
    let (head, how) = write(200, &[("trailer", "x")], OLD, Payload::Some(None));
    assert!(
        head.contains("connection: close\r\n") && !head.contains("trailer"),
        "{head}"
    );
    assert_eq!(how, told(Framing::UntilClose, false));
}

// req: GW-01
#[test]
fn another_protocol_begins_behind_its_answer() {
    let fields = [
        ("connection", "upgrade"),
        ("upgrade", "x"),
        ("content-length", "0"),
    ];
    let (head, how) = write(101, &fields, TERMS, Payload::Nothing);
    let wanted = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\ndate: today\r\n\r\n";
    assert_eq!(head, wanted);
    assert_eq!(how, told(Framing::Switched, false));
    let connect = Terms {
        connect: true,
        ..TERMS
    };
    assert_eq!(
        write(200, &[], connect, Payload::Nothing).1.framing,
        Framing::Switched
    );
    assert_eq!(
        write(403, &[], connect, Payload::Nothing).1.framing,
        Framing::Length(0)
    );
}

#[test]
fn trailers_are_sent_that_were_announced() {
    let mut trailers = HeaderMap::new();
    for name in ["a", "b", "c"] {
        trailers.insert(name, HeaderValue::from_static("1"));
    }
    let listed = [
        HeaderValue::from_static("x, A"),
        HeaderValue::from_static("c"),
    ];
    let kept = listed_trailers(&trailers, &listed);
    assert_eq!(kept.len(), 2);
    assert!(kept.contains_key("a") && kept.contains_key("c"));
    assert!(listed_trailers(&trailers, &[]).is_empty());
}
