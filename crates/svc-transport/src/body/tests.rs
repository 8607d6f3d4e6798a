use std::time::Duration;

use futures_util::task::AtomicWaker;

use super::*;

const PATIENCE: Duration = Duration::from_secs(5);

fn inflow() -> Arc<Inflow> {
    Inflow::new(&Arc::new(AtomicWaker::new()))
}

fn body(inflow: &Arc<Inflow>) -> Body {
    Body::new(&Content::Stream(inflow.clone()), None, PATIENCE)
}

// req: TR-06
#[tokio::test]
async fn what_is_taken_is_granted_and_nothing_else() {
    let inflow = inflow();
    let mut body = body(&inflow);
    inflow.put("first".into(), false);
    inflow.put("second".into(), true);
    assert_eq!(inflow.settle(), 0);
    assert_eq!(body.next().await, Some(Ok("first".into())));
    assert_eq!((inflow.settle(), inflow.settle()), (5, 0));
    assert_eq!(body.next().await, Some(Ok("second".into())));
    assert_eq!(body.next().await, None);
    assert!(body.is_over());
    assert_eq!(inflow.settle(), 6);
}

// req: TR-06
#[tokio::test]
async fn what_nobody_reads_on_is_granted_as_it_comes() {
    let inflow = inflow();
    let body = body(&inflow);
    inflow.put("unread".into(), false);
    drop(body);
    assert_eq!(inflow.settle(), 6);
    inflow.put("more".into(), false);
    assert_eq!(inflow.settle(), 4);
}

#[tokio::test]
async fn who_reads_hears_all_that_came_before_it_broke_off() {
    let inflow = inflow();
    let mut body = body(&inflow);
    inflow.put("some".into(), false);
    inflow.fail(Refusal::BodyGone);
    assert_eq!(body.next().await, Some(Ok("some".into())));
    assert_eq!(body.next().await, Some(Err(Refusal::BodyGone)));
    assert_eq!(body.next().await, None);
}

#[tokio::test]
async fn an_end_is_not_undone_by_a_connection_that_is_lost_later() {
    let inflow = inflow();
    let mut body = body(&inflow);
    inflow.put("all".into(), true);
    inflow.fail(Refusal::BodyGone);
    assert_eq!(body.next().await, Some(Ok("all".into())));
    assert_eq!(body.next().await, None);
}

// req: TR-06
#[tokio::test(start_paused = true)]
async fn a_sender_has_its_time_for_each_piece_anew() {
    let inflow = inflow();
    let mut body = body(&inflow);
    for _ in 0..3 {
        let (next, ()) = tokio::join!(body.next(), async {
            tokio::time::sleep(PATIENCE - Duration::from_millis(1)).await;
            inflow.put("drop".into(), false);
        });
        assert_eq!(next, Some(Ok("drop".into())));
    }
    assert_eq!(body.next().await, Some(Err(Refusal::BodySlow)));
}

// req: TR-04
#[tokio::test]
async fn a_compressed_body_comes_in_pieces_and_has_to_end_where_its_compression_does() {
    let plain = vec![7; 60_000];
    let packed = Codec::Zstd.compress(&plain).unwrap();
    let content = |packed: Bytes| Content::Whole(packed);
    let mut body = Body::new(&content(packed.clone()), Some(Codec::Zstd), PATIENCE);
    let mut read = 0;
    while let Some(piece) = body.next().await {
        read += piece.unwrap().len();
    }
    assert_eq!(read, plain.len());
    let cut = packed.slice(..packed.len() - 3);
    let mut body = Body::new(&content(cut), Some(Codec::Zstd), PATIENCE);
    let broken = loop {
        match body.next().await {
            Some(Ok(_)) => {}
            other => break other,
        }
    };
    let violation = oap::Violation::PayloadBroken;
    assert_eq!(broken, Some(Err(Refusal::Broken(violation))));
}
