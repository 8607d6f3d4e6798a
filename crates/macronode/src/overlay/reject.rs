//! Every "no" of the overlay: each maps here, and only here, to status, reason, advice and words for people.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use front_door::{Fault, UploadError};
use http_rules::framing::Bad;
use http_rules::path::BadPath;

/// Why a request is not answered as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The head can be read in more than one way.
    Framing(Bad),
    /// The head is no head of HTTP, or the body not what the head says.
    Malformed,
    /// The target is too long.
    TargetTooLong,
    /// The head is too large.
    HeadTooLarge,
    /// The path is not one that two servers read alike.
    Path(BadPath),
    /// The host asked for is not one this door is known by.
    Misdirected,
    /// Nothing is here.
    NotFound,
    /// Something is here, for other methods.
    OtherMethod(&'static str),
    /// Nobody has shown who they are.
    Unauthorized,
    /// The token is none of those there are.
    BadToken,
    /// Who asks may not do this.
    Forbidden,
    /// A page of another site made a browser ask.
    CrossSite,
    /// The body is longer than allowed.
    BodyTooLarge,
    /// The body came too slowly.
    BodyTooSlow,
    /// The body is not JSON by its type.
    MediaType,
    /// The body is not what is asked for.
    BadBody(String),
    /// No tenant of this name is in the config.
    UnknownTenant,
    /// No gate of this name is in the config.
    UnknownGate,
    /// The service that would do it is off.
    ServiceOff,
    /// As many as may are asking this already.
    Busy,
    /// It could not be done in time.
    Deadline,
    /// A defect in the node; the log says more.
    Internal,
}

impl From<UploadError> for Refusal {
    fn from(error: UploadError) -> Self {
        match error {
            UploadError::TooSlow => Refusal::BodyTooSlow,
            UploadError::Malformed(_) | UploadError::Gone(_) => Refusal::Malformed,
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Malformed => Refusal::Malformed,
            Fault::HeadTooLarge => Refusal::HeadTooLarge,
            Fault::TargetTooLong => Refusal::TargetTooLong,
            Fault::Panic => Refusal::Internal,
        }
    }
}

impl Refusal {
    /// The status of the answer.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Refusal::Framing(bad) => bad.status(),
            Refusal::Path(bad) => bad.status(),
            Refusal::Malformed | Refusal::BadBody(_) => 400,
            Refusal::Unauthorized | Refusal::BadToken => 401,
            Refusal::Forbidden | Refusal::CrossSite => 403,
            Refusal::NotFound | Refusal::UnknownTenant | Refusal::UnknownGate => 404,
            Refusal::OtherMethod(_) => 405,
            Refusal::BodyTooSlow => 408,
            Refusal::ServiceOff => 409,
            Refusal::BodyTooLarge => 413,
            Refusal::TargetTooLong => 414,
            Refusal::MediaType => 415,
            Refusal::Misdirected => 421,
            Refusal::HeadTooLarge => 431,
            Refusal::Internal => 500,
            Refusal::Busy => 503,
            Refusal::Deadline => 504,
        }
    }

    /// The stable code in body, header, metric and log.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Refusal::Framing(bad) => bad.reason(),
            Refusal::Path(bad) => bad.reason(),
            Refusal::Malformed => "malformed",
            Refusal::TargetTooLong => "target-too-long",
            Refusal::HeadTooLarge => "head-too-large",
            Refusal::Misdirected => "misdirected",
            Refusal::NotFound => "not-found",
            Refusal::OtherMethod(_) => "method-not-allowed",
            Refusal::Unauthorized => "unauthorized",
            Refusal::BadToken => "bad-token",
            Refusal::Forbidden => "forbidden",
            Refusal::CrossSite => "cross-site",
            Refusal::BodyTooLarge => "body-too-large",
            Refusal::BodyTooSlow => "body-too-slow",
            Refusal::MediaType => "media-type",
            Refusal::BadBody(_) => "bad-body",
            Refusal::UnknownTenant => "unknown-tenant",
            Refusal::UnknownGate => "unknown-gate",
            Refusal::ServiceOff => "service-off",
            Refusal::Busy => "busy",
            Refusal::Deadline => "deadline",
            Refusal::Internal => "internal",
        }
    }

    /// What happened and what to do, for people.
    pub(crate) fn detail(&self) -> Cow<'static, str> {
        if let Refusal::BadBody(what) = self
            && !what.is_empty()
        {
            return Cow::Owned(format!("the body is not what is asked for: {what}"));
        }
        Cow::Borrowed(match self {
            Refusal::Framing(bad) => bad.detail(),
            Refusal::Path(bad) => bad.detail(),
            Refusal::Malformed => "the request cannot be read, or can be read in two ways",
            Refusal::TargetTooLong => "the request target is too long",
            Refusal::HeadTooLarge => "the request head is too large",
            Refusal::Misdirected => {
                "this door is not known by the host that was asked for; without a token, ask by its address"
            }
            Refusal::NotFound => "nothing is here; /openapi.json lists what is",
            Refusal::OtherMethod(_) => "this path takes the methods of the Allow header",
            Refusal::Unauthorized => {
                "send `Authorization: Bearer TOKEN` with a token of overlay.tokens"
            }
            Refusal::BadToken => "the token is none of overlay.tokens",
            Refusal::Forbidden => "who asks may not do this; the role `operate` may",
            Refusal::CrossSite => "a page of another site may not make a browser do this",
            Refusal::BodyTooLarge => "the body is longer than overlay.limits.body_bytes",
            Refusal::BodyTooSlow => "the body came too slowly",
            Refusal::MediaType => "send the body as application/json",
            Refusal::BadBody(_) => "the body is not what is asked for; /openapi.json says what is",
            Refusal::UnknownTenant => "no tenant of this name is in the config",
            Refusal::UnknownGate => "no route of this name has a bound of its own in the config",
            Refusal::ServiceOff => "the service that would do it is off on this node",
            Refusal::Busy => "as many as may are asking this already",
            Refusal::Deadline => "it could not be done in time; whether it was is not known",
            Refusal::Internal => "the node failed to answer; its log says why",
        })
    }

    /// When the same request may succeed; absent where waiting does not help.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        matches!(self, Refusal::Busy | Refusal::Deadline).then_some(Duration::from_secs(1))
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
                | Refusal::BodyTooSlow
        )
    }
}

/// One of each refusal, in the order of a request's way. A reason that several defects share is listed once.
pub(crate) fn all() -> Vec<Refusal> {
    let mut all = vec![
        Refusal::Malformed,
        Refusal::TargetTooLong,
        Refusal::HeadTooLarge,
    ];
    all.extend(Bad::ALL.iter().copied().map(Refusal::Framing));
    all.extend(BadPath::ALL.iter().copied().map(Refusal::Path));
    all.extend([
        Refusal::Misdirected,
        Refusal::NotFound,
        Refusal::OtherMethod("GET, HEAD"),
        Refusal::Unauthorized,
        Refusal::BadToken,
        Refusal::Forbidden,
        Refusal::CrossSite,
        Refusal::Busy,
        Refusal::BodyTooLarge,
        Refusal::BodyTooSlow,
        Refusal::MediaType,
        Refusal::BadBody(String::new()),
        Refusal::UnknownTenant,
        Refusal::UnknownGate,
        Refusal::ServiceOff,
        Refusal::Deadline,
        Refusal::Internal,
    ]);
    let mut listed = BTreeSet::new();
    all.retain(|refusal| listed.insert(refusal.reason()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: ND-09
    #[test]
    fn every_reason_that_is_written_is_listed_and_explained() {
        let listed: BTreeSet<_> = all().iter().map(Refusal::reason).collect();
        let source = include_str!("reject.rs");
        let written = source.split("=> \"").skip(1);
        let written = written.filter_map(|rest| Some(rest.split_once('"')?.0));
        let reasons: Vec<_> = written.filter(|word| !word.contains(' ')).collect();
        assert!(reasons.len() >= 20, "{reasons:?}");
        for reason in reasons {
            assert!(listed.contains(reason), "{reason} is not listed");
        }
        for refusal in all() {
            assert!((400..600).contains(&refusal.status()), "{refusal:?}");
            assert!(!refusal.detail().is_empty(), "{refusal:?}");
        }
    }

    // req: ND-09
    #[test]
    fn only_what_time_mends_says_when_to_come_again() {
        for refusal in all() {
            let mends = matches!(refusal.status(), 503 | 504);
            assert_eq!(refusal.retry_after().is_some(), mends, "{refusal:?}");
        }
    }
}
