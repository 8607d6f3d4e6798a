//! One try: an endpoint that was chosen, its connection, the request on it, the head that comes back.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http1_wire::Ask;
use hyper::body::Body;
use kernel::clock;
use tokio::time::Instant;

use crate::channel::{self, Channel};
use crate::endpoint::EndpointId;
use crate::error::SendError;
use crate::lease::Lease;
use crate::outgoing::{BoxError, Outgoing};
use crate::record::Verdict;
use crate::reply::Reply;

/// An endpoint chosen for one try. Dropping it says nothing about the endpoint.
pub struct Pick {
    lease: Lease,
    fresh: bool,
}

/// A connection to the chosen endpoint, taken from those at rest or opened for it.
pub struct Ready {
    pub(crate) lease: Lease,
    pub(crate) channel: Channel,
    pub(crate) timing: Timing,
}

/// How long the parts of a try took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// The connection, if one was opened for it.
    pub connect: Option<Duration>,
    /// From sending the request until the head of its response.
    pub first_byte: Duration,
    /// When that was here: who asks needs not read the clock again.
    pub head_at: Option<Instant>,
}

impl Pick {
    pub(crate) fn new(lease: Lease, fresh: bool) -> Self {
        Self { lease, fresh }
    }

    /// Which endpoint.
    pub fn id(&self) -> EndpointId {
        self.lease.endpoint().id
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.lease.endpoint().target.address
    }

    /// Takes a connection, while the caller keeps the request: when this fails nothing has been sent.
    pub async fn ready(self, until: Instant) -> Result<Ready, SendError> {
        match self.rested() {
            Ok(ready) => Ok(ready),
            Err(pick) => pick.connect(until).await,
        }
    }

    /// A connection that rests, if there is one.
    pub fn rested(self) -> Result<Ready, Self> {
        let Self { lease, fresh } = self;
        let rested = (!fresh).then(|| lease.endpoint().idle.take()).flatten();
        match rested {
            Some(line) => Ok(Ready {
                lease,
                channel: Channel::Line(line),
                timing: Timing::default(),
            }),
            None => Err(Self { lease, fresh }),
        }
    }

    /// Opens a connection. The way less gone, and much larger: not part of what every request carries.
    pub async fn connect(self, until: Instant) -> Result<Ready, SendError> {
        Box::pin(connected(self.lease, until)).await
    }

    /// Takes a connection and sends the request; waits for the head of the response.
    ///
    /// `until` bounds the time to connect. Waiting for the response is bounded by the caller, who has a timer already:
    /// dropping this, or the body that comes of it, when `until` has passed counts as the endpoint's failure, and
    /// earlier as nobody's. Where it was [picked in haste](crate::Pool::pick_in_haste) it is the endpoint's only if
    /// nobody else is answered either.
    pub async fn send<B>(
        self,
        request: Request<B>,
        until: Instant,
    ) -> Result<Response<Reply>, SendError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.ready(until).await?.send(request, until).await
    }
}

async fn connected(mut lease: Lease, until: Instant) -> Result<Ready, SendError> {
    let began = clock::now();
    lease.owes(Some(until));
    let opened = channel::open(lease.endpoint(), until).await;
    let now = clock::now();
    match opened {
        Ok((channel, new)) => {
            lease.owes(None);
            lease.begin(now);
            let timing = Timing {
                connect: new.then(|| now.saturating_duration_since(began)),
                ..Timing::default()
            };
            Ok(Ready {
                lease,
                channel,
                timing,
            })
        }
        Err(error) => {
            lease.fail(now, &error);
            let took = now.saturating_duration_since(began);
            Err(error.after_connecting(Some(took)))
        }
    }
}

impl Ready {
    /// Which endpoint.
    pub fn id(&self) -> EndpointId {
        self.lease.endpoint().id
    }

    /// How long the connection took, if one was opened.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// As [`Pick::send`], once there is a connection.
    pub async fn send<B>(
        self,
        request: Request<B>,
        until: Instant,
    ) -> Result<Response<Reply>, SendError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        self.ask(Ask::of(&parts), body, until).await
    }

    /// As [`Ready::send`], with a head that is only lent: who may have to ask again keeps it without a copy.
    #[expect(
        clippy::manual_async_fn,
        reason = "an async function keeps room for its arguments beside what it moves them to, a block does not"
    )]
    pub fn ask<B>(
        mut self,
        ask: Ask<'_>,
        body: B,
        until: Instant,
    ) -> impl Future<Output = Result<Response<Reply>, SendError>> + Send
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        async move {
            self.lease.owes(Some(until));
            let reused = self.timing.connect.is_none();
            let (endpoint, body) = (self.lease.endpoint(), Outgoing::new(body));
            let exchange = self.channel.exchange(endpoint, &ask, body, reused, until);
            match exchange.await {
                Ok(response) => self.answered(response, until),
                Err(error) => {
                    let took = self.timing.connect;
                    Err(self.failed(error).after_connecting(took))
                }
            }
        }
    }

    fn answered(
        mut self,
        response: Response<()>,
        until: Instant,
    ) -> Result<Response<Reply>, SendError> {
        let now = clock::now();
        self.timing.first_byte = self.lease.head_came(now);
        self.timing.head_at = Some(now);
        let reply = match &self.channel {
            Channel::Line(line) if line.is_switched() => self.switched(now),
            _ => {
                let verdict = self.verdict(response.status());
                Reply::begin(self, verdict, until, now)?
            }
        };
        Ok(response.map(|()| reply))
    }

    /// The connection is no HTTP connection any more, and whose it is asks for it.
    fn switched(mut self, now: Instant) -> Reply {
        self.lease.settle(now, Verdict::Success);
        match self.channel {
            Channel::Line(line) => Reply::switched(self.timing, line.into_switched()),
            Channel::Stream(_) => Reply::empty(self.timing),
        }
    }

    fn failed(mut self, error: SendError) -> SendError {
        let now = clock::now();
        self.lease.fail(now, &error);
        if error.is_stale() {
            // The others of its age are likely to be closed as well.
            let endpoint = self.lease.endpoint();
            let idle_time = endpoint.settings.load().idle_time;
            endpoint.idle.sweep_all(now, idle_time);
        }
        error
    }

    fn verdict(&self, status: StatusCode) -> Verdict {
        let failed = status.is_server_error() && {
            let settings = self.lease.endpoint().settings.load();
            settings.failure_statuses.contains(&status.as_u16())
        };
        match failed {
            true if status == StatusCode::SERVICE_UNAVAILABLE => Verdict::Overrun,
            true => Verdict::Failure,
            false => Verdict::Success,
        }
    }
}
