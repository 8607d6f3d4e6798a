//! What goes on for long: it counts as a stream of its tenant, and holds no place that others wait for.

use std::time::Duration;

use concurrency_gate::Outcome;
use tokio::time::Instant;
use upstream::Lent;

use super::Journey;
use crate::backend::Kept;
use crate::reject::Refusal;
use crate::slots::Place;
use crate::streams::Kind;

impl Journey {
    /// It goes on for long: its place goes to others, and it counts as a stream of its tenant. The connection that it
    /// has to itself, if it does, is `lent` to it.
    pub(crate) fn becomes_stream(
        &mut self,
        lent: impl FnOnce() -> Option<Lent>,
    ) -> Result<(), Refusal> {
        self.goes_on(lent, Some(Outcome::Success))
    }

    /// The same for one whose client is slow: how long that took says nothing about the upstream.
    pub(crate) fn goes_on_as_stream(
        &mut self,
        lent: impl FnOnce() -> Option<Lent>,
    ) -> Result<(), Refusal> {
        self.goes_on(lent, None)
    }

    fn goes_on(
        &mut self,
        lent: impl FnOnce() -> Option<Lent>,
        outcome: Option<Outcome>,
    ) -> Result<(), Refusal> {
        self.open_stream(Kind::Stream)?;
        self.plan.makes_room();
        self.look();
        let backend = self.backend.as_ref().filter(|_| self.place.is_some());
        if let Some(backend) = backend
            && let Some(lent) = lent()
        {
            self.kept = Some(Kept::begin(lent, &backend.body));
        }
        self.give_back(outcome);
        Ok(())
    }

    /// It asks for a stream, and may have one: the upstream is not to begin what its client is not told of.
    pub(crate) fn may_become_stream(&self) -> Result<(), Refusal> {
        let streams = &self.plan.shared.streams;
        streams.have_room(self.tenant_key(), self.plan.streams)
    }

    fn tenant_key(&self) -> u64 {
        self.caller.as_ref().map_or(0, |caller| caller.key)
    }

    /// Who has one goes on with it.
    pub(super) fn open_stream(&mut self, kind: Kind) -> Result<(), Refusal> {
        if self.stream.is_none() {
            let (streams, most) = (&self.plan.shared.streams, self.plan.streams);
            self.stream = Some(streams.open(self.tenant_key(), kind, most)?);
        }
        Ok(())
    }

    /// Whether it has a place that others wait for.
    pub(crate) fn is_in_the_way(&self) -> bool {
        let backend = self.backend.as_ref().filter(|_| self.place.is_some());
        backend.is_some_and(|backend| backend.body.slots.is_awaited())
    }

    /// When the clock says so, as the node counts time.
    pub(crate) fn at(&self, instant: Instant) -> Duration {
        self.plan.shared.timeline.at(instant)
    }

    /// Whether it has gone on for longer than its route lets anybody wait for the head of an answer, while others wait
    /// and its tenant has more than its part: it would hold its place for ever, and a tenant with enough of the kind
    /// all there are.
    pub(crate) fn has_had_its_turn(&self, lasts: Duration) -> bool {
        let route = self.route.as_ref();
        route.is_some_and(|route| lasts >= route.deadline) && self.overstays()
    }

    /// Whether others wait while its tenant has more than its part.
    pub(crate) fn overstays(&self) -> bool {
        let beyond = self.place.as_ref().is_some_and(Place::is_beyond_part);
        beyond && self.is_in_the_way()
    }
}
