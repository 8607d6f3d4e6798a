//! Every reason of the edge in one list, for the reference page and for counters made ahead.

use std::collections::BTreeSet;
use std::time::Duration;

use http_rules::framing::Bad;
use http_rules::path::BadPath;

use super::Refusal;
use crate::origin::failure::Failure;

/// A reason a request is refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The stable code.
    pub reason: &'static str,
    /// Its label in `edge_rejects_total`.
    pub label: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// Whether the answer says when to come again.
    pub retry_after: bool,
    /// What the client is told.
    pub doc: &'static str,
}

/// Every reason of the edge, in the order of a request's way. A reason that several defects share is listed once.
pub fn reasons() -> Vec<Reason> {
    let mut listed = BTreeSet::new();
    let reason = |refusal: Refusal| Reason {
        reason: refusal.reason(),
        label: refusal.label(),
        status: refusal.status(),
        retry_after: refusal.retry_after().is_some(),
        doc: refusal.detail(),
    };
    let all = all().into_iter().map(reason);
    all.filter(|reason| listed.insert(reason.reason)).collect()
}

/// One of each refusal.
fn all() -> Vec<Refusal> {
    let mut all = vec![
        Refusal::Malformed,
        Refusal::TargetTooLong,
        Refusal::HeadTooLarge,
    ];
    all.extend(Bad::ALL.iter().copied().map(Refusal::Framing));
    all.extend(BadPath::ALL.iter().copied().map(Refusal::Path));
    all.extend([
        Refusal::Misdirected,
        Refusal::BodyTooLarge,
        Refusal::OverRate(Duration::from_secs(1)),
        Refusal::NodeBusy,
        Refusal::MemoryFull,
        Refusal::NotFound,
        Refusal::OtherMethod,
        Refusal::UnknownPack,
        Refusal::PackUnready,
        Refusal::PackChanged,
        Refusal::PackBroken,
        Refusal::TileAddress,
        Refusal::OtherKind,
        Refusal::DecodedTooLarge,
        Refusal::NotAcceptable,
        Refusal::PreconditionFailed,
        Refusal::RangeOutside(0),
        Refusal::NoHash,
        Refusal::UnknownObject,
        Refusal::DiskBusy,
        Refusal::Timeout,
    ]);
    all.extend(Failure::ALL.map(Refusal::Origin));
    all.push(Refusal::Internal);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes that stand in the source after an arrow.
    fn written() -> impl Iterator<Item = &'static str> {
        let source = include_str!("../reject.rs");
        let arrows = source.split("=> \"").skip(1);
        arrows
            .filter_map(|rest| rest.split_once('"'))
            .map(|(code, _)| code)
            .filter(|code| !code.contains(' '))
    }

    // req: ED-09
    #[test]
    fn every_reason_and_label_that_is_written_is_listed() {
        let reasons = reasons();
        let listed: BTreeSet<_> = reasons
            .iter()
            .flat_map(|reason| [reason.reason, reason.label])
            .collect();
        assert!(written().count() > 25);
        for code in written() {
            assert!(listed.contains(code), "{code} is not listed");
        }
    }

    // req: ED-09
    #[test]
    fn the_promised_labels_are_there() {
        let labels: BTreeSet<_> = reasons().iter().map(|reason| reason.label).collect();
        for promised in [
            "body_cap",
            "decompress_cap",
            "etag_invalid",
            "invalid_range",
            "rate_limit",
            "timeout",
        ] {
            assert!(labels.contains(promised), "{promised}");
        }
    }

    // req: ED-09
    #[test]
    fn who_is_turned_away_for_want_of_room_is_told_when_to_come_again() {
        for reason in reasons() {
            assert!((400..600).contains(&reason.status), "{reason:?}");
            assert!(!reason.doc.is_empty(), "{reason:?}");
            if matches!(reason.status, 429 | 503) {
                assert!(reason.retry_after, "{reason:?}");
            }
        }
    }
}
