//! HTTP/2 connections of an endpoint: each driven by a task of its own, shared by many requests.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version, header};
use http1_wire::Ask;
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};
use kernel::lock::Lock;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::dial::dial;
use crate::endpoint::Endpoint;
use crate::error::{Cause, SendError, Stage};
use crate::fault::{Broken, Unanswered};
use crate::outgoing::Outgoing;
use crate::spec::{EndpointSpec, PoolSpec};
use crate::tables;
use heads::Counted;
use room::Room;
use tether::{Held, Tasks, Tied};

mod fields;
pub(crate) mod heads;
mod room;
mod tether;

/// A silent connection with streams on it is asked this often whether it still lives, and has this long to say so.
/// Servers of gRPC take it for an attack, and end all of a connection's calls, when they are asked more often than
/// every five minutes. Whether the peer's system is there at all is found out below.
const PING_EVERY: Duration = Duration::from_secs(330);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Connections that are tried besides the first, for a request that none of them takes.
const OTHERS: u32 = 2;
/// What a peer may send on one stream before it is read.
const STREAM_WINDOW: u32 = 256 * 1024;
/// How many times over a connection's window holds what all of its streams may send unread. Once would do for no
/// stream to stand in another's way; but the codec counts 256 bytes for the smallest piece of a body, cuts the whole
/// connection off when unread pieces come to half of its window, and small messages that a client does not take
/// come to many times the bytes they carry.
const WINDOW_SHARES: u32 = 4;

/// The connections of one endpoint.
pub(crate) struct Streams {
    shared: Lock<Vec<Shared>>,
    max_streams: AtomicUsize,
    /// Held while dialling, so that a burst on a cold endpoint shares one connection.
    dialling: Mutex<()>,
}

struct Shared {
    sender: SendRequest<Tied>,
    /// Streams on it.
    load: Arc<AtomicUsize>,
    room: Arc<Room>,
    /// When it was first seen without any.
    idle_since: Option<Instant>,
}

/// A place on a connection.
pub(crate) struct Stream {
    sender: SendRequest<Tied>,
    load: Arc<AtomicUsize>,
    room: Arc<Room>,
    /// What is left of the request goes no further without it.
    held: Held,
    /// Of the answer, once its head is there.
    pub(crate) body: Option<Incoming>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.load.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    /// Whether one stream more fits: into what we may have on a connection, and into what its peer takes.
    fn has_room(&self, most: usize) -> bool {
        self.load.load(Ordering::Relaxed) < most.min(self.room.most())
    }
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            shared: Lock::new(&tables::IDLE, Vec::new()),
            max_streams: AtomicUsize::new(0),
            dialling: Mutex::new(()),
        }
    }
}

impl Streams {
    /// Takes no more requests on the connections there are; those under way go on.
    pub(crate) fn retire(&self) {
        let retired = std::mem::take(&mut *self.shared.lock());
        drop(retired);
    }

    pub(crate) fn has_room(&self) -> bool {
        let most = self.max_streams.load(Ordering::Relaxed);
        let room = |one: &Shared| one.has_room(most) && one.sender.is_ready();
        self.shared.lock().iter().any(room)
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        let shared = self.shared.lock();
        let busy = |one: &&Shared| one.load.load(Ordering::Relaxed) > 0;
        let busy = shared.iter().filter(busy).count();
        (shared.len() - busy, busy)
    }

    /// Forgets what is closed, or without a stream for too long; dropping the last handle says goodbye.
    pub(crate) fn sweep(&self, now: Instant, idle_time: Duration) {
        self.shared.lock().retain_mut(|one| {
            if one.load.load(Ordering::Relaxed) > 0 {
                one.idle_since = None;
                return !one.sender.is_closed();
            }
            let since = *one.idle_since.get_or_insert(now);
            !one.sender.is_closed() && now.saturating_duration_since(since) < idle_time
        });
    }

    /// The least loaded connection that has room.
    fn take(&self, most: usize) -> Option<Stream> {
        let mut shared = self.shared.lock();
        shared.retain(|one| !one.sender.is_closed());
        let roomy = shared.iter().filter(|one| one.has_room(most));
        let least = roomy.min_by_key(|one| one.load.load(Ordering::Relaxed))?;
        least.load.fetch_add(1, Ordering::Relaxed);
        Some(Stream {
            sender: least.sender.clone(),
            load: least.load.clone(),
            room: least.room.clone(),
            held: Held::default(),
            body: None,
        })
    }

    fn add(&self, (sender, room): (SendRequest<Tied>, Arc<Room>)) {
        self.shared.lock().push(Shared {
            sender,
            load: Arc::default(),
            room,
            idle_since: None,
        });
    }
}

/// A place on a connection that stands, or on a new one; true if it is new.
pub(crate) async fn stream(
    endpoint: &Endpoint,
    settings: &PoolSpec,
    until: Instant,
) -> Result<(Stream, bool), SendError> {
    let streams = &endpoint.streams;
    let most = settings.max_streams.max(1);
    streams.max_streams.store(most, Ordering::Relaxed);
    if let Some(stream) = streams.take(most) {
        return Ok((stream, false));
    }
    let late = |_| SendError::new(Stage::Connect, Cause::Timeout, false, endpoint);
    let turn = tokio::time::timeout_at(until, streams.dialling.lock()).await;
    let _turn = turn.map_err(late)?;
    // Somebody may have dialled while we waited for our turn.
    if let Some(stream) = streams.take(most) {
        return Ok((stream, false));
    }
    streams.add(open(endpoint, settings, until).await?);
    let taken = streams.take(most).map(|stream| (stream, true));
    taken.ok_or_else(|| SendError::new(Stage::Handshake, Cause::Closed, false, endpoint))
}

async fn open(
    endpoint: &Endpoint,
    settings: &PoolSpec,
    until: Instant,
) -> Result<(SendRequest<Tied>, Arc<Room>), SendError> {
    let room = Arc::new(Room::unheard(settings.max_streams));
    let io = dial(endpoint, settings, until).await?;
    let io = Counted::new(io, room.clone(), settings.head_bytes);
    let head_bytes = u32::try_from(settings.head_bytes).unwrap_or(u32::MAX);
    let window = connection_window(settings.max_streams);
    let opened = Builder::new(Tasks(endpoint.common.tasks.clone()))
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(window)
        .max_header_list_size(head_bytes)
        // Ends that the codec has to make itself, as of a 304 that says the length of what it stands for, are counted
        // for as long as the connection lives, which would end for all streams on it.
        .max_local_error_reset_streams(None)
        .handshake(TokioIo::new(io))
        .await;
    let (sender, connection) = opened.map_err(|error| {
        SendError::new(Stage::Handshake, Cause::Closed, false, endpoint).because(error)
    })?;
    endpoint
        .common
        .tasks
        .spawn(room::drive(connection, room.clone()));
    Ok((sender, room))
}

/// What a peer may send on all streams of a connection before it is read.
fn connection_window(streams: usize) -> u32 {
    /// No window is larger.
    const MOST: u32 = (1 << 31) - 1;
    let streams = u32::try_from(streams.max(1)).unwrap_or(u32::MAX);
    let shares = streams.saturating_mul(WINDOW_SHARES);
    shares.saturating_mul(STREAM_WINDOW).min(MOST)
}

/// A request that was not sent: why, and itself if nothing of it was touched.
type Unsent = (Unanswered, Option<Box<Request<Outgoing>>>);

impl Stream {
    /// Since when the rest of the request has been waited for, if that is what is waited for.
    pub(crate) fn lacks_since(&self) -> Option<Instant> {
        self.held.lacks_since()
    }

    /// Whether the body of the request has failed.
    pub(crate) fn request_failed(&self) -> bool {
        self.held.has_failed()
    }

    /// Sends a request and waits for the head of its response. A peer may end a connection whenever it likes, once what
    /// is under way there is done. Who comes too late for that is told so here, and is carried by another.
    /// Not so where nothing at all was taken: the next connection may be like this one.
    pub(crate) async fn exchange(
        &mut self,
        endpoint: &Endpoint,
        mut request: Request<Outgoing>,
        until: Instant,
    ) -> Result<Response<()>, Unanswered> {
        let mut others = OTHERS;
        loop {
            let (error, untouched) = match self.try_exchange(request).await {
                Ok(response) => return Ok(response),
                Err(unsent) => unsent,
            };
            let goes_on = others > 0 && !self.is_barren();
            let Some(untouched) = untouched.filter(|_| goes_on) else {
                return Err(error);
            };
            others -= 1;
            let settings = endpoint.settings.load_full();
            match Box::pin(stream(endpoint, &settings, until)).await {
                Ok((other, _)) => *self = other,
                Err(_) => return Err(error),
            }
            request = *untouched;
        }
    }

    /// The next frame of the answer's body. The codec takes a stream or a connection that ends without an error for the
    /// end of the body; whether it is, only the peer can have said.
    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(&mut *body).poll_frame(cx));
        let fault = |frame: &mut Frame<Bytes>| frame.trailers_mut().and_then(fields::fault);
        Poll::Ready(match frame {
            Some(Ok(mut frame)) => Some(match fault(&mut frame) {
                Some(fault) => Err(Broken::Garbage(fault)),
                None => Ok(frame),
            }),
            None if !body.is_end_stream() => Some(Err(Broken::Cut)),
            frame => frame.map(|frame| frame.map_err(Broken::Stream)),
        })
    }

    /// Whether the peer has said a head on this connection that may well be larger than it may be.
    pub(crate) fn heard_large_head(&self) -> bool {
        self.room.heads.were_large()
    }

    /// Whether the peer has ended this connection and had taken nothing at all on it.
    pub(crate) fn is_barren(&self) -> bool {
        self.room.barren.load(Ordering::Relaxed)
    }

    async fn try_exchange(&mut self, request: Request<Outgoing>) -> Result<Response<()>, Unsent> {
        let request = request.map(|body| self.held.tie(body));
        self.room.heads.expect();
        match self.sender.try_send_request(request).await {
            Ok(mut response) => {
                self.room.heard();
                if let Some(fault) = fields::fault(response.headers_mut()) {
                    return Err((Unanswered::Garbage(fault), None));
                }
                let status = response.status();
                Ok(response.map(|body| self.body = has_body(status).then_some(body)))
            }
            Err(mut unsent) => {
                let untouched = unsent.take_message();
                let untouched = untouched.map(|request| Box::new(request.map(Tied::loose)));
                Err((Unanswered::Stream(unsent.into_error()), untouched))
            }
        }
    }
}

/// Where there is none, its end is not looked for: the codec takes a length that a `304` repeats for one that is owed.
fn has_body(status: StatusCode) -> bool {
    !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// A request in HTTP/2's way: where it goes is said in the target, not in a field.
pub(crate) fn request(ask: &Ask<'_>, endpoint: &EndpointSpec, body: Outgoing) -> Request<Outgoing> {
    let mut request = Request::new(body);
    *request.method_mut() = ask.method.clone();
    *request.headers_mut() = ask.fields();
    *request.version_mut() = Version::HTTP_2;
    let host = request.headers_mut().remove(header::HOST);
    let from_host = host
        .as_ref()
        .and_then(|host: &HeaderValue| host.to_str().ok());
    let authority = match from_host {
        Some(host) => host.to_owned(),
        None => endpoint.authority(),
    };
    let path = ask.uri.path_and_query().cloned();
    let addressed = Uri::builder()
        .scheme(endpoint.scheme.clone())
        .authority(authority)
        .path_and_query(path.unwrap_or_else(|| http::uri::PathAndQuery::from_static("/")))
        .build();
    *request.uri_mut() = addressed.unwrap_or_else(|_| ask.uri.clone());
    request
}
