//! Upgraded connections: once both ends have agreed, bytes pass both ways until one of them is done.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use front_door::Upgrade;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response};
use http_rules::forward::{request_upgrade, requested_upgrade, strip_hop_by_hop};
use http_rules::request_id;
use kernel::tasks::TaskKind;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use upstream::Switched;

use crate::body::Answer;
use crate::journey::Journey;
use crate::reject::Refusal;
use crate::respond;

/// The task a tunnel lives in.
pub(crate) static TUNNEL: TaskKind = TaskKind {
    name: "gateway_tunnel",
    doc: "passes the bytes of one upgraded connection",
};

/// Bytes passed on at once.
const PIECE: usize = 8 * 1024;

/// A client that wants another protocol.
pub(crate) struct Wish {
    pub(crate) protocol: HeaderValue,
    client: Upgrade,
}

/// Both ends of a connection that is HTTP no more.
pub(crate) struct Ends {
    protocol: HeaderValue,
    client: Upgrade,
    upstream: Box<Switched>,
    headers: HeaderMap,
}

impl Wish {
    /// What the head asks for, if it does so in full.
    pub(crate) fn of(parts: &mut Parts) -> Option<Self> {
        let protocol = requested_upgrade(parts)?.clone();
        let client = parts.extensions.remove::<Upgrade>()?;
        Some(Self { protocol, client })
    }

    /// The upstream agrees.
    pub(crate) fn granted(self, upstream: Box<Switched>, headers: HeaderMap) -> Ends {
        Ends {
            protocol: self.protocol,
            client: self.client,
            upstream,
            headers,
        }
    }
}

/// Tells the client that it has its wish, and passes on what either end says from then on.
pub(crate) fn open(mut journey: Box<Journey>, ends: Ends) -> Response<Answer> {
    if let Err(refusal) = journey.becomes_stream() {
        return respond::refusal(journey, refusal);
    }
    let Some(tunnels) = journey.plan.shared.tunnels() else {
        return respond::refusal(journey, Refusal::Draining);
    };
    let mut response = Response::new(Answer::Whole(bytes::Bytes::new()));
    *response.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    *headers = ends.headers;
    strip_hop_by_hop(headers);
    request_upgrade(headers, ends.protocol);
    headers.insert(request_id::NAME, journey.id.clone());
    tunnels.spawn(async move {
        let mut journey = journey;
        let patience = journey.plan.upstream_patience;
        match pass(ends.client, ends.upstream, patience).await {
            Ok(bytes) => {
                journey.bytes = bytes;
                journey.finish();
            }
            Err(error) => {
                tracing::debug!(%error, "a tunnel broke off");
                journey.broke_off(&Refusal::UpstreamReset);
            }
        }
    });
    response
}

/// Both ways until both ends are done. Once one is, the other may be silent for as long as `patience` says: it has
/// nobody left to wait for.
async fn pass(client: Upgrade, upstream: Box<Switched>, patience: Duration) -> io::Result<u64> {
    let (from_client, to_client) = split(client.await?);
    let (from_upstream, to_upstream) = split(upstream);
    let (there, back) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut up = std::pin::pin!(one_way(from_client, to_upstream, &there));
    let mut down = std::pin::pin!(one_way(from_upstream, to_client, &back));
    tokio::select! {
        ended = &mut up => { ended?; alone(down, &back, patience).await?; }
        ended = &mut down => { ended?; alone(up, &there, patience).await?; }
    }
    Ok(back.load(Ordering::Relaxed))
}

async fn one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &AtomicU64,
) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(&piece[..length]).await?;
        to.flush().await?;
        moved.fetch_add(length as u64, Ordering::Relaxed);
    }
}

/// The rest of one way, for as long as something moves.
async fn alone(
    mut way: impl Future<Output = io::Result<()>> + Unpin,
    moved: &AtomicU64,
    patience: Duration,
) -> io::Result<()> {
    loop {
        let before = moved.load(Ordering::Relaxed);
        match tokio::time::timeout(patience, &mut way).await {
            Ok(ended) => return ended,
            Err(_) if moved.load(Ordering::Relaxed) == before => return Ok(()),
            Err(_) => {}
        }
    }
}
