//! The counters of this crate, resolved once.

use kernel::metrics::{Counter, Registry};

use crate::tables;

/// Shared by all endpoints of a pool.
#[derive(Clone)]
pub(crate) struct Meters {
    pub(crate) dialled: Counter,
    pub(crate) dial_failed: Counter,
    pub(crate) dial_timeout: Counter,
    pub(crate) dial_forbidden: Counter,
    pub(crate) opened: Counter,
    pub(crate) down: Counter,
    pub(crate) up: Counter,
    pub(crate) resolved: Counter,
    pub(crate) resolve_failed: Counter,
    pub(crate) resolve_timeout: Counter,
    pub(crate) resolve_forbidden: Counter,
}

impl Meters {
    pub(crate) fn new(registry: &Registry) -> Self {
        let dial = |result| registry.counter(&tables::DIALS, &[result]);
        let resolve = |result| registry.counter(&tables::RESOLVED, &[result]);
        let health = |to| registry.counter(&tables::HEALTH, &[to]);
        Self {
            dialled: dial("ok"),
            dial_failed: dial("failed"),
            dial_timeout: dial("timeout"),
            dial_forbidden: dial("forbidden"),
            opened: registry.counter(&tables::OPENED, &[]),
            down: health("down"),
            up: health("up"),
            resolved: resolve("ok"),
            resolve_failed: resolve("failed"),
            resolve_timeout: resolve("timeout"),
            resolve_forbidden: resolve("forbidden"),
        }
    }
}
