//! One try: an endpoint that was chosen, its connection, the request on it, the head that comes back.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, Uri, Version, header};
use hyper::body::{Body, Incoming};
use kernel::clock;
use tokio::time::Instant;

use crate::dial::dial;
use crate::endpoint::{Endpoint, EndpointId};
use crate::error::{Cause, SendError, Stage};
use crate::fault;
use crate::h2::{self, Stream};
use crate::lease::Lease;
use crate::line::Line;
use crate::outgoing::{BoxError, Outgoing};
use crate::record::Verdict;
use crate::reply::Reply;
use crate::spec::{EndpointSpec, Protocol};

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

/// What carries a request.
pub(crate) enum Channel {
    Line(Line),
    Stream(Stream),
}

/// How long the parts of a try took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// The connection, if one was opened for it.
    pub connect: Option<Duration>,
    /// From sending the request until the head of its response.
    pub first_byte: Duration,
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
        let Self { lease, fresh } = self;
        if !fresh && let Some(line) = lease.endpoint().idle.take() {
            return Ok(Ready {
                lease,
                channel: Channel::Line(line),
                timing: Timing::default(),
            });
        }
        // The way less gone, and much larger: not part of what every request carries.
        Box::pin(connected(lease, until)).await
    }

    /// Takes a connection and sends the request; waits for the head of the response.
    ///
    /// `until` bounds the time to connect. Waiting for the response is bounded by the caller, who has a timer already:
    /// dropping this, or the body that comes of it, when `until` has passed counts as the endpoint's failure, and
    /// earlier as nobody's.
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
    let opened = open(lease.endpoint(), until).await;
    let now = clock::now();
    lease.owes(None);
    match opened {
        Ok((channel, new)) => {
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
            lease.settle(now, verdict_of(&error));
            Err(error)
        }
    }
}

/// A connection of its own, or a place on a shared one; true if it is new.
pub(crate) async fn open(
    endpoint: &Endpoint,
    until: Instant,
) -> Result<(Channel, bool), SendError> {
    let settings = endpoint.settings.load_full();
    if settings.protocol == Protocol::H2 {
        let (stream, new) = h2::stream(endpoint, &settings, until).await?;
        return Ok((Channel::Stream(stream), new));
    }
    let generation = endpoint.idle.generation();
    let io = dial(endpoint, &settings, until).await?;
    let line = Line::open(io, settings.head_bytes, generation).await;
    let line = line.map_err(|error| {
        SendError::new(Stage::Handshake, Cause::Closed, false, endpoint).because(error)
    })?;
    Ok((Channel::Line(line), true))
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
        mut self,
        request: Request<B>,
        until: Instant,
    ) -> Result<Response<Reply>, SendError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut request = request.map(Outgoing::new);
        self.lease.owes(Some(until));
        match self.exchange(&mut request).await {
            Ok(response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                Ok(self.upgraded(response).await)
            }
            Ok(response) => self.answered(response, until),
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn exchange(
        &mut self,
        request: &mut Request<Outgoing>,
    ) -> Result<Response<Incoming>, SendError> {
        let endpoint = self.lease.endpoint();
        address(request, &endpoint.target.spec, &self.channel);
        match &mut self.channel {
            Channel::Line(line) => {
                let (read, written) = (line.meter().read(), line.meter().written());
                let answer = line.exchange(request).await;
                answer.map_err(|error| {
                    let talk = fault::Talk {
                        reused: self.timing.connect.is_none(),
                        read: line.meter().read() > read,
                        written: line.meter().written() > written,
                        cut: line.meter().is_cut(),
                    };
                    fault::of_line(endpoint, error, talk)
                })
            }
            Channel::Stream(stream) => {
                let answer = stream.exchange(request).await;
                answer.map_err(|error| fault::of_stream(endpoint, error))
            }
        }
    }

    fn answered(
        mut self,
        response: Response<Incoming>,
        until: Instant,
    ) -> Result<Response<Reply>, SendError> {
        let now = clock::now();
        self.timing.first_byte = self.lease.head_came(now);
        let verdict = self.verdict(response.status());
        let mut reply = Ok(Reply::empty(self.timing));
        let response = response.map(|body| {
            reply = Reply::begin(self, body, verdict, until, now);
        });
        reply.map(|reply| response.map(|()| reply))
    }

    /// The connection is no HTTP connection any more: `hyper::upgrade::on` gives it to who asks.
    async fn upgraded(mut self, response: Response<Incoming>) -> Response<Reply> {
        let now = clock::now();
        self.timing.first_byte = self.lease.head_came(now);
        self.lease.settle(now, Verdict::Success);
        if let Channel::Line(line) = &mut self.channel {
            line.ended().await;
        }
        let timing = self.timing;
        response.map(|_| Reply::empty(timing))
    }

    fn failed(mut self, error: SendError) -> SendError {
        let now = clock::now();
        self.lease.settle(now, verdict_of(&error));
        if error.is_stale() {
            // The others of its age are likely to be closed as well.
            let endpoint = self.lease.endpoint();
            endpoint.idle.sweep(now, endpoint.settings.load().idle_time);
        }
        error
    }

    fn verdict(&self, status: StatusCode) -> Verdict {
        let failed = status.is_server_error() && {
            let settings = self.lease.endpoint().settings.load();
            settings.failure_statuses.contains(&status.as_u16())
        };
        if failed {
            Verdict::Failure
        } else {
            Verdict::Success
        }
    }
}

pub(crate) fn verdict_of(error: &SendError) -> Verdict {
    if error.is_failure() {
        Verdict::Failure
    } else {
        Verdict::Nothing
    }
}

/// Says where a request goes, in the way of who carries it.
pub(crate) fn address<B>(request: &mut Request<B>, endpoint: &EndpointSpec, channel: &Channel) {
    match channel {
        Channel::Line(_) => address_line(request, endpoint),
        Channel::Stream(_) => h2::address(request, endpoint),
    }
}

/// The path in the first line, the rest in `Host`.
fn address_line<B>(request: &mut Request<B>, endpoint: &EndpointSpec) {
    *request.version_mut() = Version::HTTP_11;
    if let Some(authority) = request.uri().authority() {
        let host = HeaderValue::from_str(authority.as_str()).ok();
        let path = request.uri().path_and_query().cloned();
        if let (Some(host), false) = (host, request.headers().contains_key(header::HOST)) {
            request.headers_mut().insert(header::HOST, host);
        }
        *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
    }
    if !request.headers().contains_key(header::HOST)
        && let Ok(host) = HeaderValue::from_str(&endpoint.authority())
    {
        request.headers_mut().insert(header::HOST, host);
    }
}
