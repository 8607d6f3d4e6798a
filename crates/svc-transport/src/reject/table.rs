//! Every reason of the transport in one list, for the reference page.

use std::collections::BTreeSet;
use std::time::Duration;

use oap::Violation;

use super::Refusal;

/// A reason a request is refused for, or a connection is ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The stable code.
    pub reason: &'static str,
    /// The status of the answer.
    pub status: u16,
    /// Whether the answer may say when to come again.
    pub retry_after: bool,
    /// Whether the connection ends.
    pub closes: bool,
    /// What the client is told.
    pub doc: String,
}

/// Every reason of the transport: first what ends a connection, then what is of one request.
pub fn reasons() -> Vec<Reason> {
    let mut listed = BTreeSet::new();
    let reason = |refusal: Refusal| Reason {
        reason: refusal.reason(),
        status: refusal.status(),
        retry_after: refusal.retry_after().is_some(),
        closes: matches!(refusal, Refusal::Broken(_)),
        doc: refusal.detail(),
    };
    let all = all().map(reason);
    all.filter(|reason| listed.insert(reason.reason)).collect()
}

fn all() -> impl Iterator<Item = Refusal> {
    let broken = Violation::ALL.iter().copied().map(Refusal::Broken);
    let protocol = oap::Refusal::ALL.iter().copied().map(Refusal::Protocol);
    broken.chain(protocol).chain([
        Refusal::Gate(Duration::from_secs(1)),
        Refusal::Work,
        Refusal::Tenant,
        Refusal::BodySlow,
        Refusal::BodyGone,
        Refusal::WorkerLost,
        Refusal::AnswerOver,
    ])
}
