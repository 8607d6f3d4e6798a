//! What outcomes do to an entry: the breaker and the policy, both under the entry's lock.

use std::task::Waker;
use std::time::Duration;

use super::detail::{Detail, Inner};
use super::{Entry, Pass, Verdict};
use crate::adaptive::Sample;
use crate::breaker::{BreakerState, Outcome, Passage};
use crate::bug::{Bug, seeded};
use crate::rejection::{Reason, Rejection};
use crate::sync::counter::Relaxed;
use crate::sync::lock;
use crate::tally::Event;
use crate::word::{CLOSED, GUARDED};

impl Entry {
    /// Takes note of how a piece of admitted work went.
    #[inline(never)]
    pub(super) fn judge(&self, pass: Pass, verdict: Verdict) {
        let Some(detail) = self.detail.get() else {
            return;
        };
        if let Verdict::Success { hold, .. } | Verdict::Failure { hold, .. } = verdict {
            detail.note_hold(hold);
        }
        if self.setup.controlled {
            let mut woken = Vec::new();
            let mut inner = lock(&detail.inner);
            self.judge_locked(detail, &mut inner, pass, verdict, &mut woken);
            drop(inner);
            woken.into_iter().for_each(Waker::wake);
        }
    }

    fn judge_locked(
        &self,
        detail: &Detail,
        inner: &mut Inner,
        pass: Pass,
        verdict: Verdict,
        woken: &mut Vec<Waker>,
    ) {
        let (outcome, hold, now) = match verdict {
            Verdict::Success { hold, now } => (Outcome::Success, hold, now),
            Verdict::Failure { hold, now } => (Outcome::Failure, hold, now),
            Verdict::Panicked => {
                let now = self.setup.clock.map_or(self.used(), |clock| clock());
                (Outcome::Failure, Duration::ZERO, now)
            }
            Verdict::Ignored => return self.forget_probe(inner, pass),
        };
        let now = inner.at(now);
        if let Some(adaptive) = &mut inner.adaptive {
            adaptive.record(Sample {
                now,
                hold,
                in_flight: self.in_flight(),
                outcome,
            });
            inner.whole = adaptive.limit();
        }
        let opened = inner
            .breaker
            .as_mut()
            .is_some_and(|breaker| breaker.record(now, pass.epoch, outcome));
        if opened {
            self.setup
                .tally
                .happened(self.number(), Event::BreakerOpened);
            let rejection = Rejection::new(Reason::BreakerOpen, self.open_for());
            self.follow_breaker(detail, inner);
            self.dismiss(detail, inner, rejection, woken);
        } else {
            self.follow_breaker(detail, inner);
        }
        self.apply_limit(detail, inner, woken);
    }

    fn forget_probe(&self, inner: &mut Inner, pass: Pass) {
        if let Some(breaker) = &mut inner.breaker
            && pass.probe
        {
            breaker.forget_probe(pass.epoch);
        }
    }

    /// Tells those who enter by the word alone where the breaker stands.
    fn follow_breaker(&self, detail: &Detail, inner: &Inner) {
        let Some(breaker) = &inner.breaker else {
            return;
        };
        detail.epoch.store(u32::from(breaker.epoch()), Relaxed);
        let guarded = breaker.state() != BreakerState::Closed && !seeded(Bug::OpenUnseen);
        if self.word().has(GUARDED) != guarded {
            self.update(|word| word.set(GUARDED, guarded));
        }
    }

    /// Sets the word's limit to what the policy and a ramp allow, and lets in who fits.
    pub(super) fn apply_limit(&self, detail: &Detail, inner: &mut Inner, woken: &mut Vec<Waker>) {
        let share = inner
            .breaker
            .as_ref()
            .map_or(1.0, |breaker| breaker.share(inner.latest));
        let limit = (f64::from(inner.whole) * share).round() as u32;
        let limit = limit.clamp(1, inner.whole);
        if self.limit() != limit {
            self.update(|word| word.set_limit(limit));
        }
        if !seeded(Bug::RaiseSilently) {
            self.fill(detail, inner, woken);
        }
    }

    /// The breaker's word on somebody who wants to enter: a pass for a probe, nothing if the limit
    /// alone decides.
    #[inline]
    pub(super) fn ask_breaker(
        &self,
        detail: &Detail,
        inner: &mut Inner,
        now: Duration,
        woken: &mut Vec<Waker>,
    ) -> Result<Option<Pass>, Rejection> {
        if !self.word().has(GUARDED) {
            return Ok(None);
        }
        self.ask_awake_breaker(detail, inner, now, woken)
    }

    #[cold]
    fn ask_awake_breaker(
        &self,
        detail: &Detail,
        inner: &mut Inner,
        now: Duration,
        woken: &mut Vec<Waker>,
    ) -> Result<Option<Pass>, Rejection> {
        let Some(breaker) = &mut inner.breaker else {
            return Ok(None);
        };
        match breaker.admit(now) {
            Passage::Free | Passage::Share(_) => {
                self.follow_breaker(detail, inner);
                self.apply_limit(detail, inner, woken);
                Ok(None)
            }
            Passage::Refused(after) => Err(Rejection::new(Reason::BreakerOpen, after)),
            Passage::Probe => self.send_probe(detail, inner, now).map(Some),
        }
    }

    /// A probe needs a slot like everybody; work admitted before the breaker opened may hold all.
    fn send_probe(
        &self,
        detail: &Detail,
        inner: &mut Inner,
        now: Duration,
    ) -> Result<Pass, Rejection> {
        let pass = Pass {
            probe: true,
            ..self.free_pass(inner)
        };
        if seeded(Bug::ProbesUncounted) {
            self.forget_probe(inner, pass);
        }
        if !self.take_slot() {
            self.forget_probe(inner, pass);
            return Err(self.refusal(self.word()));
        }
        detail.note_granted();
        self.touch(now);
        Ok(pass)
    }

    /// A slot if one is free, under the lock. The admission is counted with the grants.
    fn take_slot(&self) -> bool {
        let mut word = self.word();
        while word.has_free() && !word.has(CLOSED) {
            match self.swap(word, word.take()) {
                Ok(()) => return true,
                Err(seen) => word = seen,
            }
        }
        false
    }

    /// Where the breaker has a say and nobody wants to wait.
    #[cold]
    pub(super) fn enter_guarded(&self, now: Duration) -> Result<Pass, Rejection> {
        let detail = self.detail();
        let mut woken = Vec::new();
        let mut inner = lock(&detail.inner);
        let now = inner.at(now);
        let entered = match self.ask_breaker(detail, &mut inner, now, &mut woken) {
            Ok(Some(probe)) => Ok(probe),
            Ok(None) if inner.line.is_empty() && self.take_slot() => {
                detail.note_granted();
                self.touch(now);
                Ok(self.free_pass(&inner))
            }
            Ok(None) => Err(self.refusal(self.word())),
            Err(rejection) => Err(rejection),
        };
        drop(inner);
        woken.into_iter().for_each(Waker::wake);
        entered.map_err(|rejection| self.reject(rejection))
    }

    fn open_for(&self) -> Duration {
        let breaker = self.setup.limit.breaker.as_ref();
        breaker.map_or(Duration::ZERO, |breaker| breaker.open_for)
    }
}
