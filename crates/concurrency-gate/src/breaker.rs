//! The breaker of one key, as a pure machine: told outcomes and the time, it says who may enter.
//!
//! It hears of admitted work only. A refusal or a cancelled caller is no outcome, so nothing the
//! gate does by itself can open it.

use std::time::Duration;

use window::Window;

mod window;

/// When a breaker opens and how it closes again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerConfig {
    /// What opens it.
    pub trip: Trip,
    /// How far back outcomes count.
    pub window: Duration,
    /// How long it refuses everybody.
    pub open_for: Duration,
    /// How many are let in to see whether things are well again; all must succeed.
    pub probes: u32,
    /// How long the limit takes to grow from a tenth to the whole after that.
    pub ramp: Duration,
}

/// What opens a breaker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trip {
    /// The share of failures within the window.
    Ratio {
        /// The share from which it opens, above 0 and up to 1.
        threshold: f64,
        /// Fewer outcomes than this say nothing.
        min_samples: u32,
    },
    /// As many failures in a row, within the window.
    Consecutive(u32),
    /// The share of failures within the window, or nothing but failures for a while: what answered well until it fell
    /// silent is not judged by the good answers from before for half of the window.
    RatioOrRow {
        /// The share from which it opens, above 0 and up to 1.
        threshold: f64,
        /// Fewer outcomes than this say nothing.
        min_samples: u32,
        /// At least as many failures in a row.
        row: u32,
        /// The first and the last of them lie at least this far apart: what breaks off all at once is one event.
        lasting: Duration,
    },
}

impl BreakerConfig {
    pub(crate) const WINDOW_MIN: Duration = Duration::from_millis(10);

    /// Half of at least 20 in ten seconds; five seconds open, three probes, ten seconds of ramp.
    pub fn ratio() -> Self {
        Self {
            trip: Trip::Ratio {
                threshold: 0.5,
                min_samples: 20,
            },
            window: Duration::from_secs(10),
            open_for: Duration::from_secs(5),
            probes: 3,
            ramp: Duration::from_secs(10),
        }
    }

    /// The same with a number of failures in a row.
    pub fn consecutive(failures: u32) -> Self {
        Self {
            trip: Trip::Consecutive(failures),
            ..Self::ratio()
        }
    }
}

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Everybody may enter.
    Closed,
    /// Nobody may.
    Open,
    /// A few probes may.
    HalfOpen,
    /// Everybody may, up to a growing share of the limit.
    Ramping,
}

impl BreakerState {
    /// The name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
            Self::Ramping => "ramping",
        }
    }
}

/// The share of the limit a ramp begins with.
const RAMP_FROM: f64 = 0.1;

/// The machine. Times may repeat or step back; it takes the latest it has heard.
#[derive(Clone, Debug)]
pub struct Breaker {
    config: BreakerConfig,
    phase: Phase,
    window: Window,
    /// Told apart by this number, outcomes of work admitted before the last change do not count.
    epoch: u16,
    latest: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Closed,
    Open { until: Duration },
    HalfOpen { out: u32, succeeded: u32 },
    Ramping { since: Duration },
}

/// What the breaker says to somebody who wants to enter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Passage {
    /// As far as the limit allows.
    Free,
    /// As far as this share of the limit allows.
    Share(f64),
    /// As a probe: its outcome decides.
    Probe,
    /// Not now, perhaps after this time.
    Refused(Duration),
}

/// What became of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it was for.
    Success,
    /// It failed, or took longer than anybody waited.
    Failure,
}

impl Breaker {
    /// A closed breaker. The config is taken as checked.
    pub fn new(config: BreakerConfig) -> Self {
        Self {
            config,
            phase: Phase::Closed,
            window: Window::new(config.window),
            epoch: 0,
            latest: Duration::ZERO,
        }
    }

    /// The number that work admitted now carries until its outcome.
    pub fn epoch(&self) -> u16 {
        self.epoch
    }

    /// Where it stands.
    pub fn state(&self) -> BreakerState {
        match self.phase {
            Phase::Closed => BreakerState::Closed,
            Phase::Open { .. } => BreakerState::Open,
            Phase::HalfOpen { .. } => BreakerState::HalfOpen,
            Phase::Ramping { .. } => BreakerState::Ramping,
        }
    }

    /// Whether somebody may enter; a probe is counted as out from here on.
    pub fn admit(&mut self, now: Duration) -> Passage {
        let now = self.at(now);
        match self.phase {
            Phase::Closed => Passage::Free,
            Phase::Open { until } if now < until => Passage::Refused(until - now),
            Phase::Open { .. } => {
                self.phase = Phase::HalfOpen {
                    out: 0,
                    succeeded: 0,
                };
                self.send_probe()
            }
            Phase::HalfOpen { .. } => self.send_probe(),
            Phase::Ramping { since } => self.ramp(now - since),
        }
    }

    fn send_probe(&mut self) -> Passage {
        let wait = self.config.open_for / 4;
        let probes = self.config.probes;
        match &mut self.phase {
            Phase::HalfOpen { out, succeeded } if *out + *succeeded < probes => {
                *out += 1;
                Passage::Probe
            }
            _ => Passage::Refused(wait),
        }
    }

    fn ramp(&mut self, passed: Duration) -> Passage {
        if passed >= self.config.ramp {
            self.phase = Phase::Closed;
            return Passage::Free;
        }
        Passage::Share(self.share_after(passed))
    }

    /// The share of the limit that is open to all at this time.
    pub fn share(&self, now: Duration) -> f64 {
        match self.phase {
            Phase::Ramping { since } => self.share_after(now.saturating_sub(since)),
            Phase::Closed | Phase::Open { .. } | Phase::HalfOpen { .. } => 1.0,
        }
    }

    fn share_after(&self, passed: Duration) -> f64 {
        let share = passed.as_secs_f64() / self.config.ramp.as_secs_f64();
        RAMP_FROM + (1.0 - RAMP_FROM) * share.min(1.0)
    }

    /// Whether nothing is lost when it is forgotten: it refuses nobody, and no probe is out.
    pub fn is_at_rest(&self, now: Duration) -> bool {
        match self.phase {
            Phase::Closed | Phase::Ramping { .. } => true,
            Phase::HalfOpen { out, .. } => out == 0,
            Phase::Open { until } => now > until.saturating_add(self.config.ramp),
        }
    }

    /// Hears of an outcome; true if that has opened it.
    pub fn record(&mut self, now: Duration, epoch: u16, outcome: Outcome) -> bool {
        let now = self.at(now);
        if epoch != self.epoch {
            return false;
        }
        match self.phase {
            Phase::Open { .. } => false,
            Phase::HalfOpen { .. } => self.record_probe(now, outcome),
            Phase::Closed | Phase::Ramping { .. } => {
                self.window.add(now, outcome);
                let tripped = outcome == Outcome::Failure && self.has_tripped(now);
                if tripped {
                    self.open(now);
                }
                tripped
            }
        }
    }

    /// Hears that a probe, which was said to have succeeded, has failed all the same; true if that has opened it. It
    /// opens unless another has succeeded since: then this is one failure like any other.
    pub fn take_back(&mut self, now: Duration, epoch: u16) -> bool {
        let now = self.at(now);
        let closed = matches!(self.phase, Phase::Closed | Phase::Ramping { .. });
        if !closed || epoch != self.epoch || self.window.sums(now).0 > 0 {
            return self.record(now, epoch, Outcome::Failure);
        }
        self.open(now);
        true
    }

    /// A probe ended without an outcome: another may go.
    pub fn forget_probe(&mut self, epoch: u16) {
        if let Phase::HalfOpen { out, .. } = &mut self.phase
            && epoch == self.epoch
        {
            *out = out.saturating_sub(1);
        }
    }

    fn record_probe(&mut self, now: Duration, outcome: Outcome) -> bool {
        if outcome == Outcome::Failure {
            self.open(now);
            return true;
        }
        if let Phase::HalfOpen { out, succeeded } = &mut self.phase {
            *out = out.saturating_sub(1);
            *succeeded += 1;
            if *succeeded >= self.config.probes {
                self.close(now);
            }
        }
        false
    }

    fn has_tripped(&mut self, now: Duration) -> bool {
        let (successes, failures) = self.window.sums(now);
        match self.config.trip {
            Trip::Consecutive(limit) => self.window.failures_in_a_row() >= limit,
            Trip::Ratio {
                threshold,
                min_samples,
            } => {
                let samples = successes + failures;
                samples >= u64::from(min_samples) && failures as f64 >= threshold * samples as f64
            }
            Trip::RatioOrRow {
                threshold,
                min_samples,
                row,
                lasting,
            } => {
                let samples = successes + failures;
                let all_fail =
                    self.window.failures_in_a_row() >= row && self.window.row_lasted() >= lasting;
                samples >= u64::from(min_samples)
                    && (all_fail || failures as f64 >= threshold * samples as f64)
            }
        }
    }

    fn open(&mut self, now: Duration) {
        self.epoch = self.epoch.wrapping_add(1);
        self.window.clear();
        self.phase = Phase::Open {
            until: now.saturating_add(self.config.open_for),
        };
    }

    fn close(&mut self, now: Duration) {
        self.epoch = self.epoch.wrapping_add(1);
        self.window.clear();
        self.phase = if self.config.ramp.is_zero() {
            Phase::Closed
        } else {
            Phase::Ramping { since: now }
        };
    }

    fn at(&mut self, now: Duration) -> Duration {
        self.latest = self.latest.max(now);
        self.latest
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
