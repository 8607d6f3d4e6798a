//! What a request is called: the caller's names for it, or new ones.

use http::{HeaderMap, HeaderValue};
use http_rules::request_id;
use http_rules::trace::{TraceContext, digits_of};

use crate::heads::Heads;

/// What a request is called.
pub(crate) struct Names {
    pub(crate) id: Id,
    /// A new trace, unless the caller has one.
    pub(crate) trace: Option<TraceContext>,
    /// The trace it belongs to, the caller's or the new one.
    pub(crate) trace_id: u128,
}

/// A request's own name.
pub(crate) enum Id {
    /// By its caller.
    Given(HeaderValue),
    /// The digits of a trace.
    Fresh([u8; 32]),
}

impl Id {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Id::Given(value) => value.to_str().unwrap_or(""),
            Id::Fresh(digits) => str::from_utf8(digits).unwrap_or(""),
        }
    }

    /// For a head.
    pub(crate) fn value(&self) -> HeaderValue {
        match self {
            Id::Given(value) => value.clone(),
            Id::Fresh(digits) => {
                let value = HeaderValue::from_bytes(digits);
                said_once(value.expect("hexadecimal digits are visible ASCII"))
            }
        }
    }
}

/// Marks what is never said again: HTTP/2 would remember it, look through all it remembers each time, and forget what
/// is worth remembering.
pub(crate) fn said_once(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

/// The names of a request with this head.
pub(crate) fn name(headers: &HeaderMap, heads: Heads) -> Names {
    let given = heads
        .has(Heads::REQUEST_ID)
        .then(|| request_id::given(headers));
    let id = given.flatten().cloned();
    let traced = heads
        .has(Heads::TRACE)
        .then(|| TraceContext::given(headers));
    match (id, traced.flatten()) {
        (Some(id), Some(given)) => Names {
            id: Id::Given(id),
            trace: None,
            trace_id: given.trace_id,
        },
        (id, given) => {
            let random = [fastrand::u64(..), fastrand::u64(..)];
            let fresh = TraceContext::begin(random, fastrand::u64(..), false);
            // A new trace and a new name are the same: whoever has one finds the other.
            let digits = || Id::Fresh(digits_of(fresh.trace_id));
            Names {
                id: id.map_or_else(digits, Id::Given),
                trace: given.is_none().then_some(fresh),
                trace_id: given.map_or(fresh.trace_id, |given| given.trace_id),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-14
    #[test]
    fn a_new_trace_is_one_that_others_can_read_and_names_the_request() {
        let names = name(&HeaderMap::new(), Heads::UPGRADE);
        let trace = names.trace.unwrap();
        assert_eq!(names.trace_id, trace.trace_id);
        assert_eq!(TraceContext::parse(trace.value().as_bytes()), Some(trace));
        assert_eq!(names.id.as_str(), format!("{:032x}", trace.trace_id));
        let value = names.id.value();
        assert_eq!(value, names.id.as_str());
        assert!(value.is_sensitive(), "nobody is to remember it");
        let other = name(&HeaderMap::new(), Heads::UPGRADE);
        assert_ne!(other.trace_id, names.trace_id);
        assert_ne!(other.id.as_str(), names.id.as_str());
    }

    // req: GW-14
    #[test]
    fn what_the_caller_calls_it_is_kept() {
        let mut headers = HeaderMap::new();
        headers.insert("x-request-id", HeaderValue::from_static("mine"));
        let names = name(&headers, Heads::REQUEST_ID);
        assert_eq!(
            (names.id.as_str(), names.id.value()),
            ("mine", "mine".parse().unwrap())
        );
        assert_eq!(names.trace.unwrap().trace_id, names.trace_id);
        let traceparent = "00-0123456789abcdeffedcba9876543211-0000000000000007-01";
        headers.insert("traceparent", HeaderValue::from_static(traceparent));
        headers.insert("x-request-id", HeaderValue::from_static("no good\tname"));
        let heads = Heads::REQUEST_ID.and(Heads::TRACE);
        let names = name(&headers, heads);
        assert_ne!(names.id.as_str(), "no good\tname");
        assert!(names.trace.is_none());
        assert_eq!(names.trace_id, 0x0123_4567_89ab_cdef_fedc_ba98_7654_3211);
    }
}
