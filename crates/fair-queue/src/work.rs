//! A unit of work as the queue sees it, and why one is turned away.

use std::time::Duration;

use thiserror::Error;

use crate::settings::{Class, MAX_WEIGHT};

/// Whose work it is, what it will cost and until when it is worth doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The class it belongs to.
    pub class: Class,
    /// A hash of the tenant's name. Tenants whose hashes collide share a flow.
    pub tenant: u64,
    /// The tenant's weight within its class. That of its newest work holds from its next turn on.
    pub weight: u32,
    /// What it is expected to cost, in units or bytes.
    pub cost: u64,
    /// On the queue's clock; never begun from then on.
    pub deadline: Option<Duration>,
}

impl Work {
    /// One unit of a tenant of weight 1, without deadline.
    pub fn of(class: Class, tenant: u64) -> Self {
        Self {
            class,
            tenant,
            weight: 1,
            cost: 1,
            deadline: None,
        }
    }

    /// With this expected cost.
    pub fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// With this weight of the tenant.
    pub fn weight(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    /// Not to be begun at this moment of the queue's clock or later.
    pub fn deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }

    #[inline]
    pub(crate) fn check(
        &self,
        classes: usize,
        max_cost: u64,
        now: impl FnOnce() -> Duration,
    ) -> Result<(), Refused> {
        if self.class.index() >= classes {
            return Err(Refused::UnknownClass);
        }
        if self.weight == 0 || self.weight > MAX_WEIGHT {
            return Err(Refused::Weight);
        }
        if self.cost == 0 || self.cost > max_cost {
            return Err(Refused::Cost);
        }
        match self.deadline {
            Some(deadline) if deadline <= now() => Err(Refused::Expired),
            _ => Ok(()),
        }
    }
}

/// Why work does not run.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq, Hash)]
pub enum Refused {
    /// The queue holds all it may.
    #[error("the queue is full")]
    Full,
    /// The tenant holds all it may.
    #[error("the tenant has too much waiting")]
    TenantFull,
    /// It was the oldest when room was needed.
    #[error("dropped as the oldest to make room")]
    Dropped,
    /// Its deadline passed before its turn came.
    #[error("the deadline has passed")]
    Expired,
    /// The queue was closed.
    #[error("the queue is closed")]
    Closed,
    /// A class that the settings do not have.
    #[error("no such class")]
    UnknownClass,
    /// The tenant's weight is zero or too large.
    #[error("the weight is out of range")]
    Weight,
    /// The cost is zero or above the highest one.
    #[error("the cost is out of range")]
    Cost,
}

impl Refused {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 8] = [
        Self::Full,
        Self::TenantFull,
        Self::Dropped,
        Self::Expired,
        Self::Closed,
        Self::UnknownClass,
        Self::Weight,
        Self::Cost,
    ];
}
