//! Every "no" of the gateway: each maps here, and only here, to status, reason, advice and words for people.

use std::time::Duration;

use http_rules::decode::BadBody;
use http_rules::framing::Bad;
use http_rules::path::BadPath;
use passport::Denied;

use crate::quota::{OverRate, Standing, Whose};
use crate::routes::Allowed;

pub use table::{Reason, reasons};

mod table;

/// Why a request is not, or not fully, answered by its upstream.
#[derive(Clone, Debug)]
pub(crate) enum Refusal {
    /// The head can be read in more than one way, or not at all.
    Framing(Bad),
    /// The head is no head of HTTP.
    Malformed,
    /// The target is too long.
    TargetTooLong,
    /// The path is not one that two servers read alike.
    Path(BadPath),
    /// The head is too large for what is to be sent on.
    HeadTooLarge,
    /// No route takes it.
    NoRoute,
    /// A route takes it, by one of these methods.
    OtherMethod(Allowed),
    /// The host asked for is not the one the connection was made for.
    Misdirected,
    /// It has been here before.
    Loop,
    /// Who is asking could not be seen.
    Unknown(Denied),
    /// Who is asking may not.
    Forbidden,
    /// The credential does not reach that far.
    BeyondCredential,
    /// A rate is used up.
    OverRate(OverRate),
    /// Too many credentials of this source had to be verified.
    Verifications(Duration),
    /// The upstream's queue is full.
    QueueFull(Duration),
    /// It has waited for a place as long as anybody does.
    WaitedLong(Duration),
    /// The tenant's part of the queue is full.
    ShareFull(Duration),
    /// It was the oldest in the queue when room was needed.
    Dropped(Duration),
    /// The route has all it may have.
    RouteBusy(Duration),
    /// The node has all it may have.
    NodeBusy,
    /// The tenant has all the streams it may have.
    StreamsFull,
    /// The node drains.
    Draining,
    /// The deadline passed before its turn came.
    DeadlineInQueue,
    /// The deadline passed while the upstream was asked.
    DeadlineUpstream,
    /// The body is longer than allowed.
    BodyTooLarge,
    /// The body did not come in time.
    BodySlow,
    /// The body is not what its head says.
    BodyBroken,
    /// The body's coding is not one that is decoded here, or breaks its bounds.
    Coding(BadBody),
    /// Every endpoint is left alone for a while.
    BreakerOpen(Duration),
    /// Every endpoint has all the connections it may have.
    ConnectionsFull,
    /// No endpoint is up.
    NoEndpoint,
    /// No endpoint could be reached.
    Unreachable,
    /// None took a connection in the time there is for that.
    ConnectTimeout,
    /// The upstream broke off.
    UpstreamReset,
    /// The upstream did not answer in HTTP.
    UpstreamGarbage,
    /// The upstream's head is too large.
    UpstreamHead,
    /// The worker that had it died, and it may not be repeated.
    WorkerLost,
    /// A defect in the node; the log says more.
    Internal,
    /// The client left.
    ClientGone,
}

/// The reasons of our own; those of the rules and bounds below are theirs.
pub(crate) static REASONS: [&str; 31] = [
    "malformed",
    "head-too-large",
    "target-too-long",
    "no-route",
    "method-not-allowed",
    "misdirected",
    "loop",
    "identity-missing",
    "identity-refused",
    "forbidden",
    "beyond-credential",
    "rate-global",
    "rate-ip",
    "rate-tenant",
    "rate-route",
    "rate-verifications",
    "queue-full",
    "share-full",
    "dropped-oldest",
    "route-busy",
    "node-busy",
    "draining",
    "deadline-in-queue",
    "deadline",
    "body-too-large",
    "open-circuit",
    "no-endpoint",
    "upstream-unreachable",
    "upstream-reset",
    "internal",
    "client-gone",
];

/// How long a client that was turned away by the node itself should wait.
const NODE_BUSY: Duration = Duration::from_secs(1);

impl Refusal {
    /// The status of the answer: 429 where the caller's share is the limit, 503 where the node or its upstream is.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Refusal::Framing(bad) => bad.status(),
            Refusal::Path(bad) => bad.status(),
            Refusal::Coding(bad) => bad.status(),
            Refusal::Malformed | Refusal::BodyBroken => 400,
            Refusal::Unknown(Denied::Ambiguous | Denied::TooLong | Denied::BadTenant) => 400,
            Refusal::Unknown(Denied::KeysUnavailable(_)) => 503,
            Refusal::Unknown(_) => 401,
            Refusal::Forbidden | Refusal::BeyondCredential => 403,
            Refusal::NoRoute => 404,
            Refusal::OtherMethod(_) => 405,
            Refusal::BodySlow => 408,
            Refusal::BodyTooLarge => 413,
            Refusal::TargetTooLong => 414,
            Refusal::Misdirected => 421,
            Refusal::OverRate(_)
            | Refusal::Verifications(_)
            | Refusal::QueueFull(_)
            | Refusal::WaitedLong(_)
            | Refusal::ShareFull(_)
            | Refusal::Dropped(_)
            | Refusal::RouteBusy(_)
            | Refusal::StreamsFull => 429,
            Refusal::HeadTooLarge => 431,
            Refusal::ClientGone => 499,
            Refusal::Internal => 500,
            Refusal::Unreachable
            | Refusal::UpstreamReset
            | Refusal::UpstreamGarbage
            | Refusal::UpstreamHead => 502,
            Refusal::NodeBusy
            | Refusal::Draining
            | Refusal::ConnectionsFull
            | Refusal::BreakerOpen(_)
            | Refusal::NoEndpoint
            | Refusal::WorkerLost => 503,
            Refusal::DeadlineInQueue | Refusal::DeadlineUpstream | Refusal::ConnectTimeout => 504,
            Refusal::Loop => 508,
        }
    }

    /// The stable code in body, header, log and metric.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Refusal::Framing(bad) => bad.reason(),
            Refusal::Path(bad) => bad.reason(),
            Refusal::Coding(bad) => bad.reason(),
            Refusal::Malformed => "malformed",
            Refusal::TargetTooLong => "target-too-long",
            Refusal::HeadTooLarge => "head-too-large",
            Refusal::NoRoute => "no-route",
            Refusal::OtherMethod(_) => "method-not-allowed",
            Refusal::Misdirected => "misdirected",
            Refusal::Loop => "loop",
            Refusal::Unknown(denied) => unknown(*denied),
            Refusal::Forbidden => "forbidden",
            Refusal::BeyondCredential => "beyond-credential",
            Refusal::OverRate(over) => match over.whose {
                Whose::Everybody => "rate-global",
                Whose::Address => "rate-ip",
                Whose::Tenant => "rate-tenant",
                Whose::Route => "rate-route",
            },
            Refusal::Verifications(_) => "rate-verifications",
            Refusal::QueueFull(_) => "queue-full",
            Refusal::WaitedLong(_) => "queue-wait",
            Refusal::ShareFull(_) => "share-full",
            Refusal::Dropped(_) => "dropped-oldest",
            Refusal::RouteBusy(_) => "route-busy",
            Refusal::NodeBusy => "node-busy",
            Refusal::StreamsFull => "streams-full",
            Refusal::Draining => "draining",
            Refusal::DeadlineInQueue => "deadline-in-queue",
            Refusal::DeadlineUpstream => "deadline",
            Refusal::BodyTooLarge => "body-too-large",
            Refusal::BodySlow => "body-timeout",
            Refusal::BodyBroken => "body-broken",
            Refusal::BreakerOpen(_) => "open-circuit",
            Refusal::ConnectionsFull => "connections-full",
            Refusal::NoEndpoint => "no-endpoint",
            Refusal::Unreachable => "upstream-unreachable",
            Refusal::ConnectTimeout => "connect-timeout",
            Refusal::UpstreamReset => "upstream-reset",
            Refusal::UpstreamGarbage => "upstream-garbage",
            Refusal::UpstreamHead => "upstream-head",
            Refusal::WorkerLost => "worker-lost",
            Refusal::Internal => "internal",
            Refusal::ClientGone => "client-gone",
        }
    }

    /// What happened and what to do, for people. Nothing of the request or of what stands behind the gateway is in it.
    pub(crate) fn detail(&self) -> &'static str {
        match self {
            Refusal::Framing(bad) => bad.detail(),
            Refusal::Path(bad) => bad.detail(),
            Refusal::Coding(bad) => bad.detail(),
            Refusal::Malformed => "the request head cannot be read, or can be read in two ways",
            Refusal::TargetTooLong => "the request target is too long",
            Refusal::HeadTooLarge => "the request head is too large to be sent on",
            Refusal::NoRoute => "nothing here takes this host and path",
            Refusal::OtherMethod(_) => "this path does not take this method",
            Refusal::Misdirected => "this host is not served on the connection it was asked on",
            Refusal::Loop => "the request has come through this node before",
            Refusal::Unknown(Denied::Missing) => "show who you are: an API key or a bearer token",
            Refusal::Unknown(Denied::KeysUnavailable(_)) => {
                "tokens cannot be verified at the moment; try again"
            }
            Refusal::Unknown(_) => "the credential is not accepted",
            Refusal::Forbidden => "the policy does not allow this",
            Refusal::BeyondCredential => "the credential is not good for this method or path",
            Refusal::OverRate(_) => "the rate is used up; come again later",
            Refusal::Verifications(_) => "too many credentials from this address; come again later",
            Refusal::QueueFull(_) => "too many requests wait; come again later",
            Refusal::WaitedLong(_) => "no place came free in time; come again later",
            Refusal::ShareFull(_) => "too many of your requests wait; come again later",
            Refusal::Dropped(_) => "newer requests needed the room; come again later",
            Refusal::RouteBusy(_) => "this route has all it may have at once; come again later",
            Refusal::NodeBusy => "the node has all it may have at once; come again later",
            Refusal::StreamsFull => "you have all the streams you may have at once",
            Refusal::Draining => "the node is about to end; try another one",
            Refusal::DeadlineInQueue => "the deadline passed while the request waited for its turn",
            Refusal::DeadlineUpstream => "the deadline passed before the answer began",
            Refusal::BodyTooLarge => "the request body is longer than allowed",
            Refusal::BodySlow => "the request body did not come in time",
            Refusal::BodyBroken => "the request body is not what its head says",
            Refusal::BreakerOpen(_) => {
                "what stands behind this path fails; it is left alone for a while"
            }
            Refusal::ConnectionsFull => {
                "what stands behind this path has all the connections it may have; come again later"
            }
            Refusal::NoEndpoint => "nothing that stands behind this path is up",
            Refusal::Unreachable => "what stands behind this path could not be reached",
            Refusal::ConnectTimeout => "what stands behind this path took no connection in time",
            Refusal::UpstreamReset => "what stands behind this path broke off",
            Refusal::UpstreamGarbage => "what stands behind this path did not answer in HTTP",
            Refusal::UpstreamHead => "what stands behind this path answered with too large a head",
            Refusal::WorkerLost => "the worker that had the request ended; it was not repeated",
            Refusal::Internal => "the node failed to answer; its log says why",
            Refusal::ClientGone => "the client left",
        }
    }

    /// When the same request may succeed; absent where waiting does not help.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Refusal::OverRate(over) => Some(over.retry_after),
            Refusal::Verifications(wait)
            | Refusal::QueueFull(wait)
            | Refusal::WaitedLong(wait)
            | Refusal::ShareFull(wait)
            | Refusal::Dropped(wait)
            | Refusal::RouteBusy(wait)
            | Refusal::BreakerOpen(wait) => Some(*wait),
            Refusal::NodeBusy
            | Refusal::Draining
            | Refusal::ConnectionsFull
            | Refusal::NoEndpoint
            | Refusal::WorkerLost
            | Refusal::StreamsFull
            | Refusal::Unknown(Denied::KeysUnavailable(_)) => Some(NODE_BUSY),
            _ => None,
        }
    }

    /// What may be asked instead, where it was the method: by who asks for what is offered nowhere, the usual.
    pub(crate) fn allowed(&self) -> Option<Allowed> {
        match self {
            Refusal::OtherMethod(allowed) => Some(*allowed),
            Refusal::Framing(Bad::Connect | Bad::Trace) => Some(Allowed::USUAL),
            _ => None,
        }
    }

    /// Where the caller stands with its rate.
    pub(crate) fn standing(&self) -> Option<&Standing> {
        match self {
            Refusal::OverRate(over) => Some(&over.standing),
            _ => None,
        }
    }

    /// Whether the connection is of no further use: what follows on it cannot be told from what was refused.
    pub(crate) fn closes(&self) -> bool {
        matches!(
            self,
            Refusal::Framing(_)
                | Refusal::Malformed
                | Refusal::TargetTooLong
                | Refusal::HeadTooLarge
                | Refusal::BodyTooLarge
                | Refusal::BodySlow
                | Refusal::BodyBroken
        )
    }
}

fn unknown(denied: Denied) -> &'static str {
    match denied {
        Denied::Missing => "identity-missing",
        Denied::Ambiguous => "identity-ambiguous",
        Denied::TooLong => "identity-too-long",
        Denied::BadTenant => "tenant-malformed",
        Denied::Expired => "identity-expired",
        Denied::KeysUnavailable(_) => "identity-keys-unavailable",
        _ => "identity-refused",
    }
}
