//! A request's stay at an endpoint: counted in when chosen, counted out with a verdict however it ends.

use std::sync::Arc;
use std::time::Duration;

use kernel::clock;
use tokio::time::Instant;

use crate::endpoint::Endpoint;
use crate::error::SendError;
use crate::record::{Admission, Verdict};

pub(crate) struct Lease {
    endpoint: Arc<Endpoint>,
    admission: Admission,
    /// When it was chosen, or when its connection stood if that took a while.
    began: Instant,
    /// How long the head took to come.
    head_took: Option<Duration>,
    /// By when somebody expects what the endpoint has yet to send; nothing while the endpoint owes nothing.
    owed_by: Option<Instant>,
    /// Its caller chose to wait for less time than an endpoint is to have: that it passes says little.
    hasty: bool,
    told: Told,
    settled: bool,
}

/// What was heard of its head at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Good,
    Bad,
}

impl Lease {
    pub(crate) fn new(
        endpoint: Arc<Endpoint>,
        admission: Admission,
        now: Instant,
        hasty: bool,
    ) -> Self {
        Self {
            endpoint,
            admission,
            began: now,
            head_took: None,
            owed_by: None,
            hasty,
            told: Told::Nothing,
            settled: false,
        }
    }

    pub(crate) fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }

    pub(crate) fn begin(&mut self, now: Instant) {
        self.began = now;
    }

    pub(crate) fn head_came(&mut self, now: Instant) -> Duration {
        let took = now.saturating_duration_since(self.began);
        self.head_took = Some(took);
        took
    }

    /// From now on it is the endpoint that is waited for, or no longer is.
    pub(crate) fn owes(&mut self, until: Option<Instant>) {
        self.owed_by = until;
    }

    /// Whether it was waited for until its caller's time was up.
    fn is_overdue(&self, now: Instant) -> bool {
        self.owed_by.is_some_and(|until| now >= until)
    }

    /// Ends it with an error. One that is only that a hasty caller's time was up says little.
    pub(crate) fn fail(&mut self, now: Instant, error: &SendError) {
        let verdict = if error.is_timeout() && self.hasty && self.is_overdue(now) {
            self.cut_short(now)
        } else if error.is_failure() {
            Verdict::Failure
        } else {
            Verdict::Nothing
        };
        self.settle(now, verdict);
    }

    /// Its head is here, and more is to come. Of a probe a head says all that was to be found out: what follows may be
    /// a stream, and nobody should have to wait for its end. How it ends is one more outcome, if it ends badly. A bad
    /// head is one whoever it was for, and whether or not anybody wants the rest.
    pub(crate) fn is_answered(&mut self, now: Instant, verdict: Verdict) {
        if verdict == Verdict::Success && self.admission.probe.is_none() {
            return;
        }
        let took = self.head_took.unwrap_or_default();
        let now = self.endpoint.since_start(now);
        self.admission = self.endpoint.heard(now, self.admission, verdict, took);
        self.told = match verdict {
            Verdict::Success => Told::Good,
            _ => Told::Bad,
        };
    }

    fn cut_short(&self, now: Instant) -> Verdict {
        Verdict::CutShort {
            waited: now.saturating_duration_since(self.began),
            usual: self.endpoint.latency().known(),
        }
    }

    /// Ends it.
    pub(crate) fn settle(&mut self, now: Instant, verdict: Verdict) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        let verdict = match (self.told, verdict) {
            (Told::Good, Verdict::Success) | (Told::Bad, _) => Verdict::Nothing,
            (Told::Nothing | Told::Good, verdict) => verdict,
        };
        let waited = now.saturating_duration_since(self.began);
        let took = self.head_took.unwrap_or(waited);
        let now = self.endpoint.since_start(now);
        self.endpoint.settle(now, self.admission, verdict, took);
    }
}

impl Drop for Lease {
    /// Given up by its caller: the endpoint's fault if it was waited for until the time was up that it is to have.
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        let now = clock::now();
        let verdict = match (self.is_overdue(now), self.hasty) {
            (true, false) => Verdict::Failure,
            (true, true) => self.cut_short(now),
            (false, _) => Verdict::Nothing,
        };
        self.settle(now, verdict);
    }
}
