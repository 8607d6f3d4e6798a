//! What happens to the origin while a limit policy watches.

use std::time::Duration;

use testkit::sim::Rng;

use super::{PLACES, SERVICE};

/// How long each trace lasts.
pub(crate) const LENGTH: Duration = Duration::from_secs(60);
/// When a request to the origin is given up.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);

const SLOW: Duration = Duration::from_millis(60);
const QUICK_MODE: Duration = Duration::from_millis(5);
const SLOW_MODE: Duration = Duration::from_millis(200);
const FEW_PLACES: usize = 8;
const HANG_EVERY_S: u64 = 10;
const PAUSE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(32));

/// The changes come at half time, and the last quarter is as the first half was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trace {
    /// 60 ms instead of 20.
    Step,
    /// 90 % take 5 ms and 10 % take 200, throughout.
    Bimodal,
    /// In one second of ten, nothing that is begun is answered.
    ConstantTimeout,
    /// Stands still for two seconds, then goes on with what it has.
    Pause,
    /// Eight places instead of 32.
    FewerPlaces,
}

impl Trace {
    pub(crate) const ALL: [Self; 5] = [
        Self::Step,
        Self::Bimodal,
        Self::ConstantTimeout,
        Self::Pause,
        Self::FewerPlaces,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Step => "step 20-60-20 ms",
            Self::Bimodal => "bimodal 5/200 ms",
            Self::ConstantTimeout => "constant timeout",
            Self::Pause => "pause of 2 s",
            Self::FewerPlaces => "places 32-8-32",
        }
    }

    /// How much the origin does at once at that moment.
    pub(crate) fn places(self, now: Duration) -> usize {
        match self {
            Self::FewerPlaces if is_changed(now) => FEW_PLACES,
            _ => PLACES,
        }
    }

    /// When work begun now is done.
    pub(crate) fn done(self, now: Duration, rng: &mut Rng) -> Duration {
        let takes = self.typical(now, rng).mul_f64(0.9 + 0.2 * rng.f64());
        match self {
            Self::ConstantTimeout if hangs(now) => now + TIMEOUT,
            Self::Pause => after_pause(now, takes),
            _ => now + takes,
        }
    }

    /// Answers a second, if not one place is ever idle.
    pub(crate) fn capacity_per_s(self, now: Duration) -> f64 {
        let mean_s = match self {
            Self::ConstantTimeout if hangs(now) => return 0.0,
            Self::Pause if (PAUSE.0..PAUSE.1).contains(&now) => return 0.0,
            Self::Step if is_changed(now) => SLOW.as_secs_f64(),
            Self::Bimodal => 0.9 * QUICK_MODE.as_secs_f64() + 0.1 * SLOW_MODE.as_secs_f64(),
            _ => SERVICE.as_secs_f64(),
        };
        self.places(now) as f64 / mean_s
    }

    fn typical(self, now: Duration, rng: &mut Rng) -> Duration {
        match self {
            Self::Step if is_changed(now) => SLOW,
            Self::Bimodal if rng.f64() < 0.9 => QUICK_MODE,
            Self::Bimodal => SLOW_MODE,
            _ => SERVICE,
        }
    }
}

fn is_changed(now: Duration) -> bool {
    (LENGTH / 2..LENGTH * 3 / 4).contains(&now)
}

fn hangs(now: Duration) -> bool {
    now.as_secs() % HANG_EVERY_S == HANG_EVERY_S / 2
}

/// Work stands still with the origin.
fn after_pause(now: Duration, takes: Duration) -> Duration {
    let (from, until) = PAUSE;
    match now + takes {
        done if done <= from || now >= until => done,
        done => done + (until - now.max(from)),
    }
}
