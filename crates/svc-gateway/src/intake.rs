//! A request's body on its way in: counted, decoded where the route asks for it, and kept where a retry may need it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use front_door::{Upload, UploadError};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use http_rules::decode::{Coding, Decoder, Limits};
use http_rules::forward::strip_trailers;
use tokio::time::Instant;

use crate::backend::Backend;
use crate::forward::may_repeat;
use crate::kept::Kept;
use crate::plan::Route;
use crate::reject::Refusal;
use crate::request::Draft;
pub(crate) use verdict::{Spoiled, Verdict};
use wait::{Alarm, Wait};

mod verdict;
mod wait;

/// Bodies up to this are sent on when all of them is here, and may be kept to be sent again.
pub(crate) const KEPT_BYTES: u64 = 64 * 1024;

/// How the type of a call's messages begins. They come when there is something to say, both ways.
pub(crate) const GRPC: &[u8] = b"application/grpc";

/// Fields about the bytes of a body as its sender has coded it.
const DIGESTS: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];

/// No body decodes to more than this.
const DECODED_BYTES: u64 = 8 * 1024 * 1024;

/// What is sent to an upstream.
pub(crate) enum Payload {
    Empty,
    /// All of it is here; it may be sent again.
    Whole(Bytes),
    /// It is still coming, and can be sent once.
    Stream(Box<Intake>),
    /// It is still coming, and can be sent again while it is small.
    Kept(Kept),
}

/// A body as it is sent on, and who can say afterwards what was wrong with it.
pub(crate) struct Taken {
    pub(crate) payload: Payload,
    pub(crate) verdict: Option<Arc<Verdict>>,
}

impl Taken {
    pub(crate) fn nothing() -> Self {
        Self {
            payload: Payload::Empty,
            verdict: None,
        }
    }
}

/// A body on its way in.
pub(crate) struct Intake {
    upload: Upload,
    /// Bytes that may still come, as they come.
    left: u64,
    decoder: Option<Decoder>,
    /// What came and is not decoded yet.
    coded: Bytes,
    ended: bool,
    verdict: Arc<Verdict>,
    /// When the answer has to begin. A body that has not all come shortly before is why it does not: its sender is
    /// told so, and nobody blames the upstream for the time.
    by: Instant,
    /// Made when it is first waited for: most bodies come with their head.
    wait: Option<Box<Wait>>,
    /// Knows which names are ours to say.
    route: Option<Arc<Route>>,
}

/// The body: nothing, all of it where that is little, or as it comes.
pub(crate) async fn take_in(
    draft: &mut Draft,
    backend: &Backend,
    route: &Arc<Route>,
    by: Instant,
) -> Result<Taken, Refusal> {
    let upload = draft.upload.take();
    let headers = &mut draft.parts.headers;
    let coding = if route.decode { uncode(headers)? } else { None };
    let Some(upload) = upload.filter(|upload| !upload.is_end_stream()) else {
        return Ok(Taken::nothing());
    };
    let mut intake = Intake::new(upload, draft.most_bytes, by);
    intake.route = Some(route.clone());
    let at_its_pace = is_call(headers);
    if at_its_pace {
        intake.upload.unhurried();
    }
    if let Some(coding) = coding {
        let limits = Limits::capped(DECODED_BYTES.min(draft.most_decoded));
        intake.decoder = Some(Decoder::new(coding, limits));
        headers.remove(CONTENT_LENGTH);
    }
    match draft.length {
        // A length of nothing has still to be kept: in HTTP/2 something may come behind it.
        Some(length)
            if length == 0 || length <= KEPT_BYTES && !at_its_pace && !intake.decodes() =>
        {
            let whole = intake.whole(length).await?;
            Ok(Taken {
                payload: Payload::Whole(whole),
                verdict: None,
            })
        }
        length => Ok(Taken {
            verdict: Some(intake.verdict()),
            payload: match backend.shares || may_go_again(draft, length, route) {
                true => Payload::Kept(Kept::new(Box::new(intake))),
                false => Payload::Stream(Box::new(intake)),
            },
        }),
    }
}

/// Whether a body that is still coming may be small, of a request that may be sent twice.
fn may_go_again(draft: &Draft, length: Option<u64>, route: &Route) -> bool {
    let parts = &draft.parts;
    length.is_none_or(|length| length <= KEPT_BYTES)
        && may_repeat(&parts.method, &parts.headers, route)
}

/// Whether it takes as long as there is nothing to say: that is the custom of calls.
fn is_call(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(GRPC))
}

/// How a body is coded that is sent on decoded. Its head says so no more then, nor what holds for the coded bytes only.
fn uncode(headers: &mut HeaderMap) -> Result<Option<Coding>, Refusal> {
    let coding = Coding::of(headers).map_err(Refusal::Coding)?;
    if coding.is_some() {
        headers.remove(CONTENT_ENCODING);
        for digest in DIGESTS {
            headers.remove(digest);
        }
    }
    Ok(coding)
}

/// How long the body says it is, before anything of it is read; nothing where it does not say.
pub(crate) fn announced(upload: &Upload, most: u64) -> Result<Option<u64>, Refusal> {
    match upload.size_hint().exact() {
        Some(length) if length > most => Err(Refusal::BodyTooLarge),
        length => Ok(length),
    }
}

impl Intake {
    pub(crate) fn new(upload: Upload, most: u64, by: Instant) -> Self {
        Self {
            upload,
            left: most,
            decoder: None,
            coded: Bytes::new(),
            ended: false,
            verdict: Arc::default(),
            by,
            wait: None,
            route: None,
        }
    }

    pub(crate) fn decodes(&self) -> bool {
        self.decoder.is_some()
    }

    /// What was wrong with it, to be asked when it was sent on.
    pub(crate) fn verdict(&self) -> Arc<Verdict> {
        self.verdict.clone()
    }

    /// Reads all of it.
    pub(crate) async fn whole(mut self, announced: u64) -> Result<Bytes, Refusal> {
        let mut whole = BytesMut::new();
        while let Some(frame) = self.frame().await {
            let frame = frame.map_err(|spoiled| spoiled.0)?;
            if let Ok(data) = frame.into_data() {
                let all = data.len() as u64 >= announced && self.upload.is_end_stream();
                if whole.is_empty() {
                    if all {
                        return Ok(data);
                    }
                    // Asked for once: growing would copy what has come again.
                    whole.reserve(usize::try_from(announced).unwrap_or_default());
                }
                whole.extend_from_slice(&data);
            }
        }
        Ok(whole.freeze())
    }

    /// Counts what came; it is decoded piece by piece, as it is asked for.
    fn take(&mut self, data: Bytes) -> Result<Bytes, Spoiled> {
        match self.left.checked_sub(data.len() as u64) {
            Some(left) => self.left = left,
            None => return Err(self.verdict.say(Refusal::BodyTooLarge)),
        }
        if self.decoder.is_none() {
            return Ok(data);
        }
        self.coded = data;
        self.piece()
    }

    /// The next decoded piece; empty when more has to come first.
    fn piece(&mut self) -> Result<Bytes, Spoiled> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(Bytes::new());
        };
        let piece = decoder.push(&mut self.coded);
        let piece = piece.map_err(|bad| self.verdict.say(Refusal::Coding(bad)))?;
        Ok(piece.unwrap_or_default())
    }

    /// Its client is waited for: whether for too long.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        if self.verdict.is_answered() {
            return false;
        }
        let wait = self.wait.get_or_insert_with(|| Wait::new(self.by));
        loop {
            match wait.poll(cx, self.by) {
                Poll::Pending => return false,
                Poll::Ready(Alarm::Late) => return true,
                Poll::Ready(Alarm::Slow) => self.verdict.slows_down(),
            }
        }
    }

    /// So many bytes have come, perhaps after a wait.
    fn came(&mut self, bytes: usize) {
        let Some(wait) = &mut self.wait else { return };
        let (waited, recovered) = wait.came(bytes);
        self.verdict.add_wait(waited);
        if recovered {
            self.verdict.is_slow_no_more();
        }
    }

    fn end(&mut self) -> Result<(), Spoiled> {
        match self.decoder.as_ref().map_or(Ok(()), Decoder::finish) {
            Ok(()) => Ok(()),
            Err(bad) => Err(self.verdict.say(Refusal::Coding(bad))),
        }
    }

    /// What follows a body says nothing that was asked of its head, or said by us.
    fn trailers(&self, frame: Frame<Bytes>) -> Frame<Bytes> {
        match frame.into_trailers() {
            Ok(mut trailers) => {
                strip_trailers(&mut trailers);
                if let Some(route) = &self.route {
                    route.request_names.strip(&mut trailers);
                }
                Frame::trailers(trailers)
            }
            Err(frame) => frame,
        }
    }

    /// What comes next; nothing at the end.
    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Frame<Bytes>>, Spoiled>> {
        let polled = Pin::new(&mut self.upload).poll_frame(cx);
        if polled.is_pending() && self.is_late(cx) {
            return Poll::Ready(Err(self.verdict.say(Refusal::BodySlow)));
        }
        let next = ready!(polled).transpose();
        let next = next.map_err(|error| self.verdict.say(cause(&error)))?;
        let data = next.as_ref().and_then(Frame::data_ref);
        self.came(data.map_or(0, Bytes::len));
        Poll::Ready(Ok(next))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Spoiled>>> {
        loop {
            let piece = self.piece()?;
            if !piece.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            let Some(frame) = ready!(self.next(cx))? else {
                self.ended = true;
                return Poll::Ready(self.end().err().map(Err));
            };
            match frame.into_data() {
                Ok(data) => {
                    let data = self.take(data)?;
                    if !data.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(data))));
                    }
                }
                Err(other) => {
                    // Nobody asks for more behind them: what is decoded has to be whole here.
                    self.end()?;
                    return Poll::Ready(Some(Ok(self.trailers(other))));
                }
            }
        }
    }
}

impl Body for Intake {
    type Data = Bytes;
    type Error = Spoiled;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Spoiled>>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        let polled = this.poll(cx);
        this.ended |= matches!(polled, Poll::Ready(Some(Err(_))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.ended || (self.decoder.is_none() && self.upload.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match self.decoder {
            None => self.upload.size_hint(),
            Some(_) => SizeHint::default(),
        }
    }
}

fn cause(error: &UploadError) -> Refusal {
    match error {
        UploadError::TooSlow => Refusal::BodySlow,
        UploadError::Malformed(_) => Refusal::BodyBroken,
        UploadError::Gone(_) => Refusal::ClientGone,
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Spoiled;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Spoiled>>> {
        let this = self.get_mut();
        match this {
            Payload::Empty => Poll::Ready(None),
            Payload::Whole(whole) => {
                let data = std::mem::take(whole);
                *this = Payload::Empty;
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Payload::Stream(intake) => Pin::new(&mut **intake).poll_frame(cx),
            Payload::Kept(kept) => Pin::new(kept).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Payload::Empty => true,
            Payload::Whole(whole) => whole.is_empty(),
            Payload::Stream(intake) => intake.is_end_stream(),
            Payload::Kept(kept) => kept.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Payload::Empty => SizeHint::with_exact(0),
            Payload::Whole(whole) => SizeHint::with_exact(whole.len() as u64),
            Payload::Stream(intake) => intake.size_hint(),
            Payload::Kept(kept) => kept.size_hint(),
        }
    }
}
