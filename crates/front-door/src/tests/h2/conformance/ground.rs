//! A door with a service behind it that tells what it heard.

use std::pin::Pin;

use futures_util::stream;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::*;
use crate::{Fault, InPlace, Service, Upload, UploadError, Visit};

type Body = Pin<Box<dyn http_body::Body<Data = Bytes, Error = UploadError> + Send>>;

pub(super) struct Ground {
    pub(super) kernel: Kernel,
    pub(super) address: SocketAddr,
    pub(super) mirror: Arc<Mirror>,
    pub(super) running: tokio::task::JoinHandle<Outcome>,
}

/// Patient enough that nothing here ends because its time is over.
pub(super) fn lenient() -> DoorSettings {
    let long = Duration::from_secs(30);
    DoorSettings {
        max_connections: 64,
        header_list_bytes: 32 << 10,
        timeouts: Timeouts {
            handshake: long,
            head: long,
            body: long,
            write: long,
            idle: long,
        },
        ..DoorSettings::default()
    }
}

impl Ground {
    pub(super) async fn open(settings: DoorSettings) -> Self {
        let (mirror, settings) = (Arc::new(Mirror::default()), Arc::new(settings));
        let opened = open_door(move || settings.clone(), mirror.clone()).await;
        Self {
            kernel: opened.kernel,
            address: opened.address,
            mirror,
            running: opened.running,
        }
    }
}

/// `/tell` says what it was asked, to the end; `/hold` does too, once it is let go; `/echo` sends the body back,
/// `/bytes/N` sends so many and never looks at the body, `/pieces/N` in thousands, `/hang` answers never, `/trailers`
/// has some, `/empty` has nothing, `/hop` says what is said of connections only, a number is a status with a body, the
/// rest says hello.
#[derive(Default)]
pub(super) struct Mirror {
    /// What `/hold` waits for, once for each.
    pub(super) gate: Gate,
    /// Calls that are going on.
    pub(super) live: Arc<std::sync::atomic::AtomicUsize>,
}

pub(super) struct Gate(pub(super) tokio::sync::Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(tokio::sync::Semaphore::new(0))
    }
}

struct Live(Arc<std::sync::atomic::AtomicUsize>);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// No two pages of it begin the same.
pub(super) fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| (at % 251) as u8 ^ (at / 4096) as u8)
        .collect()
}

fn whole(bytes: impl Into<Bytes>) -> Response<Body> {
    let full = http_body_util::Full::new(bytes.into()).map_err(|never| match never {});
    Response::new(Box::pin(full))
}

fn framed(
    frames: impl IntoIterator<Item = Frame<Bytes>, IntoIter: Send + 'static>,
) -> Response<Body> {
    let frames = stream::iter(frames.into_iter().map(Ok));
    Response::new(Box::pin(StreamBody::new(frames)))
}

impl Service for Mirror {
    type Body = Body;

    async fn call(&self, request: InPlace<'_>, _visit: &Visit) -> Response<Body> {
        let request = request.take();
        self.live.fetch_add(1, Ordering::Relaxed);
        let _live = Live(self.live.clone());
        let path = request.uri().path().to_owned();
        let number = |text: &str| text.parse::<usize>().unwrap();
        match path.split('/').nth(1).unwrap_or_default() {
            "tell" => tell(request).await,
            "hold" => {
                self.gate.0.acquire().await.unwrap().forget();
                tell(request).await
            }
            "echo" => match request.into_body().collect().await {
                Ok(body) => whole(body.to_bytes()),
                Err(error) => broken(&error),
            },
            "bytes" => whole(pattern(number(&path[7..]))),
            "pieces" => {
                let mut all = Bytes::from(pattern(number(&path[8..])));
                framed(std::iter::from_fn(move || {
                    let piece = all.split_to(all.len().min(1000));
                    (!piece.is_empty()).then(|| Frame::data(piece))
                }))
            }
            "hang" => std::future::pending().await,
            "trailers" => {
                let mut fields = HeaderMap::new();
                fields.insert("grpc-status", HeaderValue::from_static("0"));
                framed([Frame::data("hello".into()), Frame::trailers(fields)])
            }
            "only-trailers" => {
                let mut fields = HeaderMap::new();
                fields.insert("grpc-status", HeaderValue::from_static("0"));
                framed([Frame::trailers(fields)])
            }
            "empty" => whole(""),
            "hop" => {
                let mut answer = whole("hello");
                for (name, value) in [
                    ("connection", "keep-alive"),
                    ("keep-alive", "timeout=5"),
                    ("proxy-connection", "keep-alive"),
                    ("upgrade", "h3"),
                    ("transfer-encoding", "chunked"),
                ] {
                    answer
                        .headers_mut()
                        .insert(name, HeaderValue::from_static(value));
                }
                answer
            }
            "204" | "304" => {
                let mut answer = whole("unseen");
                *answer.status_mut() = StatusCode::try_from(number(&path[1..]) as u16).unwrap();
                answer
            }
            _ => whole("hello"),
        }
    }

    fn refuse(&self, fault: Fault, _visit: &Visit) -> Response<Bytes> {
        let status = match fault {
            Fault::Malformed => 400,
            Fault::HeadTooLarge => 431,
            Fault::TargetTooLong => 414,
            Fault::Panic => 500,
        };
        let answer = Response::builder().status(status);
        answer.body(Bytes::from_static(b"refused")).unwrap()
    }
}

fn broken(error: &UploadError) -> Response<Body> {
    let mut answer = whole(error.to_string());
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    answer
}

/// Everything a request said, a line for each part.
async fn tell(request: Request<Upload>) -> Response<Body> {
    let (head, mut body) = request.into_parts();
    let lines = |kind: &str, fields: &HeaderMap| -> String {
        let line = |(name, value): (&http::HeaderName, &HeaderValue)| {
            format!(
                "{kind} {name}: {}\n",
                String::from_utf8_lossy(value.as_bytes())
            )
        };
        fields.iter().map(line).collect()
    };
    let host = head.headers.get("host").map(|host| host.to_str().unwrap());
    let authority = head
        .uri
        .authority()
        .map(http::uri::Authority::as_str)
        .or(host);
    let mut told = format!(
        "method {}\nauthority {}\npath {}\n",
        head.method,
        authority.unwrap_or_default(),
        head.uri
            .path_and_query()
            .map_or("", http::uri::PathAndQuery::as_str)
    );
    told += &lines("field", &head.headers);
    let (mut read, mut trailers) = (Vec::new(), String::new());
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => read.extend_from_slice(&data),
            Ok(Err(frame)) => trailers += &lines("trailer", frame.trailers_ref().unwrap()),
            Err(error) => return broken(&error),
        }
    }
    told += &format!("body {}\n", read.len());
    if read.len() < 100 {
        told += &format!("text {}\n", String::from_utf8_lossy(&read));
    }
    whole(told + &trailers)
}
