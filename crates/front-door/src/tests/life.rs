//! How long a connection may live doing what, and how it ends.

use super::*;

const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

// req: GW-03
// attack: A-50
#[tokio::test]
async fn a_silent_or_dripping_peer_is_closed_after_the_head_time_however_it_drips() {
    let house = House::open(quick()).await;
    let mut silent = house.connect().await;
    let (took, _) = until_closed(&mut silent).await;
    assert_took(QUICK.head, took);

    // The first head of a connection, and one behind a request.
    for before in [&b""[..], GET] {
        let mut dripping = house.connect().await;
        dripping.write_all(before).await.unwrap();
        let began = kernel::clock::now();
        while dripping.write_all(b"G").await.is_ok() {
            let took = kernel::clock::now() - began;
            assert!(took < QUICK.head + LATE, "drips do not prolong the head");
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    }
    assert_eq!(house.timeouts("read"), 3);
}

// req: GW-03
#[tokio::test]
async fn a_connection_may_rest_for_the_idle_time_and_speak_again_before_it_is_over() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    // With its buffers still there, and without.
    for pause in [Duration::from_millis(50), QUICK.idle * 2 / 3] {
        stream.write_all(GET).await.unwrap();
        let mut answer = [0; 15];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK");
        let mut rest = [0; 1024];
        let read = stream.read(&mut rest).await.unwrap();
        assert!(rest[..read].ends_with(b"hello"));
        tokio::time::sleep(pause).await;
    }
    stream.write_all(GET).await.unwrap();
    let (took, answer) = until_closed(&mut stream).await;
    assert!(answer.ends_with("hello"), "{answer}");
    assert_took(QUICK.idle, took);
}

// req: GW-03
#[tokio::test]
async fn a_head_that_drips_after_a_nap_is_timed_like_any_other() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    stream.write_all(GET).await.unwrap();
    tokio::time::sleep(QUICK.idle * 2 / 3).await;
    stream.write_all(b"GET / HT").await.unwrap();
    let (took, _) = until_closed(&mut stream).await;
    assert_took(QUICK.head, took);
}

// req: GW-03
#[tokio::test]
async fn a_head_that_began_while_another_request_was_answered_is_timed_from_the_answer() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    let both = b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\nGET / HT";
    stream.write_all(both).await.unwrap();
    let mut answer = [0; 1024];
    let read = stream.read(&mut answer).await.unwrap();
    assert!(answer[..read].ends_with(b"hello"));
    let (took, _) = until_closed(&mut stream).await;
    assert_took(QUICK.head, took);
}

// req: GW-03
// attack: D-14
#[tokio::test]
async fn a_peer_that_stops_reading_is_closed_after_the_write_time() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    stream
        .write_all(b"GET /big HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    until("the write time is over", || house.timeouts("write") == 1).await;
}

// req: GW-03
#[tokio::test]
async fn a_peer_that_reads_slowly_gets_all_of_a_big_answer() {
    let house = House::open(quick()).await;
    let mut stream = house.connect().await;
    let request = b"GET /big HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let (mut total, mut bytes) = (0, vec![0; 4 << 20]);
    loop {
        let read = stream.read(&mut bytes).await.unwrap();
        if read == 0 {
            break;
        }
        total += read;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(total > 64 << 20, "{total} bytes");
}

// req: GW-03
#[tokio::test]
async fn connections_that_are_only_held_open_make_room_for_those_that_ask() {
    let settings = DoorSettings {
        max_connections: 4,
        timeouts: Timeouts::default(),
        ..quick()
    };
    let house = House::open(settings).await;
    let mut held = Vec::new();
    for number in 0..4 {
        let mut stream = house.connect().await;
        // One silent, one resting, one in the middle of a head, one being answered.
        let said: &[u8] = match number {
            0 => b"",
            1 => GET,
            2 => b"GET / HT",
            _ => b"GET /hang HTTP/1.1\r\nhost: a\r\n\r\n",
        };
        stream.write_all(said).await.unwrap();
        held.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    for _ in 0..6 {
        let answer = testkit::http::get(house.address, "/").await.unwrap();
        assert_eq!(answer.status, 200);
    }
    assert_eq!(house.live(), 1, "who is being answered stays");
}

// req: GW-03
#[tokio::test]
async fn one_address_may_not_open_connections_faster_than_its_rate() {
    let rate = rate_quota::Rate::new(1, Duration::from_secs(60)).unwrap();
    let settings = DoorSettings {
        accept_rate: Some(rate.burst(3).unwrap()),
        ..quick()
    };
    let house = House::open(settings).await;
    let mut answered = 0;
    for _ in 0..6 {
        answered += usize::from(testkit::http::get(house.address, "/").await.is_ok());
    }
    assert_eq!(answered, 3);
}

// req: GW-16
#[tokio::test]
async fn a_drain_answers_what_came_in_and_closes_the_rest_at_once() {
    let house = House::open(quick()).await;
    let mut slow = house.connect().await;
    slow.write_all(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let mut resting = house.connect().await;
    resting.write_all(GET).await.unwrap();
    let mut asleep = house.connect().await;
    let mut silent = house.connect().await;
    asleep.write_all(GET).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    house.kernel.requests.request();
    tokio::time::sleep(Duration::from_millis(80)).await;
    let refused = testkit::http::get(house.address, "/").await.unwrap_err();
    assert_eq!(refused, testkit::http::Failure::ConnectRefused);
    for stream in [&mut resting, &mut asleep, &mut silent] {
        let (took, _) = until_closed(stream).await;
        assert!(took < Duration::from_millis(50), "{took:?}");
    }
    let (_, answer) = until_closed(&mut slow).await;
    assert!(
        answer.ends_with("hello") && answer.contains("connection: close"),
        "{answer}"
    );
    assert_eq!(house.running.await.unwrap(), Outcome::Drained);
}

// req: GW-16
#[tokio::test]
async fn a_drain_answers_all_who_wait_in_the_backlog() {
    let settings = DoorSettings {
        max_connections: 1024,
        ..quick()
    };
    let house = House::open(settings).await;
    let mut waiting = Vec::new();
    for _ in 0..300 {
        let mut stream = std::net::TcpStream::connect(house.address).unwrap();
        std::io::Write::write_all(&mut stream, GET).unwrap();
        stream.set_nonblocking(true).unwrap();
        waiting.push(TcpStream::from_std(stream).unwrap());
    }
    house.kernel.requests.request();
    let mut answered = 0;
    for stream in &mut waiting {
        answered += usize::from(until_closed(stream).await.1.ends_with("hello"));
    }
    assert_eq!(answered, waiting.len());
    assert_eq!(house.running.await.unwrap(), Outcome::Drained);
}

/// What a slow line carries.
const BYTES_PER_MS: usize = 80;

/// Takes as much as a slow line would bring, out of little room.
async fn on_a_slow_line(house: &House, asks: &[u8]) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(128 << 10).unwrap();
    let mut stream = socket.connect(house.address).await.unwrap();
    stream.write_all(asks).await.unwrap();
    let (began, mut taken) = (kernel::clock::now(), 0);
    loop {
        let took = kernel::clock::now() - began;
        if took > Duration::from_secs(8) {
            break;
        }
        let due = took.as_millis() as usize * BYTES_PER_MS;
        let mut piece = vec![0; due - taken];
        let read = stream.read_exact(&mut piece).await;
        assert!(read.is_ok(), "cut off: {read:?}");
        taken = due;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stream
}

// The system would take a third of what it holds for a slow peer at a time, and be silent meanwhile.
// req: GW-03
#[tokio::test]
async fn who_takes_an_answer_slowly_gets_on_and_who_takes_nothing_is_given_up() {
    let mut settings = quick();
    settings.timeouts.write = Duration::from_secs(3);
    let house = House::open(settings).await;
    let plain = b"GET /big HTTP/1.1\r\nhost: a\r\n\r\n";
    let framed = h2::asks_for_all_of("/big");
    let (first, second) = tokio::join!(
        on_a_slow_line(&house, plain),
        on_a_slow_line(&house, &framed)
    );
    assert_eq!(house.timeouts("write"), 0);
    for _ in 0..400 {
        if house.timeouts("write") >= 2 {
            return drop((first, second));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{} of two were given up", house.timeouts("write"));
}
