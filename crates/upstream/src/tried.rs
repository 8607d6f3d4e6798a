//! Where a request has been, so that its next try goes elsewhere.

use crate::endpoint::EndpointId;
use crate::error::SendError;

/// More tries than this are forgotten, oldest first.
const REMEMBERED: usize = 4;

/// What a retry should avoid; a preference, since somebody tried is better than nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried {
    ids: [Option<EndpointId>; REMEMBERED],
    next: usize,
    fresh: bool,
}

impl Tried {
    /// Avoid this one.
    pub fn add(&mut self, id: EndpointId) {
        self.ids[self.next % REMEMBERED] = Some(id);
        self.next += 1;
    }

    /// Learns from an error: another endpoint next time, or another connection if only that was bad.
    pub fn note(&mut self, error: &SendError) {
        if error.is_stale() {
            self.fresh = true;
        } else {
            self.add(error.id());
        }
    }

    /// Whether the next try must not use a connection that has rested.
    pub(crate) fn wants_fresh(&self) -> bool {
        self.fresh
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.next == 0
    }

    pub(crate) fn contains(&self, id: EndpointId) -> bool {
        self.ids.contains(&Some(id))
    }
}
