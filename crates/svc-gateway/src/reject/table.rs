//! Every reason of the gateway in one list, for the reference page.

use std::collections::BTreeSet;
use std::time::Duration;

use http::HeaderValue;
use http_rules::decode::BadBody;
use http_rules::framing::Bad;
use http_rules::path::BadPath;
use passport::{Denied, IssuerId};

use super::Refusal;
use crate::quota::{OverRate, Standing, Whose};
use crate::routes::Allowed;

/// A reason a request is refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The stable code.
    pub reason: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// Whether the answer says when to come again.
    pub retry_after: bool,
    /// What the client is told.
    pub doc: &'static str,
}

/// Every reason of the gateway, in the order of a request's way. A reason that several defects share is listed once.
pub fn reasons() -> Vec<Reason> {
    let mut listed = BTreeSet::new();
    let reason = |refusal: Refusal| Reason {
        reason: refusal.reason(),
        status: refusal.status(),
        retry_after: refusal.retry_after().is_some(),
        doc: refusal.detail(),
    };
    let all = all().into_iter().map(reason);
    all.filter(|reason| listed.insert(reason.reason)).collect()
}

/// One of each refusal.
fn all() -> Vec<Refusal> {
    let wait = Duration::from_secs(1);
    let mut all = vec![
        Refusal::Malformed,
        Refusal::TargetTooLong,
        Refusal::HeadTooLarge,
    ];
    all.extend(Bad::ALL.iter().copied().map(Refusal::Framing));
    all.extend(BadPath::ALL.iter().copied().map(Refusal::Path));
    all.extend([
        Refusal::Misdirected,
        Refusal::Loop,
        Refusal::NoRoute,
        Refusal::OtherMethod(Allowed::default()),
    ]);
    let denied = [
        Denied::Missing,
        Denied::Ambiguous,
        Denied::TooLong,
        Denied::BadTenant,
        Denied::Expired,
        Denied::KeysUnavailable(IssuerId(0)),
        Denied::Signature,
    ];
    all.extend(denied.map(Refusal::Unknown));
    all.extend([
        Refusal::Verifications(wait),
        Refusal::BeyondCredential,
        Refusal::Forbidden,
    ]);
    let rates = [
        Whose::Address,
        Whose::Tenant,
        Whose::Route,
        Whose::Everybody,
    ];
    all.extend(rates.map(|whose| Refusal::OverRate(over(whose, wait))));
    all.extend([
        Refusal::NodeBusy,
        Refusal::QueueFull(wait),
        Refusal::WaitedLong(wait),
        Refusal::ShareFull(wait),
        Refusal::Dropped(wait),
        Refusal::DeadlineInQueue,
        Refusal::Draining,
        Refusal::RouteBusy(wait),
        Refusal::StreamsFull,
        Refusal::BodyTooLarge,
        Refusal::BodySlow,
        Refusal::BodyBroken,
    ]);
    all.extend(BadBody::ALL.iter().copied().map(Refusal::Coding));
    all.extend([
        Refusal::BreakerOpen(wait),
        Refusal::ConnectionsFull,
        Refusal::NoEndpoint,
        Refusal::Unreachable,
        Refusal::ConnectTimeout,
        Refusal::UpstreamReset,
        Refusal::UpstreamGarbage,
        Refusal::UpstreamHead,
        Refusal::DeadlineUpstream,
        Refusal::WorkerLost,
        Refusal::Internal,
        Refusal::ClientGone,
    ]);
    all
}

fn over(whose: Whose, wait: Duration) -> OverRate {
    OverRate {
        whose,
        retry_after: wait,
        standing: Standing {
            whose,
            policy: HeaderValue::from_static("\"tenant\";q=1;w=1"),
            remaining: 0,
            reset_after: wait,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reject::REASONS;

    /// The codes that stand in the source after an arrow.
    fn written() -> impl Iterator<Item = &'static str> {
        let source = include_str!("../reject.rs");
        let arrows = source.split("=> \"").skip(1);
        arrows
            .filter_map(|rest| rest.split_once('"'))
            .map(|(code, _)| code)
            .filter(|code| {
                code.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            })
    }

    // req: GW-08
    #[test]
    fn every_reason_that_is_written_is_listed() {
        let listed: BTreeSet<_> = reasons().iter().map(|reason| reason.reason).collect();
        assert!(written().count() > 30);
        for code in written().chain(REASONS) {
            assert!(listed.contains(code), "{code} is not listed");
        }
    }

    // req: GW-08, GW-07
    #[test]
    fn every_full_share_says_when_to_come_again_and_nobody_is_told_less_than_why() {
        for reason in reasons() {
            assert!((400..600).contains(&reason.status), "{reason:?}");
            assert!(!reason.doc.is_empty(), "{reason:?}");
            if reason.status == 429 {
                assert!(reason.retry_after, "{reason:?}");
            }
        }
    }
}
