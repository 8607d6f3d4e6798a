//! Weighted fair queue.

mod ages;
mod bug;
mod drain;
mod flows;
mod index;
mod items;
mod queue;
mod rounds;
mod settings;
mod shell;
mod snapshot;
mod sync;
mod work;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod testing;

pub use ages::{AGE_BUCKETS, Ages};
pub use items::Handle;
pub use queue::{Account, Dispatched, Queue};
pub use settings::{
    Class, ClassSpec, MAX_CLASSES, MAX_ITEMS, MAX_LIMIT, MAX_QUANTUM, MAX_WEIGHT, Overflow,
    Settings, SettingsError,
};
pub use shell::{Acquire, FairQueue, Slot};
pub use snapshot::{ClassView, Snapshot, TenantView};
pub use work::{Refused, Work};
