//! A client: many calls on one connection, each with its deadline; the connection is made anew when it is lost.
//!
//! Everything is bounded: calls in flight by what was agreed on, what comes by the windows, what waits to be written
//! by a constant. A call that is dropped is canceled at the server. It stands alone: it needs a tokio runtime and
//! nothing else of the node.

mod call;
mod dial;
mod failure;
mod keeper;
mod link;
mod pump;
mod response;
mod upload;

#[cfg(feature = "tls")]
pub use dial::Tls;
pub use dial::{Dial, Dialing, Stream, Tcp};
pub use failure::Failure;
pub use response::{Pending, Response};
pub use upload::Upload;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::{Agreed, Hello, Meta, Opening};
use call::Call;
use keeper::Keeper;
use link::{Link, lock};

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What it offers.
    pub hello: Hello,
    /// A credential for all calls that bring none of their own.
    pub identity: Meta,
    /// Of a call that says nothing else, from its beginning to the end of its answer.
    pub timeout: Duration,
    /// For a connection to be accepted, TLS included.
    pub connect_timeout: Duration,
    /// For HELLO to be answered.
    pub hello_timeout: Duration,
    /// For a server to take what is written.
    pub write_timeout: Duration,
    /// For running calls to end at [`Client::shutdown`].
    pub drain_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            hello: Hello::full(concat!("oap-rust/", env!("CARGO_PKG_VERSION"))),
            identity: Meta::default(),
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            hello_timeout: Duration::from_secs(2),
            write_timeout: Duration::from_secs(5),
            drain_timeout: Duration::from_secs(3),
        }
    }
}

/// What is asked of whom; the payload goes beside it.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The service.
    pub app_proto: u16,
    /// What it shall do; never 0.
    pub opcode: u16,
    /// On whose account; 0 is "as the credential says".
    pub tenant: u128,
    /// A credential, where the client's own does not do.
    pub token: Option<Bytes>,
    /// The `traceparent` of W3C.
    pub trace: Option<Bytes>,
    /// From now to the end of the answer; otherwise as in [`Settings`].
    pub timeout: Option<Duration>,
    /// Compress the payload, if the server can decompress it.
    pub compress: bool,
}

/// A handle; clones share the connection. [`shutdown`](Self::shutdown) waits for its end, dropping the last one does
/// not.
#[derive(Clone)]
pub struct Client {
    owner: Arc<Owner>,
}

struct Owner {
    keeper: Arc<Keeper>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.keeper.close();
    }
}

impl Client {
    /// Connects when it is first needed. Has to be called on a runtime.
    #[expect(
        clippy::disallowed_methods,
        reason = "a client stands alone: its one task is owned by it and joined by shutdown"
    )]
    pub fn new(dial: impl Dial + 'static, settings: Settings) -> Self {
        let keeper = Arc::new(Keeper::new(settings, Box::new(dial)));
        let task = tokio::spawn(Arc::clone(&keeper).keep());
        let owner = Owner {
            keeper,
            task: Mutex::new(Some(task)),
        };
        Self {
            owner: Arc::new(owner),
        }
    }

    /// Connects, if that is still to be done, and tells what was agreed on.
    pub async fn ready(&self) -> Result<Agreed, Failure> {
        let keeper = &self.owner.keeper;
        let deadline = now() + keeper.settings.timeout;
        match timeout_at(deadline, keeper.link()).await {
            Ok(link) => Ok(link?.agreed.clone()),
            Err(_) => Err(keeper.late()),
        }
    }

    /// Asks in one frame. A request that the server has not looked at is sent again on the next connection.
    pub async fn call(&self, ask: &Ask, payload: Bytes) -> Result<Response, Failure> {
        let deadline = self.deadline(ask);
        loop {
            let begun = self.begin(ask, &payload, true, deadline).await?;
            match begun.pending(deadline).answer().await {
                Err(failure) if failure.is_unseen() => continue,
                answer => return answer,
            }
        }
    }

    /// Begins a request with the first of its payload, 64 KiB at most; the rest is sent piece by piece.
    pub async fn open(&self, ask: &Ask, first: Bytes) -> Result<(Upload, Pending), Failure> {
        let deadline = self.deadline(ask);
        let begun = self.begin(ask, &first, false, deadline).await?;
        let upload = Upload {
            link: Arc::clone(&begun.link),
            call: Arc::clone(&begun.call),
            id: begun.id,
            deadline,
            codec: begun.link.agreed.codec.filter(|_| ask.compress),
            done: false,
        };
        Ok((upload, begun.pending(deadline)))
    }

    /// No more calls begin; those that run have until the drain timeout, then all is closed.
    pub async fn shutdown(&self) {
        self.owner.keeper.close();
        let task = lock(&self.owner.task).take();
        if let Some(task) = task {
            // It cannot fail but by a panic, which has been reported where it happened.
            let _ = task.await;
        }
    }

    fn deadline(&self, ask: &Ask) -> Instant {
        now() + ask.timeout.unwrap_or(self.owner.keeper.settings.timeout)
    }

    async fn begin(
        &self,
        ask: &Ask,
        payload: &Bytes,
        ends: bool,
        deadline: Instant,
    ) -> Result<Begun, Failure> {
        let keeper = &self.owner.keeper;
        match timeout_at(deadline, begun(keeper, ask, payload, ends, deadline)).await {
            Ok(begun) => begun,
            Err(_) => Err(keeper.late()),
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

struct Begun {
    link: Arc<Link>,
    call: Arc<Call>,
    id: u64,
}

impl Begun {
    fn pending(self, deadline: Instant) -> Pending {
        Pending {
            link: self.link,
            call: self.call,
            id: self.id,
            deadline,
            done: false,
        }
    }
}

async fn begun(
    keeper: &Keeper,
    ask: &Ask,
    payload: &Bytes,
    ends: bool,
    deadline: Instant,
) -> Result<Begun, Failure> {
    loop {
        let link = keeper.link().await?;
        let Some(slot) = link.slot().await else {
            continue;
        };
        let codec = link.agreed.codec.filter(|_| ask.compress);
        let (payload, comp) = match codec {
            Some(codec) if ends => upload::worthwhile(codec, payload)?,
            Some(codec) if !payload.is_empty() => (upload::packed(codec, payload)?, true),
            codec => (payload.clone(), codec.is_some()),
        };
        let opening = opening(ask, comp, deadline);
        if let Some((id, call)) = link.open(slot, &opening, &payload, ends).await? {
            return Ok(Begun { link, call, id });
        }
    }
}

fn opening(ask: &Ask, comp: bool, deadline: Instant) -> Opening {
    let left_ms = deadline.saturating_duration_since(now()).as_millis();
    Opening {
        app_proto: ask.app_proto,
        opcode: ask.opcode,
        tenant: ask.tenant,
        meta: Meta {
            token: ask.token.clone(),
            deadline_ms: Some(u32::try_from(left_ms).unwrap_or(u32::MAX)),
            trace: ask.trace.clone(),
        },
        comp,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the client reads the runtime's clock, which tests can pause"
)]
fn now() -> Instant {
    Instant::now()
}
