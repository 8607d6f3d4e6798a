//! Weighted fair queue.

mod ages;
mod drain;
mod flows;
mod items;
mod queue;
mod rounds;
mod settings;
mod work;

pub use ages::{AGE_BUCKETS, Ages};
pub use items::Handle;
pub use queue::{Account, Dispatched, Queue};
pub use settings::{
    Class, ClassSpec, MAX_CLASSES, MAX_ITEMS, MAX_LIMIT, MAX_QUANTUM, MAX_WEIGHT, Overflow,
    Settings, SettingsError,
};
pub use work::{Refused, Work};
