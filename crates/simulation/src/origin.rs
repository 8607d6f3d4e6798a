//! The origins behind the node: servers by hyper, each in a mood.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::time::Sleep;

use crate::request::text;
use crate::world::World;

/// Between the two halves of an answer that breaks off: the first one has left by then.
const PAUSE: Duration = Duration::from_millis(20);

/// How an origin does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Answers as asked.
    #[default]
    Well,
    /// Takes longer than anybody waits.
    Slow,
    /// Never answers.
    Silent,
    /// Says that it cannot.
    Failing,
    /// Breaks off in the middle of its answers.
    Breaking,
}

/// Serves at `address` for as long as the simulation lasts.
pub(crate) fn begin(world: &Arc<World>, address: SocketAddr) -> io::Result<()> {
    let porch = world.net.listen(address)?;
    let world = world.clone();
    tokio::spawn(async move {
        loop {
            let (end, _) = poll_fn(|cx| porch.poll_next(cx)).await;
            let world = world.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| answer(world.clone(), address, request));
                let connection = http1::Builder::new();
                // How a connection ends is judged at the other end.
                let _ended = connection
                    .serve_connection(TokioIo::new(end), service)
                    .await;
            });
        }
    });
    Ok(())
}

async fn answer(
    world: Arc<World>,
    address: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Reply>, Infallible> {
    let mood = || {
        world
            .state()
            .moods
            .get(&address)
            .copied()
            .unwrap_or_default()
    };
    let asked = Asked::of(&request);
    let once = request.method() == Method::POST;
    let broken = world.broken && asked.id.is_multiple_of(20);
    if once {
        note_once(&world, asked.id);
    }
    if once && broken {
        note_once(&world, asked.id);
    }
    let got = request.into_body().collect().await;
    let got = got.map_or(0, |body| body.to_bytes().len());
    tokio::time::sleep(Duration::from_millis(asked.ms)).await;
    match mood() {
        Mood::Silent => std::future::pending().await,
        Mood::Slow => tokio::time::sleep(Duration::from_secs(8)).await,
        _ => {}
    }
    let mood = mood();
    let bytes = Bytes::from(text(asked.id + u64::from(broken), asked.bytes));
    let mut response = Response::new(Reply {
        left: bytes.len() as u64,
        breaks: (mood == Mood::Breaking).then(|| Box::pin(tokio::time::sleep(PAUSE))),
        bytes: Some(bytes),
    });
    response.headers_mut().insert("x-got", got.into());
    if mood == Mood::Failing {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(response)
}

fn note_once(world: &World, id: u64) {
    let times = {
        let mut state = world.state();
        let times = state.once.entry(id).or_default();
        *times += 1;
        *times
    };
    if times > 1 {
        world.violated(format!(
            "request {id} may be done once and was done {times} times"
        ));
    }
}

/// What the path asks for: `…/ID?ms=N&n=N`.
struct Asked {
    id: u64,
    ms: u64,
    bytes: usize,
}

impl Asked {
    fn of<B>(request: &Request<B>) -> Self {
        let uri = request.uri();
        let id = uri.path().rsplit('/').next();
        let value = |key: &str| {
            let mut pairs = uri.query().unwrap_or_default().split('&');
            pairs.find_map(|pair| pair.strip_prefix(key)?.parse::<u64>().ok())
        };
        Self {
            id: id.and_then(|id| id.parse().ok()).unwrap_or_default(),
            ms: value("ms=").unwrap_or_default(),
            bytes: value("n=").unwrap_or_default() as usize,
        }
    }
}

/// A body of a stated length that may break off half way.
pub(crate) struct Reply {
    bytes: Option<Bytes>,
    left: u64,
    /// Goes off when it breaks.
    breaks: Option<Pin<Box<Sleep>>>,
}

impl Body for Reply {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let half = match self.bytes.take() {
            Some(bytes) if self.breaks.is_some() => bytes.slice(..bytes.len() / 2),
            Some(bytes) => bytes,
            None => {
                let Some(breaks) = &mut self.breaks else {
                    return Poll::Ready(None);
                };
                ready!(breaks.as_mut().poll(cx));
                return Poll::Ready(Some(Err(io::ErrorKind::BrokenPipe.into())));
            }
        };
        self.left -= half.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(half))))
    }

    fn is_end_stream(&self) -> bool {
        self.breaks.is_none() && self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
