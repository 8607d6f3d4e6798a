//! Telling peers that they were refused, but not each time: a flood must not be answered by one.

use std::hash::{BuildHasher, Hash, RandomState};
use std::time::Duration;

use crate::rejection::Rejection;
use crate::sync::{Mutex, lock};

/// The shortest time between two notices to one peer.
pub const NOTICE_INTERVAL: Duration = Duration::from_millis(200);

/// What a refused peer is told: FAIL, RATE_LIMITED, RETRY, transient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice<O> {
    /// What became of the request.
    pub control: Control,
    /// Why.
    pub reason: NoticeReason,
    /// What to do about it.
    pub advice: Advice,
    /// Whether it may go better next time.
    pub transient: bool,
    /// What the peer had asked for.
    pub opcode: O,
    /// When to ask again.
    pub retry_after: Duration,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// It was not done.
    Fail,
}

/// Why a request was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeReason {
    /// Too many at once.
    RateLimited,
}

/// What a peer should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Ask again.
    Retry,
}

impl<O> Notice<O> {
    fn new(opcode: O, rejection: Rejection) -> Self {
        Self {
            control: Control::Fail,
            reason: NoticeReason::RateLimited,
            advice: Advice::Retry,
            transient: true,
            opcode,
            retry_after: rejection.retry_after(),
        }
    }
}

const SETS: usize = 64;

/// Who was told when, in a table that does not grow. A peer that finds no place there is not told:
/// too few notices are better than too many.
pub struct Notices {
    hasher: RandomState,
    sets: Box<[Mutex<Vec<Told>>]>,
    places: usize,
}

struct Told {
    peer: u64,
    at: Duration,
}

impl Notices {
    /// Remembers at least as many peers at a time.
    pub fn new(peers: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            sets: (0..SETS).map(|_| Mutex::new(Vec::new())).collect(),
            // Peers do not fall evenly on the sets.
            places: peers.div_ceil(SETS).saturating_mul(2).max(4),
        }
    }

    /// The notice, if this peer may be told now.
    pub fn notice<P: Hash + ?Sized, O>(
        &self,
        peer: &P,
        opcode: O,
        rejection: Rejection,
        now: Duration,
    ) -> Option<Notice<O>> {
        self.allows(peer, now)
            .then(|| Notice::new(opcode, rejection))
    }

    /// Whether this peer may be told something now; if so, it counts as told.
    pub fn allows<P: Hash + ?Sized>(&self, peer: &P, now: Duration) -> bool {
        let peer = self.hasher.hash_one(peer);
        let mut set = lock(&self.sets[(peer >> 32) as usize % SETS]);
        if let Some(told) = set.iter_mut().find(|told| told.peer == peer) {
            return told.again(now);
        }
        if set.len() >= self.places {
            set.retain(|told| now.saturating_sub(told.at) < NOTICE_INTERVAL);
        }
        let has_place = set.len() < self.places;
        if has_place {
            set.push(Told { peer, at: now });
        }
        has_place
    }
}

impl Told {
    fn again(&mut self, now: Duration) -> bool {
        let due = now.saturating_sub(self.at) >= NOTICE_INTERVAL;
        // After a step back of the clock the interval begins anew, rather than last until then.
        if due || now < self.at {
            self.at = now;
        }
        due
    }
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notices")
            .field("places", &(self.places * SETS))
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::rejection::Reason;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    // req: GT-10
    #[test]
    fn a_notice_says_fail_rate_limited_retry_and_when() {
        let rejection = Rejection::new(Reason::Saturated, ms(70));
        let notice = Notices::new(8).notice("peer", 0x2a_u16, rejection, ms(0));
        let notice = notice.unwrap();
        assert_eq!(notice.control, Control::Fail);
        assert_eq!(notice.reason, NoticeReason::RateLimited);
        assert_eq!(notice.advice, Advice::Retry);
        assert!(notice.transient);
        assert_eq!((notice.opcode, notice.retry_after), (0x2a, ms(70)));
    }

    // req: GT-10
    #[test]
    fn no_peer_is_told_twice_within_the_interval_however_many_there_are() {
        testkit::sim::run("gate notices", 20, |rng| {
            let notices = Notices::new(64);
            let mut told: HashMap<u32, Duration> = HashMap::new();
            let mut now = ms(0);
            for _ in 0..5_000 {
                now += ms(rng.u64(..3));
                let peer = rng.u32(..1_000);
                if notices.allows(&peer, now)
                    && let Some(before) = told.insert(peer, now)
                {
                    assert!(
                        now - before >= NOTICE_INTERVAL,
                        "{peer}: {before:?} and {now:?}"
                    );
                }
            }
            let places: usize = notices.sets.iter().map(|set| lock(set).len()).sum();
            assert!(places <= SETS * notices.places);
        });
    }

    // req: GT-10
    #[test]
    fn peers_that_fit_are_all_told_and_told_again_in_time() {
        let notices = Notices::new(10_000);
        for round in 0..3 {
            let now = NOTICE_INTERVAL * round;
            let told = (0..5_000_u32).filter(|peer| notices.allows(peer, now));
            assert_eq!(told.count(), 5_000);
            let again = (0..5_000_u32).filter(|peer| notices.allows(peer, now + ms(199)));
            assert_eq!(again.count(), 0);
        }
    }

    // req: GT-10
    #[test]
    fn a_clock_that_steps_back_silences_nobody_for_long() {
        let notices = Notices::new(8);
        assert!(notices.allows("peer", ms(1_000_000)));
        assert!(!notices.allows("peer", ms(5)), "a step back allows nothing");
        assert!(notices.allows("peer", ms(205)));
    }
}
