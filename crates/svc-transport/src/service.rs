//! What stands behind the door: services by opcode space, what they are asked, and what they answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use front_door::Visit;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use oap::Codec;
use tokio::time::Instant;

use crate::body::{Body, Inflow};
use crate::reject::Refusal;

/// An opcode as its service declares it; the config may say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcode {
    /// Its number within the service's `app_proto`.
    pub code: u16,
    /// What it is called in views and metrics.
    pub name: &'static str,
    /// Requests at once, over all connections.
    pub inflight: u32,
    /// Requests that may wait for one of those places.
    pub waiting: u32,
    /// How long an answer may take to begin, waiting included.
    pub deadline: Duration,
    /// Whether doing it twice does no harm.
    pub idempotent: bool,
}

/// A service: answers requests of one `app_proto`.
pub trait Handler: Send + Sync + 'static {
    /// What it can be asked.
    fn opcodes(&self) -> &'static [Opcode];

    /// Whether it holds the tenant that a request claims against what the credential says, and refuses where they
    /// differ. Else a claim is refused before it is asked.
    fn proves_tenants(&self) -> bool {
        false
    }

    /// Whether this request may be done again when its worker dies. One whose body comes as a stream never is.
    fn repeats(&self, opcode: &Opcode, _ask: &Ask) -> bool {
        opcode.idempotent
    }

    /// The answer, where that takes neither waiting nor work worth a worker's time: it is given on the task of the
    /// connection, before anything else of it is heard. Nothing: the request goes to a worker.
    fn at_once(&self, _ask: &Ask) -> Option<Result<Reply, Refusal>> {
        None
    }

    /// Answers one request. Dropped when nobody waits for the answer any more, or when its time is over.
    fn handle<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Reply, Refusal>>;
}

/// A request.
pub struct Ask {
    /// Which service is asked.
    pub app_proto: u16,
    /// What for.
    pub opcode: u16,
    /// On whose account, as the client claims, by [`oap::tenant_id`]; 0 is "as the credential says".
    pub tenant: u128,
    /// The credential: its own, or the one of its connection's HELLO.
    pub token: Option<Bytes>,
    /// The `traceparent`, if the client sent one.
    pub trace: Option<Bytes>,
    /// How long the client will wait for the answer, if it says.
    pub wish: Option<Duration>,
    /// When the answer has to have begun.
    pub until: Instant,
    /// Who asks, and through what.
    pub visit: Arc<Visit>,
    pub(crate) content: Content,
    /// How it is compressed.
    pub(crate) codec: Option<Codec>,
    /// How long its stream may stand still.
    pub(crate) patience: Duration,
}

/// What a request brings.
pub(crate) enum Content {
    Whole(Bytes),
    Stream(Arc<Inflow>),
}

impl Ask {
    /// All of what it brings, where that is here already, and not compressed.
    pub fn whole(&self) -> Option<&Bytes> {
        match &self.content {
            Content::Whole(whole) if self.codec.is_none() => Some(whole),
            _ => None,
        }
    }

    /// What it brings, piece by piece and decompressed. A stream can be read once.
    pub fn body(&self) -> Body {
        Body::new(&self.content, self.codec, self.patience)
    }

    /// Whether it came in one frame.
    pub fn is_whole(&self) -> bool {
        matches!(self.content, Content::Whole(_))
    }
}

/// An answer.
pub struct Reply {
    /// As in HTTP, 200 to 599.
    pub status: u16,
    /// What comes first, in one frame with what follows if that is there.
    pub head: Bytes,
    /// What follows.
    pub body: Outflow,
}

/// The rest of an answer.
pub enum Outflow {
    /// All of it is here.
    Whole(Bytes),
    /// It comes as it is made.
    Stream(BoxStream<'static, Result<Bytes, BrokenOff>>),
}

/// An answer broke off after it had begun; the client is told by RESET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenOff {
    /// As an answer would have had.
    pub status: u16,
    /// Stable, for programs.
    pub reason: &'static str,
}

impl Reply {
    /// An answer that is all here.
    pub fn whole(status: u16, payload: Bytes) -> Self {
        Self {
            status,
            head: Bytes::new(),
            body: Outflow::Whole(payload),
        }
    }
}
