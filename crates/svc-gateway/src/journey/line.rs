//! The line of the access log: what became of a request, or of what never became one.

use std::time::Duration;

use front_door::Visit;
use http_rules::trace::digits_of;

use super::Journey;
use super::address::AddressText;
use crate::caller::Caller;
use crate::config::AccessLevel;
use crate::metrics::CLASSES;
use crate::plan::Plan;
use crate::reject::Refusal;
use crate::shared::millis;
use crate::slots::UNIT;

impl Journey {
    pub(super) fn log(&self, took: Duration) {
        let wanted = match self.plan.access_log {
            AccessLevel::Off => false,
            AccessLevel::Refused => !self.reason.is_empty() || self.status >= 500,
            AccessLevel::All => true,
        };
        let (true, Some((method, uri))) = (wanted, &self.asked) else {
            return;
        };
        let caller = self.caller.as_ref();
        let trace = digits_of(self.trace_id);
        tracing::info!(
            target: "access",
            id = self.id.as_str(),
            trace = str::from_utf8(&trace).unwrap_or(""),
            method = method.as_str(),
            path = uri.path(),
            route = self.route.as_ref().map_or("", |route| &route.name),
            upstream = self.backend.as_ref().map_or("", |backend| &backend.name),
            tenant = caller.and_then(Caller::tenant).unwrap_or(""),
            class = caller.map_or("", |caller| CLASSES[usize::from(caller.class.0).min(2)]),
            client = AddressText::of(self.from.address).as_str(),
            status = self.status,
            reason = self.reason,
            tries = self.tries,
            bytes = self.bytes,
            cost = self.paid as f64 / UNIT as f64,
            queue_ms = millis(self.times.queue),
            connect_ms = millis(self.times.connect),
            upstream_ms = millis(self.times.upstream),
            total_ms = millis(took),
        );
    }
}

/// What was refused before it could be read as a request: of the client, only where it came from is known.
pub(crate) fn at_door(plan: &Plan, refusal: &Refusal, id: &str, visit: &Visit) {
    if plan.access_log == AccessLevel::Off {
        return;
    }
    tracing::info!(
        target: "access",
        id,
        client = AddressText::of(visit.peer.ip()).as_str(),
        status = refusal.status(),
        reason = refusal.reason(),
    );
}
