//! Before an origin is asked: a look at what other nodes and earlier starts have left.

use std::sync::Arc;

use http_rules::cache::{Decision, Wish};

use crate::origin::entry::{Entry, Resource, tags_of};

use super::fill::Fill;

/// What was found there.
pub(super) enum Afar {
    /// It will do, and has landed; with what is to be written down, if it is kept.
    Fresh(Option<Arc<Resource>>),
    /// The origin is to be asked, about this if there is something.
    Stale(Option<Arc<Entry>>),
}

impl Fill {
    /// Looks in the depot, where nothing nearer is kept that could be asked about.
    pub(super) async fn look_afar(&self) -> Afar {
        let (desk, settings) = (&self.desk, self.target.settings());
        let depot = desk.depot.as_ref();
        let Some(depot) = depot.filter(|_| !self.alone && self.stale.is_none()) else {
            return Afar::Stale(None);
        };
        let found = depot.find(&self.target.key, &self.sent, settings.object_bytes);
        let Some((head, body)) = found.await else {
            return Afar::Stale(None);
        };
        let tags = tags_of(&head.headers, &settings.tags);
        let entry = Arc::new(Entry::new(head, body, tags));
        let kept = self.keep(&entry);
        if self.flight.is_void() {
            return Afar::Stale(None);
        }
        let now_ms = desk.clock.now_ms();
        let policy = entry.head.policy.as_ref();
        let decided = policy.map(|policy| policy.decide(&Wish::default(), now_ms));
        if let Ok(Decision::Fresh { .. }) = decided {
            desk.board.land(&self.course, &self.flight);
            self.flight.bring(entry);
            return Afar::Fresh(kept);
        }
        self.flight.note_brought();
        Afar::Stale(Some(entry))
    }
}
