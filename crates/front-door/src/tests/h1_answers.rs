//! How answers leave over HTTP/1: framed as the request allows, and whole or broken off.

use super::*;

fn get(path: &str, lines: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: a\r\n{lines}\r\n").into_bytes()
}

async fn ask(house: &House, path: &str) -> String {
    house.tell(&get(path, "connection: close\r\n")).await
}

// req: GW-01
#[tokio::test]
async fn a_streamed_answer_comes_in_chunks_or_until_the_end_for_old_clients() {
    let house = House::open(quick()).await;
    let answer = ask(&house, "/stream").await;
    assert!(
        answer.contains("transfer-encoding: chunked\r\n"),
        "{answer}"
    );
    assert!(answer.contains("\r\n\r\n3\r\none\r\n"), "{answer}");
    assert!(answer.ends_with("3\r\ntwo\r\n0\r\n\r\n"), "{answer}");
    let old = b"GET /stream HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    let answer = house.tell(old).await;
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nonetwo"), "{answer}");
}

// req: GW-07
#[tokio::test]
async fn a_service_is_told_of_a_client_that_takes_its_answer_slowly() {
    let house = House::open(patient()).await;
    let slow = || house.host.slow.load(Ordering::Relaxed);
    let mut quick = house.connect().await;
    quick.write_all(&get("/endless", "")).await.unwrap();
    let mut read = vec![0; 1 << 20];
    let began = kernel::clock::now();
    while began.elapsed() < Duration::from_millis(1_500) {
        quick.read_exact(&mut read).await.unwrap();
    }
    assert_eq!(slow(), 0, "who takes what there is, is not slow");
    until("it is slow", || slow() >= 2).await;
    drop(quick);

    let before = slow();
    let mut raw = house.connect().await;
    let asked = super::h2::asks_for_all_of("/endless");
    raw.write_all(&asked).await.unwrap();
    until("the other is slow too", || slow() >= before + 2).await;
}

// attack: K-11
#[tokio::test]
async fn an_answer_that_is_torn_off_looks_torn_off_to_old_clients_too() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    stream
        .write_all(b"GET /torn HTTP/1.0\r\n\r\n")
        .await
        .unwrap();
    let read = stream.read_to_end(&mut Vec::new()).await;
    assert_eq!(
        read.unwrap_err().kind(),
        std::io::ErrorKind::ConnectionReset
    );
}

// req: GW-01
#[tokio::test]
async fn a_piece_of_an_answer_leaves_before_the_next_is_there() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    stream.write_all(&get("/held", "")).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"one\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    assert_eq!(
        house.host.pieces.load(Ordering::Acquire),
        1,
        "the second waits"
    );
    house.host.pieces.store(2, Ordering::Release);
    while !answer.ends_with(b"0\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
}

// req: GW-01
#[tokio::test]
async fn trailers_wait_behind_a_large_piece_and_are_left_out_where_nobody_takes_them() {
    let house = House::open(quick()).await;
    let answer = house
        .tell(&get(
            "/large-trailers",
            "te: trailers\r\nconnection: close\r\n",
        ))
        .await;
    assert!(
        answer.ends_with("xx\r\n0\r\ngrpc-status: 0\r\n\r\n"),
        "{}",
        &answer[answer.len() - 60..]
    );
    let answer = ask(&house, "/large-trailers").await;
    assert!(answer.ends_with("xx\r\n0\r\n\r\n"));
}

// req: GW-01
#[tokio::test]
async fn head_and_statuses_without_a_body_have_none_and_the_connection_goes_on() {
    let house = House::open(quick()).await;
    let head = b"HEAD / HTTP/1.1\r\nhost: a\r\n\r\n".to_vec();
    let all = [
        head,
        get("/204", ""),
        get("/304", ""),
        get("/", "connection: close\r\n"),
    ];
    let answers = house.tell(&all.concat()).await;
    let heads: Vec<_> = answers.split("\r\n\r\n").collect();
    assert_eq!(heads.len(), 5, "{answers}");
    assert!(heads[0].contains("content-length: 5"), "{answers}");
    assert!(heads[1].starts_with("HTTP/1.1 204") && !heads[1].contains("length"));
    assert!(heads[2].starts_with("HTTP/1.1 304") && !heads[2].contains("length"));
    assert_eq!(heads[4], "hello");
}

// req: GW-01
#[tokio::test]
async fn an_answer_shorter_than_its_promise_ends_the_connection_and_a_longer_one_is_cut() {
    let house = House::open(quick()).await;
    let both = [get("/short", ""), get("/", "")].concat();
    let answer = house.tell(&both).await;
    assert!(!answer.contains("hello"), "nothing behind it: {answer}");
    let both = [get("/long", ""), get("/", "connection: close\r\n")].concat();
    let answer = house.tell(&both).await;
    assert!(answer.contains("\r\n\r\nabcHTTP/1.1 200 OK"), "{answer}");
}

#[tokio::test]
async fn an_interim_status_as_an_answer_is_a_500() {
    let house = House::open(quick()).await;
    let answer = ask(&house, "/103").await;
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
}

// req: GW-01
#[tokio::test]
async fn a_body_is_read_from_another_task_too_and_a_large_one_in_pieces() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    let body = "0123456789".repeat(100_000);
    let head = format!(
        "POST /elsewhere HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let (mut reading, mut writing) = stream.split();
    let next = get("/", "connection: close\r\n");
    let send = async {
        writing.write_all(head.as_bytes()).await.unwrap();
        for piece in body.as_bytes().chunks(70_000) {
            writing.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        writing.write_all(&next).await.unwrap();
    };
    let ((), (_, answer)) = tokio::join!(send, until_closed(&mut reading));
    assert!(
        answer.contains(&format!("\r\n\r\n{}HTTP", body.len())),
        "{answer}"
    );
    assert!(answer.ends_with("hello"), "{answer}");
}

/// However the next request comes, behind a body that made room for another like it.
// req: GW-01
#[tokio::test]
async fn a_body_like_the_last_comes_whole_and_any_other_comes_too() {
    let house = House::open(patient()).await;
    let mut stream = house.connect().await;
    let (mut reading, mut writing) = stream.split();
    let body = |round: usize, length: usize| vec![b'a' + (round % 26) as u8; length];
    let lengths = [
        16_384, 16_384, 16_384, 4_096, 65_536, 65_536, 65_537, 16_384, 1, 16_384, 0, 40_000,
    ];
    let all = 4 * lengths.len();
    let mixed = (0..all).map(|round| round * 17 % all);
    for round in (0..all).chain(mixed) {
        let length = lengths[round % lengths.len()];
        let mut whole =
            format!("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n")
                .into_bytes();
        let head = whole.len();
        whole.extend(body(round, length));
        // At once; the head apart; in the middle of the head; in the middle of the body.
        let parted = [whole.len(), head, head / 2, head + length / 2][round / lengths.len()];
        let say = async {
            let (first, second) = whole.split_at(parted);
            writing.write_all(first).await.unwrap();
            if !second.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
                writing.write_all(second).await.unwrap();
            }
        };
        let hear = async {
            let mut heard = Vec::new();
            let ends = |heard: &[u8]| heard.windows(4).position(|end| end == b"\r\n\r\n");
            while ends(&heard).is_none_or(|end| heard.len() < end + 4 + length) {
                assert!(reading.read_buf(&mut heard).await.unwrap() > 0, "it ends");
            }
            heard.split_off(ends(&heard).unwrap() + 4)
        };
        let ((), heard) = tokio::join!(say, hear);
        assert!(
            heard == body(round, length),
            "{length} bytes, parted at {parted}"
        );
    }
}

// attack: A-39
#[tokio::test]
async fn what_is_no_request_is_refused_before_it_ends() {
    let patient = Timeouts {
        head: Duration::from_secs(60),
        ..QUICK
    };
    let settings = DoorSettings {
        timeouts: patient,
        ..quick()
    };
    let house = House::open(settings).await;
    for bytes in [
        &b"\x16\x03\x01\x02\0\x01"[..],
        b"GET / HTTP/3.0\r\n",
        b"GET /\n",
    ] {
        let answer = house.tell(bytes).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
}

// req: GW-01
#[tokio::test]
async fn a_protocol_that_nobody_takes_over_ends_the_connection() {
    let house = House::open(quick()).await;
    let answer = house
        .tell(&get("/101", "connection: upgrade\r\nupgrade: x\r\n"))
        .await;
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    let answer = house.tell(&get("/101", "")).await;
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
}

// req: GW-01
// attack: A-48
#[tokio::test]
async fn a_body_nobody_wants_any_more_behind_its_answer_is_skipped_or_ends_the_connection() {
    let house = House::open(quick()).await;
    let head = "POST /late HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n";
    let answer = house.tell(format!("{head}ab").as_bytes()).await;
    assert!(
        answer.ends_with("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
        "{answer}"
    );
    let head = "POST /late HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    let whole = format!("{head}2\r\nab\r\n0\r\n\r\n").into_bytes();
    let next = get("/", "connection: close\r\n");
    let answer = house.tell(&[whole, next].concat()).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
}

/// A door that waits for bodies for longer than any test needs.
fn unhurried() -> DoorSettings {
    let body = Duration::from_secs(30);
    let timeouts = Timeouts { body, ..QUICK };
    DoorSettings {
        timeouts,
        ..quick()
    }
}

/// The beginning of a request to `/late` has been sent; waits for the whole answer.
async fn begin_late(house: &House, lines: &str, begun: &str) -> (tokio::net::TcpStream, String) {
    let mut stream = house.connect().await;
    let head = format!("POST /late HTTP/1.1\r\nhost: a\r\n{lines}\r\n{begun}");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"0\r\n\r\n") {
        assert!(stream.read_buf(&mut heard).await.unwrap() > 0, "it ends");
    }
    (stream, String::from_utf8(heard).unwrap())
}

// req: GW-01
// attack: A-48
#[tokio::test]
async fn the_rest_of_a_body_that_is_let_go_of_behind_its_answer_is_read_and_the_connection_goes_on()
{
    let house = House::open(unhurried()).await;
    let rest = "x".repeat(200_000);
    let chunk = format!("30d40\r\n{rest}\r\n0\r\n\r\n");
    let cases = [
        ("content-length: 200002\r\n", "ab", rest),
        ("transfer-encoding: chunked\r\n", "2\r\nab\r\n", chunk),
    ];
    for (lines, begun, rest) in cases {
        let (mut stream, answer) = begin_late(&house, lines, begun).await;
        assert!(!answer.contains("connection: close"), "{answer}");
        stream.write_all(rest.as_bytes()).await.unwrap();
        let last = get("/", "connection: close\r\n");
        stream.write_all(&last).await.unwrap();
        let next = until_closed(&mut stream).await.1;
        assert!(next.ends_with("\r\n\r\nhello"), "{lines}: {next}");
    }
}

// req: GW-01
// attack
#[tokio::test]
async fn an_answer_says_so_when_nothing_can_follow_its_body_and_of_no_body_is_more_read_than_that()
{
    let house = House::open(unhurried()).await;
    let large = "content-length: 5000000\r\n";
    let unasked = "content-length: 9\r\nexpect: 100-continue\r\n";
    let last = "content-length: 9\r\nconnection: close\r\n";
    for lines in [large, unasked, last] {
        let (mut stream, answer) = begin_late(&house, lines, "").await;
        assert!(answer.contains("connection: close\r\n"), "{answer}");
        assert!(!answer.contains("100 Continue"), "{answer}");
        let (_, more) = until_closed(&mut stream).await;
        assert_eq!(more, "", "{lines}");
    }
    let (mut stream, _) = begin_late(&house, "transfer-encoding: chunked\r\n", "").await;
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let mut sent = 0;
    while stream.write_all(chunk.as_bytes()).await.is_ok() {
        sent += chunk.len();
        assert!(sent < 100 << 20, "somebody reads all of it");
    }
}

// req: GW-01
// attack: A-48
#[tokio::test]
async fn a_request_that_a_service_does_not_take_keeps_nobody_waiting_for_its_body() {
    let house = House::open(quick()).await;
    let head = "POST /untaken HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    let answer = house.tell(format!("{head}2\r\nab\r\n").as_bytes()).await;
    assert!(answer.ends_with("\r\n\r\nuntaken"), "{answer}");
    let whole = format!("{head}2\r\nab\r\n0\r\n\r\n").into_bytes();
    let next = get("/", "connection: close\r\n");
    let answer = house.tell(&[whole, next].concat()).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
}
