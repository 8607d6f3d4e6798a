//! Deadlines of all connections under one sweep, so that setting one is a store and no timer is made for it.
//!
//! A timer of the runtime costs a lock when it is made, moved forward or dropped, and a request would move three of
//! them. Here a connection writes the tick at which its patience ends; every [`TICK`] one task looks at all of them and
//! wakes those that are late. A deadline is kept to within two ticks, never early.

use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::HeaderValue;
use http_rules::date;
use kernel::clock;
use kernel::limits;
use kernel::lock::{Lock, LockSpec};

pub(crate) use owner::OWNER;
use owner::Owner;

mod owner;

/// How often deadlines are looked at.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The pulses of a door.
pub(crate) static PULSES: LockSpec = LockSpec {
    name: "door_pulses",
    level: 45,
    doc: "the connections of a door; taken when one comes, and ten times a second to look for late ones",
};

/// Connections looked at before others have their turn: each is a cache line that was not needed for a while.
const SEEN_AT_ONCE: usize = 128;
/// Times at which those who are late are woken, where they are more than these.
const MOMENTS: usize = 32;
/// Times at which others have their turn, at most: on a busy node each is as long as a round of all tasks.
const YIELDS: usize = 2_000;
/// Between two moments.
const MOMENT: Duration = Duration::from_millis(1);

/// How long a client may take over a piece of an answer before the service is told that it is slow.
pub(crate) const SLOW_TICKS: u32 = 10;

const NONE: u32 = 0;
const PASSED: u32 = u32::MAX;

/// The hands of the clock, and everyone who lives by it.
pub(crate) struct Clockwork {
    tick: AtomicU32,
    /// Changes when the date does.
    second: AtomicU32,
    date: ArcSwap<HeaderValue>,
    /// Who may vouch for clients, as a number.
    vouchers: AtomicU64,
    pulses: Lock<Vec<Arc<Pulse>>>,
}

impl Clockwork {
    pub(crate) fn new() -> Self {
        Self {
            tick: AtomicU32::new(1),
            second: AtomicU32::new(1),
            date: ArcSwap::from_pointee(date::value(clock::unix_time().as_secs())),
            vouchers: AtomicU64::new(0),
            pulses: Lock::new(&PULSES, Vec::new()),
        }
    }

    #[inline]
    pub(crate) fn now(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// The tick at which so many whole ticks have surely passed.
    #[inline]
    fn after(&self, ticks: u32) -> u32 {
        self.now().saturating_add(ticks).saturating_add(1)
    }

    /// Looks after a new pulse until it is dropped.
    pub(crate) fn watch(&self, stance: Stance) -> Watched {
        let pulse = Arc::new(Pulse::default());
        pulse.take(stance, self);
        self.pulses.lock().push(pulse.clone());
        Watched(pulse)
    }

    /// Turns until dropped.
    pub(crate) async fn run(&self) {
        let began = clock::now();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            let mut sweep = pin!(self.sweep(self.turn_hands(began)));
            // However long that takes on a busy node: who sets a deadline meanwhile is to have all of its time.
            loop {
                tokio::select! {
                    () = &mut sweep => break,
                    _ = ticks.tick() => { self.turn_hands(began); }
                }
            }
        }
    }

    fn turn_hands(&self, began: tokio::time::Instant) -> u32 {
        let passed = (clock::now() - began).as_millis() / TICK.as_millis();
        let now = u32::try_from(passed).unwrap_or(u32::MAX - 2) + 1;
        self.tick.store(now, Ordering::Relaxed);
        self.turn_the_page(clock::unix_time().as_secs());
        now
    }

    fn turn_the_page(&self, unix: u64) {
        let second = (unix as u32).max(1);
        if second != self.second.load(Ordering::Relaxed) {
            self.date.store(Arc::new(date::value(unix)));
            self.second.store(second, Ordering::Release);
        }
    }

    /// Looks at everyone, and wakes those who are late. A crowd that came at once is late at once; each of them has
    /// work to do when it is told, and the system behind it when it goes. So they are woken a few at a time, over half
    /// a tick. Whoever waits to be reminded is not kept waiting.
    async fn sweep(&self, now: u32) {
        let (mut late, mut next) = (Vec::new(), Some(0));
        while let Some(from) = next {
            let mut reminded = Vec::new();
            next = self.look_at_some(from, now, &mut late, &mut reminded);
            reminded.iter().for_each(|pulse| pulse.wake());
            if next.is_some() {
                tokio::task::yield_now().await;
            }
        }
        let mut moments = late.chunks(late.len().div_ceil(MOMENTS).max(1)).peekable();
        while let Some(moment) = moments.next() {
            for few in moment.chunks(late.len().div_ceil(YIELDS)) {
                few.iter().for_each(|pulse| pulse.wake());
                tokio::task::yield_now().await;
            }
            if moment.len() > 1 && moments.peek().is_some() {
                tokio::time::sleep(MOMENT).await;
            }
        }
    }

    /// Adds those of some who are late, and says where to go on. Who has stopped makes room for the last, who is looked
    /// at instead.
    fn look_at_some(
        &self,
        from: usize,
        now: u32,
        late: &mut Vec<Arc<Pulse>>,
        reminded: &mut Vec<Arc<Pulse>>,
    ) -> Option<usize> {
        let mut at = from;
        let mut pulses = self.pulses.lock();
        for _ in 0..SEEN_AT_ONCE {
            let pulse = pulses.get(at)?;
            if pulse.stopped.load(Ordering::Acquire) {
                pulses.swap_remove(at);
                continue;
            }
            let deadlines = [&pulse.read, &pulse.write, &pulse.part];
            let is_late = deadlines.map(|deadline| deadline.look(now)).contains(&true);
            if pulse.answer.look(now) {
                reminded.push(pulse.clone());
            } else if is_late {
                late.push(pulse.clone());
            }
            at += 1;
        }
        Some(at)
    }

    /// Asks everyone to leave.
    pub(crate) fn dismiss(&self) {
        for pulse in self.pulses.lock().iter() {
            pulse.order(Order::Leave);
        }
    }

    /// Takes over who may vouch for clients. Once these are others, everyone who was vouched for before is asked to
    /// leave.
    pub(crate) fn trust(&self, vouchers: u64) {
        let known = self.vouchers.load(Ordering::Relaxed) == vouchers;
        if known || self.vouchers.swap(vouchers, Ordering::SeqCst) == vouchers {
            return;
        }
        for pulse in self.pulses.lock().iter() {
            if pulse.vouched.load(Ordering::SeqCst) {
                pulse.order(Order::Leave);
            }
        }
    }

    /// Somebody has shown a certificate that these vouch for; by now it may be others who do.
    pub(crate) fn vouch(&self, pulse: &Pulse, vouchers: u64) {
        pulse.vouched.store(true, Ordering::SeqCst);
        if self.vouchers.load(Ordering::SeqCst) != vouchers {
            pulse.order(Order::Leave);
        }
    }

    /// Asks those to leave who only hold a place, and cuts off who takes too long to ask for something.
    pub(crate) fn make_room(&self) {
        let now = self.now();
        let head = ticks(limits::CROWDED_HEAD);
        for pulse in self.pulses.lock().iter() {
            let age = now.saturating_sub(pulse.since.load(Ordering::Relaxed));
            match pulse.stance() {
                // Whoever has just come is given the time to say something.
                Stance::Fresh | Stance::Resting if age >= 2 => pulse.order(Order::Leave),
                Stance::Head if age > head => pulse.order(Order::Cut),
                _ => {}
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn turn_to(&self, now: u32) {
        use futures_util::FutureExt;
        self.tick.store(now, Ordering::Relaxed);
        let mut sweep = std::pin::pin!(self.sweep(now));
        while sweep.as_mut().now_or_never().is_none() {}
    }
}

/// The date as it was last seen.
#[derive(Default)]
pub(crate) struct Today {
    second: u32,
    date: Option<HeaderValue>,
}

impl Today {
    /// The date, to within a tick.
    #[inline]
    pub(crate) fn date(&mut self, clock: &Clockwork) -> &[u8] {
        let second = clock.second.load(Ordering::Acquire);
        if second != self.second {
            self.second = second;
            self.date = Some(HeaderValue::clone(&clock.date.load()));
        }
        self.date.as_ref().map_or(b"", HeaderValue::as_bytes)
    }
}

/// A time in whole ticks, rounded up.
pub(crate) fn ticks(time: Duration) -> u32 {
    u32::try_from(time.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u32::MAX / 2)
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stance {
    /// Nothing has been said yet.
    Fresh,
    /// In the middle of a request head.
    Head,
    /// Being answered.
    Busy,
    /// Between two requests.
    Resting,
}

/// What a connection is told to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Order {
    /// Nothing.
    Stay,
    /// End once what was asked for is answered.
    Leave,
    /// End now.
    Cut,
}

/// A pulse that is looked after as long as this lives.
#[derive(Debug)]
pub(crate) struct Watched(Arc<Pulse>);

impl Watched {
    /// The pulse itself, for who lives no longer.
    pub(crate) fn shared(&self) -> Arc<Pulse> {
        self.0.clone()
    }
}

impl Deref for Watched {
    type Target = Pulse;

    #[inline]
    fn deref(&self) -> &Pulse {
        &self.0
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.stopped.store(true, Ordering::Release);
        // It would keep the memory of the ended task until the next sweep.
        self.0.owner.leaves();
    }
}

/// What the clockwork knows of one connection, or of one stream of it.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    pub(crate) read: Deadline,
    pub(crate) write: Deadline,
    /// For what has begun to come among other things.
    pub(crate) part: Deadline,
    /// For the answer to what was asked, see [`Reminder`](crate::Reminder).
    pub(crate) answer: Deadline,
    stance: AtomicU8,
    /// The tick at which the stance was taken.
    since: AtomicU32,
    order: AtomicU8,
    stopped: AtomicBool,
    /// It has shown a certificate.
    vouched: AtomicBool,
    owner: Owner,
}

impl Pulse {
    /// Who is woken when a deadline passes or an order comes.
    #[inline]
    pub(crate) fn belongs_to(&self, waker: &Waker) {
        self.owner.is(waker);
    }

    /// Wakes whom it belongs to.
    pub(crate) fn wake(&self) {
        self.owner.wake();
    }

    #[inline]
    pub(crate) fn stance(&self) -> Stance {
        match self.stance.load(Ordering::Relaxed) {
            0 => Stance::Fresh,
            1 => Stance::Head,
            2 => Stance::Busy,
            _ => Stance::Resting,
        }
    }

    #[inline]
    pub(crate) fn take(&self, stance: Stance, clock: &Clockwork) {
        self.stance.store(stance as u8, Ordering::Relaxed);
        self.since.store(clock.now(), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn ordered(&self) -> Order {
        match self.order.load(Ordering::Relaxed) {
            0 => Order::Stay,
            1 => Order::Leave,
            _ => Order::Cut,
        }
    }

    pub(crate) fn order(&self, order: Order) {
        if self.order.fetch_max(order as u8, Ordering::AcqRel) < order as u8 {
            self.owner.wake();
        }
    }
}

/// A tick by which something has to happen.
#[derive(Debug, Default)]
pub(crate) struct Deadline(AtomicU32);

impl Deadline {
    /// In so many ticks, and not earlier.
    #[inline]
    pub(crate) fn set(&self, clock: &Clockwork, ticks: u32) {
        self.0.store(clock.after(ticks), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn clear(&self) {
        if self.0.load(Ordering::Relaxed) != NONE {
            self.0.store(NONE, Ordering::Relaxed);
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NONE
    }

    #[inline]
    pub(crate) fn passed(&self) -> bool {
        self.0.load(Ordering::Relaxed) == PASSED
    }

    /// Marks it as passed when it is; says whether it just was.
    fn look(&self, now: u32) -> bool {
        let at = self.0.load(Ordering::Relaxed);
        if at == NONE || at == PASSED || now < at {
            return false;
        }
        // Moved at this moment: not late after all.
        let marked = self
            .0
            .compare_exchange(at, PASSED, Ordering::Relaxed, Ordering::Relaxed);
        marked.is_ok()
    }
}

#[cfg(test)]
mod tests;
