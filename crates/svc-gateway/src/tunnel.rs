//! Upgraded connections: once both ends have agreed, bytes pass both ways until one of them is done.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use front_door::Upgrade;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response};
use http_rules::forward::{request_upgrade, requested_upgrade};
use kernel::tasks::TaskKind;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use upstream::Switched;

use crate::body::Answer;
use crate::journey::Journey;
use crate::quota::Standing;
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
    pub(crate) fn granted(self, upstream: Box<Switched>, headers: HeaderMap) -> Box<Ends> {
        Box::new(Ends {
            protocol: self.protocol,
            client: self.client,
            upstream,
            headers,
        })
    }
}

/// Tells the client that it has its wish, and passes on what either end says from then on.
pub(crate) fn open(
    mut journey: Box<Journey>,
    ends: Ends,
    standing: Option<Standing>,
) -> Response<Answer> {
    if let Err(refusal) = journey.becomes_stream(|| Some(ends.upstream.lend())) {
        return respond::refusal(journey, refusal);
    }
    let Some(tunnels) = journey.plan.shared.tunnels() else {
        return respond::refusal(journey, Refusal::Draining);
    };
    let mut response = Response::new(Answer::Whole(bytes::Bytes::new()));
    *response.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    *headers = ends.headers;
    respond::head(headers, &journey, standing);
    request_upgrade(headers, ends.protocol);
    tunnels.spawn(async move {
        let mut journey = journey;
        let patience = journey.plan.upstream_patience;
        let passed = async { pass(ends.client.await?, ends.upstream, patience).await };
        match passed.await {
            Ok(bytes) => {
                journey.bytes = bytes;
                journey.look();
                journey.finish();
            }
            Err(error) => {
                tracing::debug!(%error, "a tunnel broke off");
                journey.broke_off(&Refusal::UpstreamReset, None);
            }
        }
    });
    response
}

/// Both ways until both ends are done. Once one is, the other may be silent for as long as `patience` says: it has
/// nobody left to wait for.
async fn pass(
    client: impl AsyncRead + AsyncWrite,
    upstream: impl AsyncRead + AsyncWrite,
    patience: Duration,
) -> io::Result<u64> {
    let (from_client, to_client) = split(client);
    let (from_upstream, to_upstream) = split(upstream);
    let (there, back) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut up = std::pin::pin!(upwards(from_client, to_upstream, &there));
    let mut down = std::pin::pin!(one_way(from_upstream, to_client, &back));
    tokio::select! {
        ended = &mut up => { ended?; alone(down, &back, patience).await?; }
        ended = &mut down => { ended?; alone(up, &there, patience).await?; }
    }
    Ok(back.load(Ordering::Relaxed))
}

/// Where a way has broken off.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("nobody is heard any more: {0}")]
    From(io::Error),
    #[error("nobody listens any more: {0}")]
    To(io::Error),
}

impl From<Broken> for io::Error {
    fn from(broken: Broken) -> Self {
        io::Error::other(broken)
    }
}

/// An upstream that takes no more may have said a lot that the client has yet to take. So the client is heard on, to
/// nothing: a connection that is closed while something comes in is reset, and what was on its way out is lost.
async fn upwards(
    mut from: impl AsyncRead + Unpin,
    to: impl AsyncWrite + Unpin,
    moved: &AtomicU64,
) -> Result<(), Broken> {
    let ended = one_way(&mut from, to, moved).await;
    if let Err(Broken::To(_)) = ended {
        let mut piece = vec![0; PIECE];
        while from.read(&mut piece).await.map_err(Broken::From)? > 0 {}
    }
    ended
}

async fn one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &AtomicU64,
) -> Result<(), Broken> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = from.read(&mut piece).await.map_err(Broken::From)?;
        if length == 0 {
            return to.shutdown().await.map_err(Broken::To);
        }
        to.write_all(&piece[..length]).await.map_err(Broken::To)?;
        to.flush().await.map_err(Broken::To)?;
        moved.fetch_add(length as u64, Ordering::Relaxed);
    }
}

/// The rest of one way, for as long as something moves.
async fn alone(
    mut way: impl Future<Output = Result<(), Broken>> + Unpin,
    moved: &AtomicU64,
    patience: Duration,
) -> Result<(), Broken> {
    loop {
        let before = moved.load(Ordering::Relaxed);
        match tokio::time::timeout(patience, &mut way).await {
            Ok(ended) => return ended,
            Err(_) if moved.load(Ordering::Relaxed) == before => return Ok(()),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{duplex, join};

    use super::*;

    /// The time there is for what should take none.
    const PATIENCE: Duration = Duration::from_secs(20);

    // req: GW-01
    #[tokio::test]
    async fn what_an_upstream_said_before_it_was_gone_is_all_passed_on() {
        let said = vec![b'x'; 300_000];
        for gone in [true, false] {
            let (mut client, near) = duplex(1024);
            let (to_upstream, far) = duplex(1024);
            let upstream = join(&said[..], to_upstream);
            let _taken = (!gone).then_some(far);
            let talk = async {
                client.write_all(b"are you there?").await.unwrap();
                let mut heard = Vec::new();
                client.read_to_end(&mut heard).await.unwrap();
                client.shutdown().await.unwrap();
                heard
            };
            let both = async { tokio::join!(pass(near, upstream, PATIENCE), talk) };
            let (passed, heard) = tokio::time::timeout(PATIENCE, both).await.unwrap();
            assert_eq!(heard.len(), said.len(), "gone: {gone}");
            assert_eq!(passed.is_err(), gone, "{passed:?}");
        }
    }

    // req: GW-01
    #[tokio::test(start_paused = true)]
    async fn who_does_not_leave_after_its_upstream_is_not_waited_for() {
        let (mut client, near) = duplex(1024);
        let (to_upstream, far) = duplex(1024);
        drop(far);
        let passing = pass(near, join(&b"bye"[..], to_upstream), PATIENCE);
        let chatter = async {
            while client.write_all(b"hello?").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let both = async { tokio::join!(passing, chatter) };
        let (passed, ()) = tokio::time::timeout(PATIENCE * 3, both).await.unwrap();
        assert!(passed.is_ok(), "{passed:?}");
    }
}
