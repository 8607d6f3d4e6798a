//! The service behind the doors of these tests.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{Fault, InPlace, Sealed, Service, Upgrade, Upload, UploadError, Visit};

/// What is sent, and where it lies if that is known.
pub(super) struct Body {
    content: BoxBody<Bytes, UploadError>,
    sealed: Option<Sealed>,
    /// Counts how often it was told that its client is slow.
    slow: Option<Arc<AtomicUsize>>,
}

impl From<BoxBody<Bytes, UploadError>> for Body {
    fn from(content: BoxBody<Bytes, UploadError>) -> Self {
        Self {
            content,
            sealed: None,
            slow: None,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = UploadError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, UploadError>>> {
        Pin::new(&mut self.content).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.content.size_hint()
    }
}

/// `/slow` takes 300 ms, `/hang` for ever, `/panic` panics, `/big` is more than socket buffers hold, `/sealed` too,
/// `/well` is sealed and short, `/well-part` most of the same, `/echo` sends the body back, `/elsewhere` counts it in
/// another task, `/ignore` never looks at it, `/late` lets go of it at the end, `/upgrade` echoes raw bytes, `/stream`
/// and `/held` come in two pieces, `/torn` in one of two, `/endless`
/// in any number, a number is a status, the rest says hello.
#[derive(Default)]
pub(super) struct Host {
    pub(super) calls: AtomicUsize,
    /// Calls that are going on.
    pub(super) live: Arc<AtomicUsize>,
    pub(super) refusals: AtomicUsize,
    /// How often a client of `/endless` was slow.
    pub(super) slow: Arc<AtomicUsize>,
    /// How many pieces of `/stream` are there.
    pub(super) pieces: Arc<AtomicUsize>,
}

struct Live(Arc<AtomicUsize>);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn whole(text: impl Into<Bytes>) -> Response<Body> {
    let body = Full::new(text.into()).map_err(|never| match never {});
    Response::new(body.boxed().into())
}

impl Service for Host {
    type Body = Body;

    async fn call(&self, request: InPlace<'_>, visit: &Visit) -> Response<Body> {
        if request.get().uri().path() == "/untaken" {
            return whole("untaken");
        }
        let request = request.take();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.live.fetch_add(1, Ordering::Relaxed);
        let _live = Live(self.live.clone());
        match request.uri().path() {
            "/slow" => tokio::time::sleep(Duration::from_millis(300)).await,
            "/hang" => std::future::pending().await,
            "/panic" => panic!("bad service"),
            "/big" => return whole(vec![b'x'; 64 << 20]),
            "/sealed" => return sealed(&sealed_text(), 3),
            "/well" => return sealed(&well_text(), 0),
            "/well-part" => return sealed(&well_text(), 3),
            "/echo" => return echo(request).await,
            "/upgrade" => return upgrade(request),
            "/trailers" => return trailers("hello".into()),
            "/large-trailers" => return trailers(vec![b'x'; 100_000].into()),
            "/stream" => return streamed(self.pieces.clone(), false),
            "/held" => return streamed(self.pieces.clone(), true),
            "/torn" => return torn(),
            "/endless" => return endless(self.slow.clone()),
            "/elsewhere" => return elsewhere(request).await,
            "/late" => return late(request),
            "/short" => return promised(b"ab"),
            "/long" => return promised(b"abcdef"),
            "/101" | "/103" | "/204" | "/304" => {
                let mut answer = whole("unseen");
                let code = request.uri().path()[1..].parse::<http::StatusCode>();
                *answer.status_mut() = code.unwrap();
                return answer;
            }
            "/who" => return whole(format!("{visit:?}")),
            _ => {}
        }
        whole("hello")
    }

    fn kept_waiting(body: Pin<&mut Body>) {
        if let Some(slow) = &body.slow {
            slow.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn sealed(body: &Body) -> Option<&Sealed> {
        body.sealed.as_ref()
    }

    fn refuse(&self, fault: Fault, _visit: &Visit) -> Response<Bytes> {
        self.refusals.fetch_add(1, Ordering::Relaxed);
        let (status, reason) = match fault {
            Fault::Malformed => (400, "malformed"),
            Fault::HeadTooLarge => (431, "head-too-large"),
            Fault::TargetTooLong => (414, "target-too-long"),
            Fault::Panic => (500, "internal"),
        };
        let answer = Response::builder()
            .status(status)
            .header("x-reason", reason);
        answer.body(Bytes::from_static(b"refused")).unwrap()
    }
}

/// More than socket buffers hold, no two parts of it the same.
pub(super) fn sealed_text() -> Vec<u8> {
    (0..2_u32 << 20).flat_map(u32::to_be_bytes).collect()
}

/// As much as fits into a pipe.
pub(super) fn well_text() -> Vec<u8> {
    (0..12_000_u32).flat_map(u32::to_be_bytes).collect()
}

/// All but so many bytes at both ends of what is sealed.
fn sealed(text: &[u8], less: usize) -> Response<Body> {
    let sealed = Sealed::new(text).unwrap();
    let mut answer = whole(sealed.bytes().slice(less..text.len() - less));
    answer.body_mut().sealed = Some(sealed);
    answer
}

async fn echo(request: Request<Upload>) -> Response<Body> {
    match request.into_body().collect().await {
        Ok(body) => whole(body.to_bytes()),
        Err(error) => {
            let mut answer = whole(error.to_string());
            *answer.status_mut() = match error {
                UploadError::TooSlow => http::StatusCode::REQUEST_TIMEOUT,
                _ => http::StatusCode::BAD_REQUEST,
            };
            answer
        }
    }
}

fn upgrade(mut request: Request<Upload>) -> Response<Body> {
    let upgrade = request.extensions_mut().remove::<Upgrade>().unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test's own task")]
    tokio::spawn(async move {
        let mut io = upgrade.await.unwrap();
        let mut bytes = [0; 64];
        while let Ok(read @ 1..) = io.read(&mut bytes).await {
            io.write_all(&bytes[..read]).await.unwrap();
        }
    });
    let mut answer = whole("");
    *answer.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
    answer
        .headers_mut()
        .insert("upgrade", "echo".parse().unwrap());
    answer
        .headers_mut()
        .insert("connection", "upgrade".parse().unwrap());
    answer
}

fn trailers(data: Bytes) -> Response<Body> {
    let mut fields = http::HeaderMap::new();
    fields.insert("grpc-status", "0".parse().unwrap());
    let frames = [
        Ok(http_body::Frame::data(data)),
        Ok(http_body::Frame::trailers(fields)),
    ];
    let mut answer = Response::new(
        StreamBody::new(futures_util::stream::iter(frames))
            .boxed()
            .into(),
    );
    answer
        .headers_mut()
        .insert("trailer", "grpc-status".parse().unwrap());
    answer
}

/// Two pieces, the second when there are said to be two.
fn streamed(pieces: Arc<AtomicUsize>, held: bool) -> Response<Body> {
    let frames = futures_util::stream::unfold(0, move |sent| {
        let pieces = pieces.clone();
        async move {
            match sent {
                0 => pieces.store(if held { 1 } else { 2 }, Ordering::Release),
                1 => {
                    while pieces.load(Ordering::Acquire) < 2 {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    tokio::task::yield_now().await;
                }
                _ => return None,
            }
            let data = Bytes::from_static([&b"one"[..], b"two"][sent]);
            Some((Ok(http_body::Frame::data(data)), sent + 1))
        }
    });
    Response::new(StreamBody::new(frames).boxed().into())
}

/// An answer of as many pieces as are taken.
fn endless(slow: Arc<AtomicUsize>) -> Response<Body> {
    let pieces = futures_util::stream::repeat_with(|| {
        Ok(http_body::Frame::data(Bytes::from_static(
            &[b'x'; 64 << 10],
        )))
    });
    let mut body = Body::from(StreamBody::new(pieces).boxed());
    body.slow = Some(slow);
    Response::new(body)
}

/// An answer whose end never comes.
fn torn() -> Response<Body> {
    let piece = Ok(http_body::Frame::data(Bytes::from_static(b"one")));
    let frames = [piece, Err(UploadError::gone("torn off"))];
    let frames = StreamBody::new(futures_util::stream::iter(frames));
    Response::new(frames.boxed().into())
}

/// An answer of three bytes, as its head says.
fn promised(data: &'static [u8]) -> Response<Body> {
    let frames = [Ok(http_body::Frame::data(Bytes::from_static(data)))];
    let mut answer = Response::new(
        StreamBody::new(futures_util::stream::iter(frames))
            .boxed()
            .into(),
    );
    let length = http::HeaderValue::from_static("3");
    answer.headers_mut().insert("content-length", length);
    answer
}

/// Says hello, and lets go of the request's body when that has been said.
fn late(request: Request<Upload>) -> Response<Body> {
    let upload = std::sync::Mutex::new(request.into_body());
    let frames = ["hel", "lo"].into_iter().map(move |text| {
        let _held = &upload;
        Ok(http_body::Frame::data(Bytes::from_static(text.as_bytes())))
    });
    Response::new(
        StreamBody::new(futures_util::stream::iter(frames))
            .boxed()
            .into(),
    )
}

/// Counts a body in a task of its own.
async fn elsewhere(request: Request<Upload>) -> Response<Body> {
    #[expect(clippy::disallowed_methods, reason = "a test's own task")]
    let read = tokio::spawn(request.into_body().collect());
    let body = read.await.unwrap().unwrap().to_bytes();
    whole(body.len().to_string())
}
