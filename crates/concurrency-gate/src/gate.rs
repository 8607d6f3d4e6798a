//! The gate: one entry per key, made on first use.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc as StdArc;
use std::time::Duration;

use crate::entry::Setup;
use crate::handle::KeyHandle;
use crate::lease::Lease;
use crate::limit::{Limit, LimitError};
use crate::rejection::Rejection;
use crate::table::{Swept, Table};
use crate::tally::Tally;

/// What holds for a gate as a whole.
#[derive(Clone, Debug)]
pub struct GateConfig {
    /// The limit of every key that was not registered.
    pub default_limit: Limit,
    /// How many keys have an entry of their own. Those beyond share.
    pub keys_max: usize,
    /// How many entries the keys beyond the cap share; each of them uses two.
    pub overflow_entries: usize,
    /// How long a key must have been idle to be forgotten.
    pub min_idle_age: Duration,
    /// How often the owner means to call [`Gate::sweep`].
    pub sweep_every: Duration,
    /// Asked where a slot is handed over by a lease that was dropped without telling the time.
    /// Without it, the latest time told by anybody is taken.
    pub clock: Option<fn() -> Duration>,
}

impl GateConfig {
    /// 65,536 keys, 64 shared entries, ten minutes of idleness, a sweep each minute.
    pub fn new(default_limit: Limit) -> Self {
        Self {
            default_limit,
            keys_max: 65_536,
            overflow_entries: 64,
            min_idle_age: Duration::from_secs(600),
            sweep_every: Duration::from_secs(60),
            clock: None,
        }
    }

    fn check(&self) -> Result<(), GateError> {
        self.default_limit.check().map_err(GateError::Limit)?;
        match self {
            _ if self.keys_max == 0 => Err(GateError::NoKeys),
            _ if self.overflow_entries < 2 => Err(GateError::NoOverflow),
            _ if self.min_idle_age < Duration::from_secs(1) => Err(GateError::IdleAgeTooShort),
            _ if self.sweep_every.is_zero() => Err(GateError::NoSweepInterval),
            _ => Ok(()),
        }
    }
}

/// Why a gate or a key of it could not be set up.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum GateError {
    /// The limit makes no sense.
    Limit(LimitError),
    /// No key could have an entry of its own.
    NoKeys,
    /// A key beyond the cap uses two shared entries.
    NoOverflow,
    /// Times of use are kept in seconds.
    IdleAgeTooShort,
    /// A sweep that never comes.
    NoSweepInterval,
    /// The key was registered before.
    Registered,
    /// The key is in use with the default limit.
    InUse,
}

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(error) => error.fmt(f),
            Self::NoKeys => f.write_str("keys_max of 0 leaves no key an entry; give 1 or more"),
            Self::NoOverflow => f.write_str("overflow_entries is 2 or more"),
            Self::IdleAgeTooShort => f.write_str("min_idle_age is one second or more"),
            Self::NoSweepInterval => f.write_str("sweep_every is more than 0"),
            Self::Registered => f.write_str("the key is registered already; resize it instead"),
            Self::InUse => f.write_str("the key is in use already; register keys before use"),
        }
    }
}

impl std::error::Error for GateError {}

/// Limits per key. Clones share everything.
pub struct Gate<K> {
    core: StdArc<Core<K>>,
}

pub(crate) struct Core<K> {
    pub(crate) table: Table<K>,
    pub(crate) tally: StdArc<Tally>,
    clock: Option<fn() -> Duration>,
}

impl<K: Hash + Eq + Clone> Gate<K> {
    /// A gate without entries.
    pub fn new(config: GateConfig) -> Result<Self, GateError> {
        config.check()?;
        let tally = StdArc::new(Tally::new());
        let default = Setup::new(
            config.default_limit.clone(),
            false,
            StdArc::clone(&tally),
            config.clock,
        );
        let core = Core {
            table: Table::new(&config, default),
            tally,
            clock: config.clock,
        };
        Ok(Self {
            core: StdArc::new(core),
        })
    }

    /// Gives a key its own limit, for good. To be done before the key is used.
    pub fn register(&self, key: K, limit: Limit) -> Result<KeyHandle<K>, GateError> {
        limit.check().map_err(GateError::Limit)?;
        let tally = StdArc::clone(&self.core.tally);
        let setup = Setup::new(limit, true, tally, self.core.clock);
        self.core.table.register(key, setup)
    }

    /// The key's entry, made if there is none. Look it up once and keep it.
    pub fn handle(&self, key: &K, now: Duration) -> KeyHandle<K> {
        self.core.table.handle(key, now)
    }

    /// A slot for the key, now or not at all; for those who come once.
    pub fn try_enter(&self, key: &K, now: Duration) -> Result<Lease<'static, K>, Rejection> {
        self.handle(key, now).into_lease(now)
    }

    /// Forgets keys that have been idle, and says when to come again.
    pub fn sweep(&self, now: Duration) -> Swept {
        self.core.table.sweep(now)
    }

    /// Refuses everybody at every key from now on, those who wait too. Leases stay valid.
    pub fn close(&self) {
        self.core.table.close();
    }

    pub(crate) fn core(&self) -> &Core<K> {
        &self.core
    }
}

impl<K> Clone for Gate<K> {
    fn clone(&self) -> Self {
        Self {
            core: StdArc::clone(&self.core),
        }
    }
}

impl<K> fmt::Debug for Gate<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("keys", &self.core.table.keys())
            .finish_non_exhaustive()
    }
}
