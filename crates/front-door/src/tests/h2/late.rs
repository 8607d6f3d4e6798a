//! Bodies that are asked for, and bodies that come when nobody wants them any more.

use super::*;

const EARLY_ANSWERS: u32 = 90;

// req: GW-01
#[tokio::test]
async fn what_was_on_its_way_when_its_answer_came_is_no_flood() {
    let house = House::open(quick()).await;
    let mut raw = Raw::open(&house, &[]).await;
    raw.send(&frame(HEADERS, END_HEADERS, 1, &post("/"))).await;
    raw.until(|kind, _, _, _| kind == RST_STREAM).await.unwrap();
    let late = frame(DATA, 0, 1, &[0; 100]);
    raw.send(&late.repeat(1000)).await;
    raw.send(&frame(PING, 0, 0, &[7; 8])).await;
    let said = raw.until(|kind, _, _, _| matches!(kind, PING | GOAWAY));
    assert_eq!(said.await.unwrap().0, PING);
    // More than it had room for.
    raw.send(&late.repeat(1000)).await;
    let said = raw.until(|kind, _, _, _| kind == GOAWAY);
    assert_eq!(said.await.unwrap().3[4..], 11_u32.to_be_bytes());
}

// req: GW-01
#[tokio::test]
async fn of_as_many_as_there_may_be_at_once_none_is_blamed_for_what_was_on_its_way() {
    let house = House::open(quick()).await;
    let mut raw = Raw::open(&house, &[]).await;
    let numbers = || (0..EARLY_ANSWERS).map(|number| number * 2 + 1);
    for stream in numbers() {
        raw.send(&frame(HEADERS, END_HEADERS, stream, &post("/")))
            .await;
    }
    for _ in numbers() {
        raw.until(|kind, _, _, _| kind == RST_STREAM).await.unwrap();
    }
    for stream in numbers() {
        raw.send(&frame(DATA, 0, stream, &[0; 100]).repeat(3)).await;
    }
    raw.send(&frame(PING, 0, 0, &[7; 8])).await;
    let said = raw.until(|kind, _, _, _| matches!(kind, PING | GOAWAY | RST_STREAM));
    assert_eq!(said.await.unwrap().0, PING);
}

// req: GW-01
#[tokio::test]
async fn who_waits_to_be_asked_for_its_body_is_asked_when_somebody_reads_it() {
    let house = House::open(quick()).await;
    let mut raw = Raw::open(&house, &[]).await;
    // `expect` is the 35th name of the static table.
    let mut block = post("/echo");
    block.extend_from_slice(b"\x0f\x14\x0c100-continue");
    raw.send(&frame(HEADERS, END_HEADERS, 1, &block)).await;
    let (_, flags, _, payload) = raw.until(|kind, _, _, _| kind == HEADERS).await.unwrap();
    assert_eq!(flags & END_STREAM, 0);
    assert!(payload.ends_with(b"\x08\x03100"), "{payload:?}");
    raw.send(&frame(DATA, END_STREAM, 1, b"here")).await;
    let echoed = raw.until(|kind, _, _, _| kind == DATA).await.unwrap();
    assert_eq!(echoed.3, b"here");
}

// req: GW-01
// attack: B-11
#[tokio::test]
async fn what_nobody_wants_any_more_ends_once() {
    let house = House::open(quick()).await;
    let mut raw = Raw::open(&house, &[]).await;
    raw.send(&frame(HEADERS, END_HEADERS, 1, &post("/"))).await;
    raw.until(|kind, _, _, _| kind == RST_STREAM).await.unwrap();
    let end = frame(DATA, END_STREAM, 1, &[]);
    raw.send(&[end.clone(), frame(PING, 0, 0, &[7; 8])].concat())
        .await;
    let said = raw.until(|kind, _, _, _| matches!(kind, PING | GOAWAY | RST_STREAM));
    assert_eq!(said.await.unwrap().0, PING, "it was on its way");
    raw.send(&end.repeat(200)).await;
    raw.send(&frame(PING, 0, 0, &[7; 8])).await;
    let said = raw.until(|kind, _, _, _| matches!(kind, PING | GOAWAY));
    assert_eq!(said.await.unwrap().3[4..], 11_u32.to_be_bytes());
}

// req: GW-01
#[tokio::test]
async fn an_early_answer_is_there_before_the_word_that_the_rest_is_not_wanted() {
    let house = House::open(quick()).await;
    let mut raw = Raw::open(&house, &[]).await;
    let answered = |kind, flags, _, _: &[u8]| kind == DATA && flags & END_STREAM != 0;
    raw.send(&frame(HEADERS, END_HEADERS, 1, &post("/"))).await;
    raw.until(answered).await.unwrap();
    let began = kernel::clock::now();
    let (_, _, _, code) = raw.until(|kind, _, _, _| kind == RST_STREAM).await.unwrap();
    let took = kernel::clock::now() - began;
    assert_eq!(code, [0; 4]);
    assert!(took >= Duration::from_millis(50), "{took:?}");
    // Who ends by itself in time is told nothing.
    raw.send(&frame(HEADERS, END_HEADERS, 3, &post("/"))).await;
    raw.until(answered).await.unwrap();
    raw.send(&frame(DATA, END_STREAM, 3, b"rest")).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    raw.send(&frame(PING, 0, 0, &[7; 8])).await;
    let said = raw.until(|kind, _, _, _| matches!(kind, PING | RST_STREAM));
    assert_eq!(said.await.unwrap().0, PING);
}
