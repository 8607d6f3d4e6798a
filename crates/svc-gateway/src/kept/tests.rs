use std::collections::VecDeque;
use std::time::Duration;

use front_door::{Upload, UploadError};
use http_body_util::BodyExt;

use super::*;

/// Comes in these pieces.
struct Pieces(VecDeque<Result<Frame<Bytes>, UploadError>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadError>>> {
        Poll::Ready(self.0.pop_front())
    }
}

/// A body of pieces of these lengths, and trailers where they are asked for.
fn kept(pieces: &[usize], trailers: bool) -> Kept {
    let data = |(index, length): (usize, &usize)| {
        let letter = b'a' + index as u8;
        Ok(Frame::data(Bytes::from(vec![letter; *length])))
    };
    let mut frames: VecDeque<_> = pieces.iter().enumerate().map(data).collect();
    if trailers {
        let mut fields = HeaderMap::new();
        fields.insert("x-sum", http::HeaderValue::from_static("7"));
        frames.push_back(Ok(Frame::trailers(fields)));
    }
    made_of(frames)
}

fn made_of(frames: VecDeque<Result<Frame<Bytes>, UploadError>>) -> Kept {
    let by = kernel::clock::now() + Duration::from_secs(60);
    let upload = Upload::fed(Pieces(frames));
    Kept::new(Box::new(Intake::new(upload, 1 << 20, by)))
}

async fn read(kept: Kept) -> (Bytes, Option<HeaderMap>) {
    let collected = kept.collect().await.unwrap();
    let trailers = collected.trailers().cloned();
    (collected.to_bytes(), trailers)
}

// req: GW-10
#[tokio::test]
async fn what_has_gone_goes_again_and_what_has_not_comes_behind_it() {
    for taken in 0..=3 {
        let kept = kept(&[3, 2, 4], true);
        let mut first = kept.again();
        for _ in 0..taken {
            first.frame().await.unwrap().unwrap();
        }
        assert!(kept.is_whole());
        let second = kept.again();
        let (bytes, trailers) = read(second).await;
        assert_eq!(bytes, "aaabbcccc", "after {taken}");
        assert_eq!(trailers.unwrap()["x-sum"], "7");
        let third = kept.again();
        assert!(!third.is_end_stream());
        assert_eq!(read(third).await.0, "aaabbcccc", "and once more");
    }
}

// req: GW-10
#[tokio::test]
async fn who_read_before_gets_no_end_that_could_be_taken_for_the_bodys() {
    let kept = kept(&[3, 2], false);
    let mut first = kept.again();
    first.frame().await.unwrap().unwrap();
    let second = kept.again();
    assert!(!first.is_end_stream());
    assert!(first.frame().await.unwrap().is_err());
    assert!(first.frame().await.is_none());
    assert_eq!(read(second).await.0, "aaabb");
}

// req: GW-10, GW-15
#[tokio::test]
async fn a_body_that_broke_off_does_not_go_again_as_if_it_were_whole() {
    let data = Frame::data(Bytes::from_static(b"aaa"));
    let kept = made_of([Ok(data), Err(UploadError::TooSlow)].into());
    let mut first = kept.again();
    first.frame().await.unwrap().unwrap();
    assert!(kept.is_whole());
    assert!(first.frame().await.unwrap().is_err());
    assert!(!kept.is_whole());
}

// req: GW-10
#[tokio::test]
async fn a_large_body_is_not_kept_and_goes_once() {
    let most = KEPT_BYTES as usize;
    for (pieces, whole) in [(vec![most], true), (vec![most - 1, 2], false)] {
        let kept = kept(&pieces, false);
        let (bytes, _) = read(kept.again()).await;
        assert_eq!(bytes.len(), pieces.iter().sum::<usize>());
        assert_eq!(kept.is_whole(), whole);
        let held = kept.inside.lock().gone.capacity();
        assert_eq!(held == 0, !whole, "{held} bytes are held");
    }
}

// req: GW-10
#[tokio::test]
async fn nothing_is_kept_once_an_answer_has_begun() {
    let kept = kept(&[3, 2], false);
    let mut reading = kept.again();
    reading.frame().await.unwrap().unwrap();
    kept.forget();
    let frame = reading.frame().await.unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "bb");
    let inside = kept.inside.lock();
    assert_eq!((inside.once, inside.gone.capacity()), (true, 0));
}
