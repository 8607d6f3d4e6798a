//! What a peer may do over HTTP/1, and what comes of it.

use super::*;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
const LAST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

// req: GW-01
// attack: A-49
#[tokio::test]
async fn a_hundred_pipelined_requests_are_answered_in_order() {
    let house = House::open(quick()).await;
    let mut requests = Vec::new();
    for number in 0..100 {
        let body = format!("{number};");
        let head = format!(
            "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        requests.extend([head, body].concat().into_bytes());
    }
    requests.extend_from_slice(LAST);
    let answers = house.tell(&requests).await;
    let mut rest = answers.as_str();
    for number in 0..100 {
        let at = rest
            .find(&format!("\r\n\r\n{number};"))
            .unwrap_or_else(|| panic!("{number}"));
        rest = &rest[at + 1..];
    }
    assert!(rest.ends_with("hello"));
}

// attack: A-19
#[tokio::test]
async fn a_bare_line_feed_in_any_head_is_refused_and_ends_the_connection() {
    let house = House::open(quick()).await;
    let heads: [&[u8]; 4] = [
        b"GET / HTTP/1.1\nhost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\nx: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\n\n",
        b"GET / HTTP/1.1\nhost: a\n\n",
    ];
    let before: [&[u8]; 4] = [
        b"",
        GET,
        b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\na\nb\n\n",
        b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\na\nb\r\n0\r\n\r\n",
    ];
    for head in heads {
        for before in before {
            let served = usize::from(!before.is_empty());
            let calls = house.host.calls.load(Ordering::Relaxed);
            let answer = house.tell(&[before, head, GET].concat()).await;
            assert_eq!(answer.matches("HTTP/1.1 200").count(), served, "{answer}");
            assert_eq!(answer.matches("HTTP/1.1 400").count(), 1, "{answer}");
            assert!(answer.contains("connection: close") && answer.ends_with("refused"));
            let called = house.host.calls.load(Ordering::Relaxed) - calls;
            assert_eq!(called, served, "the service never sees it");
        }
    }
}

// attack: A-19
#[tokio::test]
async fn line_feeds_in_bodies_are_nobodys_business() {
    let house = House::open(quick()).await;
    let body = "a\n\nb\r\n\r\nGET / HTTP/1.1\nhost: a\n\n";
    let length = body.len();
    let plain = format!("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n{body}");
    let chunked = format!(
        "POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
    );
    for request in [plain, chunked] {
        let answer = house.tell(&[request.as_bytes(), LAST].concat()).await;
        assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
        assert!(answer.contains(body), "{answer}");
    }
}

// req: GW-08
// attack: A-43, A-44, A-17, A-39
#[tokio::test]
async fn what_the_parser_refuses_is_refused_in_the_words_of_the_service() {
    let house = House::open(quick()).await;
    let filler = "x".repeat(500 << 10);
    let many = "a: b\r\n".repeat(150);
    let cases = [
        (
            format!("GET / HTTP/1.1\r\nhost: a\r\nx: {filler}\r\n\r\n"),
            431,
        ),
        (format!("GET / HTTP/1.1\r\nhost: a\r\n{many}\r\n"), 431),
        (
            format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", &filler[..70_000]),
            414,
        ),
        ("GET / HTTP/1.1\r\nhost : a\r\n\r\n".into(), 400),
        ("GET / HTTP/1.2\r\nhost: a\r\n\r\n".into(), 400),
        ("\x16\x03\x01 nonsense\r\n\r\n".into(), 400),
    ];
    for (number, (request, status)) in cases.into_iter().enumerate() {
        let answer = house.tell(request.as_bytes()).await;
        let expected = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expected), "{number}: {answer}");
        assert!(
            answer.contains("x-reason") && answer.ends_with("refused"),
            "{answer}"
        );
        assert!(answer.contains("date: ") && answer.contains("connection: close"));
        assert_eq!(house.host.refusals.load(Ordering::Relaxed), number + 1);
    }
    // Behind a good request too.
    let answer = house.tell(&[GET, b"nonsense\r\n\r\n"].concat()).await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("refused"),
        "{answer}"
    );
}

// req: GW-08
// attack: A-17, A-39
#[tokio::test]
async fn what_is_refused_of_who_asks_for_a_head_only_has_no_body() {
    let house = House::open(quick()).await;
    for rest in [
        "/a`b HTTP/1.1\r\nhost: a\r\n\r\n",
        "/ HTTP/1.1\r\nhost : a\r\n\r\n",
        "/ HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n",
        "/ HTTP/1.2\r\n",
    ] {
        let answer = house.tell(format!("\r\nHEAD {rest}").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{rest}: {answer}");
        assert!(answer.contains("content-length: 7\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{rest}: {answer}");
        let answer = house.tell(format!("HEADS {rest}").as_bytes()).await;
        assert!(answer.ends_with("\r\n\r\nrefused"), "{rest}: {answer}");
    }
}

// attack: A-45
#[tokio::test]
async fn a_hundred_continue_is_sent_when_the_body_is_wanted_and_not_before() {
    let house = House::open(quick()).await;
    let head = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
        )
    };
    let mut stream = house.connect().await;
    stream.write_all(head("/echo").as_bytes()).await.unwrap();
    let mut told = [0; 25];
    stream.read_exact(&mut told).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"ok").await.unwrap();
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");

    let answer = house.tell(head("/ignore").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Told to go on, and then silent.
    let answer = house.tell(head("/echo").as_bytes()).await;
    assert!(answer.contains("HTTP/1.1 408"), "{answer}");
}

// req: GW-03
// attack: D-03
#[tokio::test]
async fn a_body_that_stops_or_drips_is_408_within_the_body_time() {
    let house = House::open(quick()).await;
    let head = b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\nab";
    let began = kernel::clock::now();
    let mut stream = house.connect().await;
    stream.write_all(head).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    let took = kernel::clock::now() - began;
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert_took(QUICK.body, took);

    let began = kernel::clock::now();
    let (mut reading, mut writing) = house.connect().await.into_split();
    writing.write_all(head).await.unwrap();
    let drip = async {
        while writing.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = drip => panic!("closed without an answer"),
        read = reading.read_exact(&mut answer) => { read.unwrap(); }
    }
    let took = kernel::clock::now() - began;
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert!(
        took < QUICK.body + LATE,
        "drips do not prolong it: {took:?}"
    );
    assert_eq!(house.timeouts("read"), 2);
}

#[tokio::test]
async fn a_body_that_keeps_its_pace_may_take_longer_than_the_body_time() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    let head =
        "POST /echo HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 1000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stream.write_all(&[b'x'; 100]).await.unwrap();
    }
    let (_, answer) = until_closed(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

// attack: A-26, A-27, A-29
#[tokio::test]
async fn a_body_whose_chunks_are_none_is_told_from_a_client_that_left() {
    let house = House::open(quick()).await;
    for chunk in ["0x1\r\n", "\r\n", "1\na", "g\r\n"] {
        let head = "POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
        let answer = house.tell([head, chunk].concat().as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("malformed"), "{answer}");
    }
}

// attack: A-48, D-01
#[tokio::test]
async fn an_answer_before_the_body_was_read_arrives_although_the_body_is_still_coming() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    let head = "POST /ignore HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut sent = 0;
    while sent < 3_000_000 && stream.write_all(&[b'x'; 10_000]).await.is_ok() {
        sent += 10_000;
    }
    assert_eq!(sent, 3_000_000, "a reset would have stopped it");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"),
        "{answer}"
    );
}

// req: GW-01
// attack: A-47
#[tokio::test]
async fn an_upgrade_carries_early_bytes_over_and_leaves_them_alone() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    let head = "GET /upgrade HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
    stream
        .write_all([head, "early\n\nGET\n"].concat().as_bytes())
        .await
        .unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"early\n\nGET\n") {
        let mut bytes = [0; 256];
        let read = stream.read(&mut bytes).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&bytes[..read]);
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"));
    // Longer than any patience with requests.
    tokio::time::sleep(QUICK.idle * 3 / 2).await;
    stream.write_all(b"late").await.unwrap();
    let mut late = [0; 4];
    stream.read_exact(&mut late).await.unwrap();
    assert_eq!(&late, b"late");
}

// req: GW-01
#[tokio::test]
async fn trailers_follow_a_streamed_answer() {
    let house = House::open(quick()).await;
    let request = "GET /trailers HTTP/1.1\r\nhost: a\r\nte: trailers\r\nconnection: close\r\n\r\n";
    let answer = house.tell(request.as_bytes()).await;
    assert!(
        answer.ends_with("5\r\nhello\r\n0\r\ngrpc-status: 0\r\n\r\n"),
        "{answer}"
    );
}

// req: GW-09
// attack: D-15
#[tokio::test]
async fn a_client_that_goes_away_ends_the_call() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    stream
        .write_all(b"GET /hang HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    until("the call begins", || house.live() == 1).await;
    drop(stream);
    until("the call ends", || house.live() == 0).await;

    let mut upload = house.connect().await;
    upload
        .write_all(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nx")
        .await
        .unwrap();
    until("the call begins", || house.live() == 1).await;
    drop(upload);
    until("the call ends", || house.live() == 0).await;
}

#[tokio::test]
async fn a_client_that_goes_away_with_something_left_unread_ends_the_call_too() {
    let house = House::open(quick()).await;
    let ahead = "GET /hang HTTP/1.1\r\nhost: a\r\n\r\n\r";
    let unread = "POST /hang HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nx";
    for said in [ahead, unread] {
        let mut stream = house.connect().await;
        stream.write_all(said.as_bytes()).await.unwrap();
        until("the call begins", || house.live() == 1).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(stream);
        until("the call ends", || house.live() == 0).await;
    }
}

/// Nobody can tell them from clients that have closed their socket: of both no more comes than an end.
// req: GW-09
// attack: A-52
#[tokio::test]
async fn a_client_that_ends_its_side_counts_as_gone_whatever_it_has_said() {
    let house = House::open(quick()).await;
    let hang = "GET /hang HTTP/1.1\r\nhost: a\r\n";
    for rest in [
        "\r\n",
        "connection: close\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n",
        "\r\nGET /",
    ] {
        let mut stream = house.connect().await;
        let said = [hang, rest].concat();
        stream.write_all(said.as_bytes()).await.unwrap();
        until("the call begins", || house.live() == 1).await;
        stream.shutdown().await.unwrap();
        let (_, heard) = until_closed(&mut stream).await;
        assert_eq!(heard, "", "{rest:?}");
        until("the call ends", || house.live() == 0).await;
    }
    let mut stream = house.connect().await;
    let held = b"GET /held HTTP/1.1\r\nhost: a\r\n\r\n";
    stream.write_all(held).await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"one\r\n") {
        heard.push(stream.read_u8().await.unwrap());
    }
    stream.shutdown().await.unwrap();
    assert_eq!(until_closed(&mut stream).await.1, "", "it breaks off");
}

// req: GW-09
#[tokio::test]
async fn who_has_asked_for_more_is_waited_for_as_long_as_it_is_there() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    let two = b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\nGET /hang HTTP/1.1\r\nhost: a\r\n\r\n\r";
    stream.write_all(two).await.unwrap();
    until("the second begins", || {
        house.host.calls.load(Ordering::Relaxed) == 2
    })
    .await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(house.live(), 1);
}

#[tokio::test]
async fn a_service_that_panics_is_one_500_and_the_connection_lives_on() {
    let house = House::open(quick()).await;
    let answer = house
        .tell(&[b"GET /panic HTTP/1.1\r\nhost: a\r\n\r\n", LAST].concat())
        .await;
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    assert!(answer.contains("x-reason: internal") && !answer.contains("bad service"));
    assert!(answer.ends_with("hello"), "{answer}");
}
