//! Sees from a thread of its own what a runtime cannot say of itself: a worker that does not yield, a runtime that does
//! not turn, a supervisor that is gone.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use serde::Serialize;

use crate::clock::Timeline;
use crate::limits;
use crate::lock::{self, Lock};
use crate::metrics::{Counter, Gauge, Histogram, Kind, MetricSpec, Registry};

pub use thread::{Alive, Watch};

mod thread;

/// Stalls that began.
pub static STALLS: MetricSpec = MetricSpec {
    name: "stalls_total",
    kind: Kind::Counter,
    labels: &["who"],
    help: "Times a worker of a pool, or the runtime, did not yield for a second",
};
/// Stalls at the moment.
pub static STALLED: MetricSpec = MetricSpec {
    name: "stalled",
    kind: Kind::Gauge,
    labels: &["who"],
    help: "Workers of a pool that do not yield at the moment; 1 for a runtime that does not turn",
};
/// How long stalls lasted.
pub static LASTED: MetricSpec = MetricSpec {
    name: "runtime_stall_seconds",
    kind: Kind::Histogram(&[1.0, 2.0, 5.0, 10.0, 30.0, 60.0]),
    labels: &["who"],
    help: "How long stalls lasted that are over",
};

/// The name of the runtime itself.
const RUNTIME: &str = "runtime";

/// Counts the turns of somebody who must yield: odd while at it, even between. One writes, the watchdog reads; a turn
/// costs two stores and no look at a clock.
#[derive(Debug, Default)]
pub(crate) struct Pulse(AtomicU64);

impl Pulse {
    fn turn(&self) {
        self.0
            .store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Within a turn; over when dropped, by a panic too.
struct Turn<'a>(&'a Pulse);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.turn();
    }
}

pin_project! {
    /// A future whose every poll is a turn.
    pub(crate) struct Watched<F> {
        #[pin]
        inner: F,
        pulse: Arc<Pulse>,
    }
}

impl<F: Future> Future for Watched<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        this.pulse.turn();
        let _turn = Turn(this.pulse);
        this.inner.poll(cx)
    }
}

/// What a look at a pulse says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// As before.
    Nothing,
    /// It has not yielded for too long.
    Began,
    /// It yields again, after so long.
    Over(Duration),
}

/// What was seen last of a pulse.
#[derive(Debug, Default)]
struct Glance {
    count: u64,
    since: Duration,
    stalled: bool,
}

impl Glance {
    fn look(&mut self, count: u64, now: Duration) -> Seen {
        if count != self.count || count.is_multiple_of(2) {
            let was = std::mem::replace(&mut self.stalled, false);
            let since = std::mem::replace(&mut self.since, now);
            self.count = count;
            return match was {
                true => Seen::Over(now.saturating_sub(since)),
                false => Seen::Nothing,
            };
        }
        if !self.stalled && now.saturating_sub(self.since) >= limits::STALL {
            self.stalled = true;
            return Seen::Began;
        }
        Seen::Nothing
    }
}

/// Done again and again while somebody stalls, so that others do its part.
pub(crate) type Relief = Arc<dyn Fn() + Send + Sync>;

struct Entry {
    who: &'static str,
    index: usize,
    pulse: Weak<Pulse>,
    glance: Glance,
    relief: Option<Relief>,
}

/// One that does not yield at the moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stall {
    /// A pool, or `runtime`.
    pub who: &'static str,
    /// Which of its workers.
    pub index: usize,
    /// For so many seconds.
    pub for_s: f64,
}

/// Who is watched, and what was seen. Cheap to clone.
#[derive(Clone)]
pub struct Watchdog {
    shared: Arc<Shared>,
}

struct Shared {
    registry: Registry,
    timeline: Timeline,
    entries: Lock<Vec<Entry>>,
}

struct Meters {
    stalls: Counter,
    stalled: Gauge,
    lasted: Histogram,
}

impl Watchdog {
    pub(crate) fn new(registry: &Registry, timeline: Timeline) -> Self {
        let shared = Shared {
            registry: registry.clone(),
            timeline,
            entries: Lock::new(&lock::WATCHED, Vec::new()),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// `life` with every poll watched, as the worker `index` of `who`, until it ends.
    pub(crate) fn watched<F: Future>(
        &self,
        who: &'static str,
        index: usize,
        relief: Relief,
        life: F,
    ) -> Watched<F> {
        let pulse = Arc::new(Pulse::default());
        self.enter(who, index, &pulse, Some(relief));
        Watched { inner: life, pulse }
    }

    /// Shows that the runtime turns, for as long as it does.
    pub async fn heartbeat(&self) -> Infallible {
        // Always odd: whoever has to beat is always at it.
        let pulse = Arc::new(Pulse(AtomicU64::new(1)));
        self.enter(RUNTIME, 0, &pulse, None);
        loop {
            tokio::time::sleep(limits::HEARTBEAT).await;
            pulse.0.fetch_add(2, Ordering::Relaxed);
        }
    }

    /// Those who do not yield at the moment, for status pages.
    pub fn stalls(&self) -> Vec<Stall> {
        let now = self.shared.timeline.now();
        let entries = self.shared.entries.lock();
        let stalled = entries.iter().filter(|entry| entry.glance.stalled);
        stalled
            .map(|entry| Stall {
                who: entry.who,
                index: entry.index,
                for_s: now.saturating_sub(entry.glance.since).as_secs_f64(),
            })
            .collect()
    }

    fn enter(&self, who: &'static str, index: usize, pulse: &Arc<Pulse>, relief: Option<Relief>) {
        // Seen in the metrics before anything happened.
        self.meters(who);
        let glance = Glance {
            count: pulse.0.load(Ordering::Relaxed),
            since: self.shared.timeline.now(),
            stalled: false,
        };
        let mut entries = self.shared.entries.lock();
        // Whoever ended between two looks is not kept for the next one, which may never come: simulated time has no
        // thread that looks. Who stalled is: its end is yet to be told.
        entries.retain(|entry| entry.glance.stalled || entry.pulse.strong_count() > 0);
        entries.push(Entry {
            who,
            index,
            pulse: Arc::downgrade(pulse),
            glance,
            relief,
        });
    }

    fn meters(&self, who: &'static str) -> Meters {
        let registry = &self.shared.registry;
        Meters {
            stalls: registry.counter(&STALLS, &[who]),
            stalled: registry.gauge(&STALLED, &[who]),
            lasted: registry.histogram(&LASTED, &[who]),
        }
    }

    /// Looks at everybody once.
    fn look(&self, now: Duration) {
        let (changes, reliefs) = self.changes(now);
        for (who, index, seen) in changes {
            let meters = self.meters(who);
            match seen {
                Seen::Nothing => {}
                Seen::Began => {
                    meters.stalls.inc();
                    meters.stalled.inc();
                    tracing::error!(who, index, "does not yield");
                }
                Seen::Over(lasted) => {
                    meters.stalled.dec();
                    meters.lasted.observe(lasted.as_secs_f64());
                    let lasted_ms = lasted.as_millis() as u64;
                    tracing::warn!(who, index, lasted_ms, "yields again");
                }
            }
        }
        reliefs.iter().for_each(|relief| relief());
    }

    /// What changed since the last look, and what helps who waits for others. None of it is done under the lock.
    fn changes(&self, now: Duration) -> (Vec<(&'static str, usize, Seen)>, Vec<Relief>) {
        let (mut changes, mut reliefs) = (Vec::new(), Vec::new());
        self.shared.entries.lock().retain_mut(|entry| {
            let pulse = entry.pulse.upgrade();
            // One that is gone yields.
            let count = pulse
                .as_ref()
                .map_or(0, |pulse| pulse.0.load(Ordering::Relaxed));
            let seen = entry.glance.look(count, now);
            if seen != Seen::Nothing {
                changes.push((entry.who, entry.index, seen));
            }
            if entry.glance.stalled {
                reliefs.extend(entry.relief.clone());
            }
            pulse.is_some()
        });
        (changes, reliefs)
    }
}

#[cfg(test)]
mod tests;
