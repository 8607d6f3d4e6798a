//! Answers that are not taken, or hardly.

use super::*;

// req: GW-03
// attack: B-15
#[tokio::test]
async fn one_slow_download_keeps_no_places_for_answers_nobody_takes() {
    let mut settings = quick();
    settings.timeouts.write = Duration::from_secs(1);
    let house = House::open(settings).await;
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 << 10).unwrap();
    let mut stream = socket.connect(house.address).await.unwrap();
    let open = END_HEADERS | END_STREAM;
    let mut big = post("/big");
    big[0] = 0x82;
    let mut said = [
        PREFACE,
        &frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]),
        &frame(WINDOW_UPDATE, 0, 0, &[0x3f, 0, 0, 0]),
        &frame(HEADERS, open, 1, &big),
        &frame(WINDOW_UPDATE, 0, 1, &[0x3f, 0, 0, 0]),
    ]
    .concat();
    for number in 1..=20 {
        said.extend(frame(HEADERS, open, number * 2 + 1, GET));
    }
    stream.write_all(&said).await.unwrap();
    let began = kernel::clock::now();
    while house.timeouts("write") < 20 {
        let ended = house.timeouts("write");
        assert!(
            kernel::clock::now() - began < Duration::from_secs(15),
            "{ended}"
        );
        // A line that is slow, but not so slow that it would be given up.
        stream.read_exact(&mut [0; 4096]).await.expect("it goes on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(house.timeouts("write"), 20, "and the first one still does");
}

// req: GW-03
// attack: B-15
#[tokio::test]
async fn a_stream_is_taken_at_the_pace_of_any_answer_or_given_up() {
    let mut settings = quick();
    settings.timeouts.write = Duration::from_secs(2);
    let house = House::open(settings).await;
    let mut raw = Raw::open(&house, &[0, 4, 0, 0, 0, 0]).await;
    let mut big = post("/big");
    big[0] = 0x82;
    for stream in [1, 3] {
        let open = END_HEADERS | END_STREAM;
        raw.send(&frame(HEADERS, open, stream, &big)).await;
    }
    let began = kernel::clock::now();
    // 240 bytes a second, over two of them, are more than the one takes and less than the other.
    while house.timeouts("write") == 0 {
        for (stream, room) in [(1, 257_u32), (3, 700)] {
            raw.send(&frame(WINDOW_UPDATE, 0, stream, &room.to_be_bytes()))
                .await;
        }
        tokio::time::sleep(Duration::from_millis(1200)).await;
        assert!(kernel::clock::now() - began < Duration::from_secs(8));
    }
    let reset = raw.until(|kind, _, _, _| kind == RST_STREAM).await;
    assert_eq!(reset.unwrap().2, 1);
    assert_eq!(house.timeouts("write"), 1);
}
