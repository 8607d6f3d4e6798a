//! What a request may get of a response that is kept (RFC 9111 4, 5.2.1; RFC 5861).

use super::control::Control;
use super::store::Policy;
use http::header::{self, HeaderMap};

/// How far two clocks may be apart, of two nodes or of one before and after a start.
const SKEW_MS: u64 = 60_000;

/// What a client says about freshness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Nothing without asking the origin.
    pub no_cache: bool,
    /// Nothing older than this many seconds.
    pub max_age: Option<u64>,
    /// Nothing that is not fresh for this many more seconds.
    pub min_fresh: u64,
    /// As many seconds past its time are fine.
    pub max_stale: u64,
    /// As many seconds past its time are fine if the origin fails.
    pub stale_if_error: u64,
    /// Nothing rather than asking the origin.
    pub only_if_cached: bool,
    /// Keep nothing of it.
    pub no_store: bool,
}

impl Wish {
    /// What a request says. `Pragma` counts for those who know nothing newer.
    pub fn of(headers: &HeaderMap) -> Wish {
        if !headers.contains_key(header::CACHE_CONTROL) {
            let mut pragmas = headers.get_all(header::PRAGMA).iter();
            let no_cache = pragmas.any(|line| {
                crate::text::list(line).any(|word| word.eq_ignore_ascii_case(b"no-cache"))
            });
            return Wish {
                no_cache,
                ..Wish::default()
            };
        }
        let control = Control::of(headers, &header::CACHE_CONTROL);
        Wish {
            no_cache: control.no_cache.is_all(),
            max_age: control.max_age,
            min_fresh: control.min_fresh.unwrap_or(0),
            max_stale: control.max_stale.unwrap_or(0),
            stale_if_error: control.stale_if_error.unwrap_or(0),
            only_if_cached: control.only_if_cached,
            no_store: control.no_store,
        }
    }
}

/// What to do with a response that is kept. Ages and times to live are seconds; a time to live below zero is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Give it out.
    Fresh {
        /// How old it is.
        age_s: u64,
        /// How long it stays fresh.
        ttl_s: i64,
    },
    /// Give it out, and ask for it anew behind the client's back.
    Refresh {
        /// How old it is.
        age_s: u64,
        /// How long it stays fresh.
        ttl_s: i64,
    },
    /// Ask the origin first.
    Validate {
        /// It would have been fresh, but the client wants to know, or the origin is always to be asked.
        was_fresh: bool,
        /// It may be given out if the origin fails.
        if_error: bool,
    },
}

impl Policy {
    /// Seconds of age now.
    pub fn age_s(&self, now_ms: u64) -> u64 {
        self.age_ms(now_ms) / 1000
    }

    /// What came later than now was kept under a clock that went wrong, then or since: nobody knows how old it is.
    fn age_ms(&self, now_ms: u64) -> u64 {
        if self.came_at_ms.saturating_sub(now_ms) > SKEW_MS {
            return u64::MAX;
        }
        let resident = now_ms.saturating_sub(self.came_at_ms);
        resident.saturating_add(self.initial_age_s.saturating_mul(1000))
    }

    /// Seconds for which it stays fresh; below zero since when it is not.
    pub fn ttl_s(&self, now_ms: u64) -> i64 {
        let left = i128::from(self.lifetime_s) * 1000 - i128::from(self.age_ms(now_ms));
        i64::try_from(left.div_euclid(1000)).unwrap_or(i64::MIN)
    }

    /// What a request with this wish may get of it.
    pub fn decide(&self, wish: &Wish, now_ms: u64) -> Decision {
        let (age_ms, lifetime_ms) = (self.age_ms(now_ms), self.lifetime_s.saturating_mul(1000));
        let (age_s, ttl_s) = (age_ms / 1000, self.ttl_s(now_ms));
        let fresh = age_ms < lifetime_ms && !self.no_cache;
        let over_ms = age_ms.saturating_sub(lifetime_ms);
        let within = |window_s: u64| !self.no_cache && over_ms < window_s.saturating_mul(1000);
        let asked_for_less =
            wish.no_cache || wish.max_age.is_some_and(|most| age_s > most || most == 0);
        let too_short = age_ms.saturating_add(wish.min_fresh.saturating_mul(1000)) >= lifetime_ms;
        let pressed = asked_for_less || (wish.min_fresh > 0 && too_short);
        let if_error = self.stale_if_error_s.max(if self.must_revalidate {
            0
        } else {
            wish.stale_if_error
        });
        if fresh && !pressed {
            return Decision::Fresh { age_s, ttl_s };
        }
        if !pressed && within(self.stale_while_revalidate_s) {
            return Decision::Refresh { age_s, ttl_s };
        }
        if !pressed && !self.must_revalidate && within(wish.max_stale) {
            return Decision::Fresh { age_s, ttl_s };
        }
        Decision::Validate {
            was_fresh: fresh,
            if_error: fresh || within(if_error),
        }
    }
}
