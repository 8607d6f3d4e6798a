//! One address that requests are sent to: who may use it, what it has done, and its connections.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use concurrency_gate::BreakerState;
use kernel::lock::Lock;
use kernel::tasks::Spawner;
use tokio::time::Instant;

use crate::balance::mix;
use crate::cost::Latency;
use crate::idle::Idle;
use crate::io::Connections;
use crate::members::Fleet;
use crate::meters::Meters;
use crate::record::{Admission, Record, Verdict};
use crate::spec::{EndpointSpec, PoolSpec};
use crate::tables;

/// Active health has taken it out, or does not know it yet.
const DOWN: u32 = 1;
/// Its breaker is not closed.
const GUARDED: u32 = 2;
/// It has just come and takes less than its share.
const RAMPING: u32 = 4;
/// It is no member any more.
const GONE: u32 = 8;
/// It came while others were at work, and active health has not heard of it yet.
const UNHEARD: u32 = 16;
const EPOCH_SHIFT: u32 = 16;

/// The share a newcomer begins with.
const RAMP_FROM: f32 = 0.1;

/// Where an endpoint is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) spec: EndpointSpec,
    pub(crate) address: SocketAddr,
    /// The same host in the other family, dialled when this one cannot be reached.
    pub(crate) alternate: Option<SocketAddr>,
}

impl Target {
    /// Whether it is the same endpoint, whatever its weight.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let place = |target: &Self| {
            let spec = &target.spec;
            (spec.scheme.clone(), spec.host.clone(), spec.port)
        };
        self.address == other.address
            && self.alternate == other.alternate
            && place(self) == place(other)
    }
}

/// Tells an endpoint from all others of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EndpointId(u32);

/// What all endpoints of a pool share.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) origin: Instant,
    pub(crate) meters: Meters,
    /// Drives HTTP/2 connections.
    pub(crate) tasks: Spawner,
    /// How many endpoints have a breaker that is not closed.
    pub(crate) guarded: Arc<AtomicUsize>,
    /// Who else is there.
    pub(crate) fleet: Arc<ArcSwap<Weak<Fleet>>>,
}

pub(crate) struct Endpoint {
    pub(crate) id: EndpointId,
    /// The same for the same address in every process, for hashing.
    pub(crate) identity: u64,
    pub(crate) target: Target,
    pub(crate) common: Common,
    /// Of the pool; a request reads it only when something is out of the ordinary.
    pub(crate) settings: ArcSwap<PoolSpec>,
    weight: AtomicU32,
    in_flight: AtomicU32,
    /// Flags, and in the upper half the breaker's epoch: who reads zero flags has the epoch that belongs to them.
    word: AtomicU32,
    latency: AtomicU64,
    ramp_since_ms: AtomicU64,
    probe_at_ns: AtomicU64,
    record: Lock<Record>,
    pub(crate) idle: Idle,
    pub(crate) connections: Arc<Connections>,
    pub(crate) streams: crate::h2::Streams,
}

impl Endpoint {
    pub(crate) fn new(target: Target, settings: Arc<PoolSpec>, common: Common) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let flags = if settings.health.is_some() { DOWN } else { 0 };
        Self {
            id: EndpointId(NEXT.fetch_add(1, Ordering::Relaxed)),
            identity: identity(target.address),
            weight: AtomicU32::new(target.spec.weight.max(1)),
            target,
            common,
            in_flight: AtomicU32::new(0),
            word: AtomicU32::new(flags),
            latency: AtomicU64::new(Latency::UNKNOWN.to_word()),
            ramp_since_ms: AtomicU64::new(0),
            probe_at_ns: AtomicU64::new(0),
            record: Lock::new(&tables::RECORD, Record::new(settings.passive)),
            idle: Idle::new(&settings),
            connections: Arc::default(),
            streams: crate::h2::Streams::default(),
            settings: ArcSwap::new(settings),
        }
    }

    /// Takes on new settings; connections, breaker and latency stay.
    pub(crate) fn adopt(&self, target: &Target, settings: &Arc<PoolSpec>) {
        let before = self.settings.swap(settings.clone());
        self.weight
            .store(target.spec.weight.max(1), Ordering::Relaxed);
        if before.health.is_some() && settings.health.is_none() {
            self.word.fetch_and(!(DOWN | UNHEARD), Ordering::Relaxed);
        }
        let other_wire = before.protocol != settings.protocol || before.tls != settings.tls;
        self.idle.adopt(settings, other_wire);
        if other_wire {
            self.streams.retire();
        }
        let mut record = self.record.lock();
        record.reconfigure(settings.passive);
        self.publish(&record);
    }

    /// No member any more: what is busy ends, nothing is kept.
    pub(crate) fn leave(&self) {
        // Who sees this also sees that the fleet is another.
        self.word.fetch_or(GONE, Ordering::Release);
        self.idle.close();
        self.streams.retire();
    }

    pub(crate) fn since_start(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.common.origin)
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn weight(&self) -> f32 {
        self.weight.load(Ordering::Relaxed) as f32
    }

    pub(crate) fn latency(&self) -> Latency {
        Latency::from_word(self.latency.load(Ordering::Relaxed))
    }

    /// What one more request costs.
    pub(crate) fn cost(&self, now: Duration) -> f32 {
        self.latency().cost(now, self.in_flight())
    }

    /// Its weight as far as it takes part now; zero when it does not.
    #[inline]
    pub(crate) fn share(&self, now: Duration) -> f32 {
        let flags = self.flags();
        if flags == 0 && !self.is_full() {
            return self.weight();
        }
        self.lessened(flags, now)
    }

    #[cold]
    fn lessened(&self, flags: u32, now: Duration) -> f32 {
        if flags & (DOWN | GONE) != 0 || self.is_full() {
            return 0.0;
        }
        let mut share = self.weight();
        if flags & RAMPING != 0 {
            share *= self.ramp(now);
        }
        if flags & GUARDED != 0 {
            let mut record = self.record.lock();
            share *= record.share(now);
            self.publish(&record);
        }
        share
    }

    /// Its weight where nobody is known to be up: better to ask somebody unheard of than nobody.
    pub(crate) fn unheard_share(&self) -> f32 {
        let flags = self.flags();
        if flags & (UNHEARD | GUARDED | GONE) != UNHEARD || self.is_full() {
            return 0.0;
        }
        self.weight()
    }

    fn ramp(&self, now: Duration) -> f32 {
        let since = Duration::from_millis(self.ramp_since_ms.load(Ordering::Relaxed));
        let share = ramp_share(now.saturating_sub(since), self.settings.load().slow_start);
        if share >= 1.0 {
            self.word.fetch_and(!RAMPING, Ordering::Relaxed);
        }
        share
    }

    /// Whether every connection it may have is busy.
    pub(crate) fn is_full(&self) -> bool {
        self.connections.open() >= self.idle.open_max()
            && self.idle.is_empty()
            && !self.streams.has_room()
    }

    /// Requests that can be under way at once where each needs a connection to itself.
    pub(crate) fn room(&self) -> usize {
        self.idle.open_max().saturating_sub(self.connections.lent())
    }

    /// Whether there is sense in asking it: it is up, and its breaker lets somebody in.
    pub(crate) fn may_be_asked(&self, now: Duration, hasty: bool) -> bool {
        let flags = self.flags();
        let is_let_in = || flags & GUARDED == 0 || self.record.lock().lets_in(now, hasty);
        flags & (DOWN | GONE) == 0 && is_let_in()
    }

    pub(crate) fn is_guarded(&self) -> bool {
        self.flags() & GUARDED != 0
    }

    pub(crate) fn is_down(&self) -> bool {
        self.flags() & DOWN != 0
    }

    /// Whether nobody goes there, or none but who finds out whether it is well again.
    pub(crate) fn is_shut(&self) -> bool {
        let (state, _) = self.breaker();
        self.is_down() || matches!(state, BreakerState::Open | BreakerState::HalfOpen)
    }

    /// Neither down nor left alone by its breaker.
    pub(crate) fn is_well(&self) -> bool {
        self.flags() & (DOWN | GUARDED) == 0
    }

    pub(crate) fn is_ramping(&self) -> bool {
        self.flags() & RAMPING != 0
    }

    /// Counts one in; the epoch is the one in which it was looked at.
    pub(crate) fn admit(&self) -> Admission {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Admission::of((self.word.load(Ordering::Relaxed) >> EPOCH_SHIFT) as u16)
    }

    /// Counts one in as a probe, if it is time for one and the endpoint is a member that is up.
    pub(crate) fn admit_probe(&self, now: Duration, hasty: bool) -> Option<Admission> {
        let due = now.as_nanos() as u64 >= self.probe_at_ns.load(Ordering::Relaxed);
        if !due || self.flags() & (GUARDED | DOWN | GONE) != GUARDED || self.is_full() {
            return None;
        }
        let mut record = self.record.lock();
        let admission = record.probe(now, hasty);
        self.publish(&record);
        if admission.is_some() {
            self.in_flight.fetch_add(1, Ordering::Relaxed);
        }
        admission
    }

    /// Counts one out and learns from what became of it.
    pub(crate) fn settle(
        &self,
        now: Duration,
        admission: Admission,
        verdict: Verdict,
        took: Duration,
    ) {
        let alone = self.in_flight.fetch_sub(1, Ordering::Relaxed) == 1;
        if verdict == Verdict::Nothing && admission.probe.is_none() {
            return;
        }
        let verdict = self.judged(now, admission, verdict, alone);
        self.learn(now, admission, verdict, took);
    }

    /// Learns of a request what can be said before it ends. From then on it is there like any other: a probe is over.
    pub(crate) fn heard(
        &self,
        now: Duration,
        admission: Admission,
        verdict: Verdict,
        took: Duration,
    ) -> Admission {
        let verdict = self.judged(now, admission, verdict, self.in_flight() == 1);
        let epoch = self.learn(now, admission, verdict, took);
        let was_probe = admission.probe.is_some() && verdict == Verdict::Success;
        Admission {
            vouched: was_probe,
            ..Admission::of(epoch)
        }
    }

    /// Too much is no excuse for who has nothing else to do, nor where somebody else is there to do it.
    fn judged(
        &self,
        now: Duration,
        admission: Admission,
        verdict: Verdict,
        alone: bool,
    ) -> Verdict {
        let excused = || !alone && admission.probe.is_none() && !self.has_others(now);
        match verdict {
            Verdict::Overrun if !excused() => Verdict::Failure,
            verdict => verdict,
        }
    }

    /// The epoch is the one that there is then.
    fn learn(&self, now: Duration, admission: Admission, verdict: Verdict, took: Duration) -> u16 {
        let mut record = self.record.lock();
        let verdict = record.weigh(now, verdict);
        let latency = match verdict {
            Verdict::Success => self.latency().heard(now, took),
            Verdict::Failure => self.latency().failed(now, took),
            _ => self.latency(),
        };
        self.latency.store(latency.to_word(), Ordering::Relaxed);
        if record.settle(now, admission, verdict) {
            self.common.meters.opened.inc();
        }
        self.publish(&record);
        record.epoch()
    }

    /// Whether another member of its pool takes requests.
    #[cold]
    fn has_others(&self, now: Duration) -> bool {
        let fleet = self.common.fleet.load().upgrade();
        fleet.is_some_and(|fleet| {
            let mut others = fleet.endpoints.iter().filter(|other| other.id != self.id);
            others.any(|other| other.share(now) > 0.0)
        })
    }

    fn publish(&self, record: &Record) {
        let guarded = if record.state() == BreakerState::Closed {
            0
        } else {
            GUARDED
        };
        if guarded != 0 {
            let probe_at = u64::try_from(record.probe_at().as_nanos()).unwrap_or(u64::MAX);
            self.probe_at_ns.store(probe_at, Ordering::Relaxed);
        }
        let upper = u32::from(record.epoch()) << EPOCH_SHIFT | guarded;
        let kept = DOWN | RAMPING | GONE | UNHEARD;
        if self.word.load(Ordering::Relaxed) & !kept == upper {
            return;
        }
        // The other flags have other writers.
        let change = |word: u32| Some(word & kept | upper);
        let before = self
            .word
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
        let was_guarded = before.unwrap_or_else(|word| word) & GUARDED;
        match (was_guarded, guarded) {
            (0, GUARDED) => self.common.guarded.fetch_add(1, Ordering::Relaxed),
            (GUARDED, 0) => self.common.guarded.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    /// How long who finds it open should wait.
    pub(crate) fn retry_after(&self, now: Duration) -> Duration {
        self.record.lock().retry_after(now)
    }

    pub(crate) fn breaker(&self) -> (BreakerState, u64) {
        let record = self.record.lock();
        (record.state(), record.failures())
    }

    /// Active health says it is up or down; one that comes up begins with a small share.
    pub(crate) fn set_up(&self, up: bool, now: Duration) {
        self.word.fetch_and(!UNHEARD, Ordering::Relaxed);
        if !up {
            self.word.fetch_or(DOWN, Ordering::Relaxed);
        } else if self.is_down() {
            self.begin_ramp(now);
            self.word.fetch_and(!DOWN, Ordering::Relaxed);
        }
    }

    /// Comes while others are at work: with a small share, and until it is heard of only where nobody else is up.
    pub(crate) fn join(&self, now: Duration) {
        self.begin_ramp(now);
        if self.is_down() {
            self.word.fetch_or(UNHEARD, Ordering::Relaxed);
        }
    }

    /// Begins with a small share of its weight.
    fn begin_ramp(&self, now: Duration) {
        self.ramp_since_ms
            .store(now.as_millis() as u64, Ordering::Relaxed);
        self.word.fetch_or(RAMPING, Ordering::Relaxed);
    }

    fn flags(&self) -> u32 {
        self.word.load(Ordering::Relaxed) & ((1 << EPOCH_SHIFT) - 1)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if self.is_guarded() {
            self.common.guarded.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The share of one that came `passed` ago.
fn ramp_share(passed: Duration, slow_start: Duration) -> f32 {
    if passed >= slow_start {
        return 1.0;
    }
    let progress = passed.as_secs_f32() / slow_start.as_secs_f32();
    RAMP_FROM + (1.0 - RAMP_FROM) * progress
}

fn identity(address: SocketAddr) -> u64 {
    let ip = match address.ip() {
        std::net::IpAddr::V4(four) => u128::from(u32::from(four)),
        std::net::IpAddr::V6(six) => u128::from(six),
    };
    mix(ip as u64) ^ mix((ip >> 64) as u64 ^ u64::from(address.port()))
}

#[cfg(test)]
mod tests;
