//! A tenant's client: connections kept open over HTTP/1, one each over HTTP/2 and in frames.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use oap::bridge::{REQUEST, RequestHead, take_fields};
use oap::client::{Ask, Client as Frames, Dial, Dialing, Failure, Settings};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::config::{EDGE, FRAMES, HTTP};
use crate::request::{Fate, Request, Way, text};
use crate::world::{World, locked};

/// Nobody would wait longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Well below what the node allows: whoever asks on a connection that is still open may rely on it.
const KEPT: Duration = Duration::from_secs(20);
const AUTHORITY: &str = "node.sim";

pub(crate) struct Client {
    world: Arc<World>,
    ip: Ipv4Addr,
    http: Mutex<Vec<Kept>>,
    edge: Mutex<Vec<Kept>>,
    streams: tokio::sync::Mutex<Option<Streams>>,
    frames: Frames,
}

/// An HTTP/1 connection between two requests.
struct Kept {
    since: Instant,
    sender: http1::SendRequest<Full<Bytes>>,
    task: Driven,
}

struct Streams {
    sender: http2::SendRequest<Full<Bytes>>,
    _task: Driven,
}

/// What moves a connection; gone with it.
struct Driven(JoinHandle<()>);

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Dialer {
    world: Arc<World>,
    ip: Ipv4Addr,
}

impl Dial for Dialer {
    fn dial(&self) -> Dialing<'_> {
        Box::pin(async {
            let end = self.world.net.dial(self.ip, FRAMES).await?;
            Ok(Box::new(end) as Box<dyn oap::client::Stream>)
        })
    }
}

impl Client {
    pub(crate) fn new(world: &Arc<World>, ip: Ipv4Addr) -> Self {
        let dialer = Dialer {
            world: world.clone(),
            ip,
        };
        let settings = Settings {
            timeout: PATIENCE / 2,
            ..Settings::default()
        };
        Self {
            world: world.clone(),
            ip,
            http: Mutex::default(),
            edge: Mutex::default(),
            streams: tokio::sync::Mutex::default(),
            frames: Frames::new(dialer, settings),
        }
    }

    /// Asks, and waits for the end, however it comes.
    pub(crate) async fn ask(&self, request: &Request) -> Fate {
        let asked = async {
            let asked = timeout(PATIENCE, self.by_its_way(request)).await;
            asked.unwrap_or(Err(Fate::Unending))
        };
        let fate = match request.leaves_after {
            None => asked.await,
            Some(after) => timeout(after, asked).await.unwrap_or(Err(Fate::Left)),
        };
        fate.unwrap_or_else(|fate| fate)
    }

    /// Leaves for good.
    pub(crate) async fn end(&self) {
        locked(&self.http).clear();
        locked(&self.edge).clear();
        self.streams.lock().await.take();
        self.frames.shutdown().await;
    }

    async fn by_its_way(&self, request: &Request) -> Result<Fate, Fate> {
        match request.way {
            Way::H1 => self.over_h1(HTTP, &self.http, request).await,
            Way::Edge => self.over_h1(EDGE, &self.edge, request).await,
            Way::H2 => self.over_h2(request).await,
            Way::Frames => self.in_frames(request).await,
        }
    }

    async fn over_h1(
        &self,
        to: SocketAddr,
        kept: &Mutex<Vec<Kept>>,
        request: &Request,
    ) -> Result<Fate, Fate> {
        let rested = {
            let mut kept = locked(kept);
            kept.retain(|one| one.since.elapsed() < KEPT && one.sender.is_ready());
            kept.pop()
        };
        let Kept {
            mut sender, task, ..
        } = match rested {
            Some(rested) => rested,
            None => {
                let io = TokioIo::new(self.dial(to).await?);
                let (sender, connection) = http1::handshake(io).await.map_err(broken)?;
                Kept {
                    since: Instant::now(),
                    sender,
                    task: driven(async { drop(connection.await) }),
                }
            }
        };
        let began = Instant::now();
        let response = sender.send_request(message(request, ""));
        let response = response.await.map_err(broken)?;
        let fate = whole(request, response, began.elapsed()).await?;
        if sender.ready().await.is_ok() {
            let since = Instant::now();
            locked(kept).push(Kept {
                since,
                sender,
                task,
            });
        }
        Ok(fate)
    }

    async fn over_h2(&self, request: &Request) -> Result<Fate, Fate> {
        let mut sender = self.streams().await?;
        let began = Instant::now();
        let response = sender.send_request(message(request, "http://node.sim"));
        let response = response.await.map_err(broken)?;
        whole(request, response, began.elapsed()).await
    }

    async fn streams(&self) -> Result<http2::SendRequest<Full<Bytes>>, Fate> {
        let mut streams = self.streams.lock().await;
        if let Some(open) = streams.as_ref().filter(|open| open.sender.is_ready()) {
            return Ok(open.sender.clone());
        }
        let io = TokioIo::new(self.dial(HTTP).await?);
        let shaken = http2::handshake(TokioExecutor::new(), io).await;
        let (sender, connection) = shaken.map_err(broken)?;
        *streams = Some(Streams {
            sender: sender.clone(),
            _task: driven(async { drop(connection.await) }),
        });
        Ok(sender)
    }

    async fn in_frames(&self, request: &Request) -> Result<Fate, Fate> {
        let parts = message(request, "").into_parts();
        let head = RequestHead {
            method: parts.0.method,
            target: request.path.parse().expect("made of digits"),
            authority: AUTHORITY.parse().expect("a constant"),
            headers: parts.0.headers,
        };
        let mut payload = BytesMut::new();
        head.put(&mut payload).expect("a small head");
        payload.extend_from_slice(&upload(request));
        let ask = Ask {
            app_proto: oap::app_proto::HTTP,
            opcode: REQUEST,
            ..Ask::default()
        };
        let began = Instant::now();
        let mut answer = self.frames.call(&ask, payload.freeze()).await?;
        let (status, after) = (answer.status(), began.elapsed());
        let fields = match status {
            200 => take_fields(answer.first()).map_err(|refusal| {
                Fate::Wrong(format!("the head of the answer is broken: {refusal}"))
            })?,
            _ => Default::default(),
        };
        let body = answer.collect(1 << 20).await?;
        Ok(checked(request, status, after, fields.get("x-got"), &body))
    }

    async fn dial(&self, to: SocketAddr) -> Result<crate::pipe::End, Fate> {
        let dialled = self.world.net.dial(self.ip, to).await;
        dialled.map_err(|_| Fate::Refused)
    }
}

impl From<Failure> for Fate {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Deadline => Self::Unending,
            Failure::Unreachable(_) => Self::Refused,
            other => Self::Broken(other.to_string()),
        }
    }
}

fn driven(connection: impl Future<Output = ()> + Send + 'static) -> Driven {
    Driven(tokio::spawn(connection))
}

fn broken(error: hyper::Error) -> Fate {
    Fate::Broken(format!("{error:?}"))
}

fn upload(request: &Request) -> Bytes {
    Bytes::from(text(request.id, request.upload.unwrap_or_default()))
}

fn message(request: &Request, scheme: &str) -> http::Request<Full<Bytes>> {
    let method = match request.upload {
        None => "GET",
        Some(_) => "POST",
    };
    let mut built = http::Request::builder()
        .method(method)
        .uri(format!("{scheme}{}", request.path));
    if scheme.is_empty() && request.way != Way::Frames {
        built = built.header("host", AUTHORITY);
    }
    if !request.tenant.is_empty() {
        built = built.header("x-tenant", request.tenant);
    }
    built
        .body(Full::new(upload(request)))
        .expect("made of constants and digits")
}

async fn whole(
    request: &Request,
    response: Response<Incoming>,
    after: Duration,
) -> Result<Fate, Fate> {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_err(broken)?.to_bytes();
    let got = parts.headers.get("x-got");
    Ok(checked(request, parts.status.as_u16(), after, got, &body))
}

/// An answer of 200 is the one to this request, and to all of it.
fn checked(
    request: &Request,
    status: u16,
    after: Duration,
    got: Option<&HeaderValue>,
    body: &[u8],
) -> Fate {
    let ours = request.way != Way::Edge && status == StatusCode::OK.as_u16();
    if ours && body != text(request.id, request.bytes).as_bytes() {
        let (length, wanted) = (body.len(), request.bytes);
        return Fate::Wrong(format!(
            "{length} bytes that are not the {wanted} asked for"
        ));
    }
    let sent = request.upload.unwrap_or_default().to_string();
    if ours && got.is_none_or(|got| got.as_bytes() != sent.as_bytes()) {
        return Fate::Wrong(format!("the origin got {got:?} of {sent} bytes"));
    }
    Fate::Answered { status, after }
}
