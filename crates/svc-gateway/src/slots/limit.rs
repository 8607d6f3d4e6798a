//! How many places an upstream has: as configured, or as found.

use concurrency_gate::{Adaptive, Bounds, Policy};

/// How many places there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Fixed(u32),
    /// This many, and fewer for as long as the upstream cannot do with so many.
    UpTo(u32),
    /// Found by itself, up to this.
    Found(u32),
}

/// What the limit is to be, and what it is found from.
pub(super) struct Search {
    pub(super) limit: Limit,
    pub(super) adaptive: Option<Adaptive>,
}

impl Search {
    pub(super) fn new(limit: Limit) -> Self {
        Self {
            limit,
            adaptive: limit.policy(),
        }
    }
}

/// Where the search begins: few enough not to harm a small origin, enough to learn from.
const FIRST_LIMIT: u32 = 16;

impl Limit {
    pub(super) fn first(self) -> u32 {
        match self {
            Limit::Fixed(limit) | Limit::UpTo(limit) => limit,
            Limit::Found(most) => FIRST_LIMIT.min(most),
        }
    }

    fn policy(self) -> Option<Adaptive> {
        match self {
            Limit::Fixed(_) => None,
            Limit::UpTo(max) | Limit::Found(max) => {
                let policy = Policy::guarded(Bounds { min: 1, max });
                Adaptive::new(&policy, self.first())
            }
        }
    }
}
