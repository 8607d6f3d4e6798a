//! What is known of an endpoint by what became of requests: its breaker, with one probe out at a time.

use std::time::Duration;

use concurrency_gate::{Breaker, BreakerConfig, BreakerState, Outcome, Passage};

use crate::doubt::Doubt;

/// The breaker and its counts. Pure: told the time, like the machine inside.
#[derive(Debug)]
pub(crate) struct Record {
    config: BreakerConfig,
    breaker: Breaker,
    /// A herd must not meet an endpoint that has just come back: the next probe waits for the last.
    probing: Option<Probe>,
    /// The number of the last probe.
    probes: u16,
    /// When somebody may be let in as a probe.
    probe_at: Duration,
    /// Since when it has been taken for well again.
    well_since: Duration,
    failures: u64,
    doubt: Doubt,
}

/// How somebody was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Admission {
    pub(crate) epoch: u16,
    pub(crate) probe: Option<Probe>,
    /// Its head said that the endpoint is well again: if it ends badly soon, that was too early.
    pub(crate) vouched: bool,
}

impl Admission {
    /// Let in like anybody.
    pub(crate) fn of(epoch: u16) -> Self {
        Self {
            epoch,
            probe: None,
            vouched: false,
        }
    }
}

/// Somebody who is to find out whether an endpoint is well again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    number: u16,
    /// Who may give up before the endpoint has had its time: then nothing is found out.
    hasty: bool,
}

/// What became of a request, for its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It did its part.
    Success,
    /// It failed, or took longer than anybody waited.
    Failure,
    /// Nothing can be said: the client left, or nothing was sent.
    Nothing,
    /// It said that it has too much to do, while others were inside.
    Overrun,
    /// Its caller left sooner than an endpoint is to answer, after so long, where answers usually take so long.
    CutShort {
        waited: Duration,
        usual: Option<Duration>,
    },
}

impl Record {
    pub(crate) fn new(config: BreakerConfig) -> Self {
        Self {
            config,
            breaker: Breaker::new(config),
            probing: None,
            probes: 0,
            probe_at: Duration::ZERO,
            well_since: Duration::ZERO,
            failures: 0,
            doubt: Doubt::default(),
        }
    }

    /// Starts over when the rules change; keeps what it knows when they do not.
    pub(crate) fn reconfigure(&mut self, config: BreakerConfig) {
        if config != self.config {
            *self = Self {
                failures: self.failures,
                ..Self::new(config)
            };
        }
    }

    pub(crate) fn epoch(&self) -> u16 {
        self.breaker.epoch()
    }

    pub(crate) fn state(&self) -> BreakerState {
        self.breaker.state()
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    /// The share of its weight that is open to all; zero while only probes may go.
    pub(crate) fn share(&mut self, now: Duration) -> f32 {
        match self.breaker.state() {
            BreakerState::Closed => 1.0,
            BreakerState::Open | BreakerState::HalfOpen => 0.0,
            // Asking is what ends a ramp.
            BreakerState::Ramping => match self.breaker.admit(now) {
                Passage::Share(share) => share as f32,
                _ => 1.0,
            },
        }
    }

    /// Lets one in as a probe, if it is time for one. Who is in haste keeps nobody waiting who is not: else a few who
    /// always give up at once would keep it from ever being found well.
    pub(crate) fn probe(&mut self, now: Duration, hasty: bool) -> Option<Admission> {
        let waiting = matches!(self.state(), BreakerState::Open | BreakerState::HalfOpen);
        if !waiting || self.probing.is_some_and(|probe| hasty || !probe.hasty) {
            return None;
        }
        if self.probing.take().is_some() {
            self.breaker.forget_probe(self.breaker.epoch());
        }
        match self.breaker.admit(now) {
            Passage::Probe => {
                self.probes = self.probes.wrapping_add(1);
                let number = self.probes;
                self.probing = Some(Probe { number, hasty });
                Some(Admission {
                    probe: self.probing,
                    ..Admission::of(self.breaker.epoch())
                })
            }
            Passage::Refused(wait) => {
                self.probe_at = now + wait;
                None
            }
            Passage::Free | Passage::Share(_) => None,
        }
    }

    /// What a verdict comes to, after those before it: a success, a failure or nothing.
    pub(crate) fn weigh(&mut self, now: Duration, verdict: Verdict) -> Verdict {
        self.doubt.weigh(now, verdict)
    }

    /// Hears what became of an admission, as it was weighed; true if that has opened the breaker.
    pub(crate) fn settle(&mut self, now: Duration, admission: Admission, verdict: Verdict) -> bool {
        let before = self.breaker.epoch();
        let awaited = admission.probe.is_some()
            && admission.probe == self.probing
            && admission.epoch == before;
        if awaited {
            self.probing = None;
            self.probe_at = now;
        }
        let outcome = match verdict {
            Verdict::Success => Outcome::Success,
            Verdict::Failure => {
                self.failures += 1;
                Outcome::Failure
            }
            Verdict::Nothing | Verdict::Overrun | Verdict::CutShort { .. } => {
                if awaited {
                    self.breaker.forget_probe(admission.epoch);
                }
                return false;
            }
        };
        let soon = now.saturating_sub(self.well_since) <= self.config.window;
        let opened = match admission.vouched && soon && outcome == Outcome::Failure {
            true => self.breaker.take_back(now, admission.epoch),
            false => self.breaker.record(now, admission.epoch, outcome),
        };
        if self.breaker.epoch() != before {
            self.probing = None;
            self.well_since = now;
        }
        if opened {
            self.probe_at = now + self.config.open_for;
        }
        opened
    }

    /// When a probe may go; never while one is out that has time.
    pub(crate) fn probe_at(&self) -> Duration {
        match self.probing {
            Some(Probe { hasty: false, .. }) => Duration::MAX,
            _ => self.probe_at,
        }
    }

    /// Whether somebody may go, be it as a probe.
    pub(crate) fn lets_in(&self, now: Duration, hasty: bool) -> bool {
        let open = matches!(self.state(), BreakerState::Open | BreakerState::HalfOpen);
        let too_late = hasty && self.probing.is_some();
        !open || !too_late && self.probe_at() <= now
    }

    /// How long who is refused should wait.
    pub(crate) fn retry_after(&self, now: Duration) -> Duration {
        let wait = if self.probing.is_some() {
            self.config.open_for / 4
        } else {
            self.probe_at.saturating_sub(now)
        };
        wait.max(Duration::from_millis(1))
    }
}

#[cfg(test)]
mod tests;
