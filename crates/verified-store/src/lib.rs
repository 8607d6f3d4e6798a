//! A content-addressed store: nothing half-written is visible, nothing damaged is served, nothing grows without bound.
//!
//! ```
//! use verified_store::{Hash, Limits, Store};
//!
//! let store = Store::in_memory(Limits::of_bytes(1 << 20));
//! let mut writing = store.begin(None)?;
//! writing.write(b"hello ")?;
//! writing.write(b"world")?;
//! let hash = writing.commit()?;
//! assert_eq!(hash, Hash::of(b"hello world"));
//!
//! let key = Hash::of(b"https://example.org/hello");
//! store.put_record(&key, &[hash], b"content-type: text/plain")?;
//! let record = store.record(&key).expect("just put");
//! let object = store.get(&record.objects[0]).expect("a record's objects are here");
//! assert_eq!(object.whole()?, "hello world");
//! # Ok::<(), verified_store::StoreError>(())
//! ```
//!
//! # Laws
//! 1. An object is visible whole or not at all, whenever the process or the machine dies.
//! 2. What leaves was checked: a flipped bit is found before the last byte of its 64 KiB leaves, and the object with
//!    it is gone. An error of `fsync` is the end of that write; it is never tried again and believed.
//! 3. At no time is more stored than the limits say, what is being written included. Room is made first.
//! 4. What is being read is not evicted. When all is being read, writing fails and reading goes on.
//! 5. A record is there only with all of its objects. A removed record does not come back.
//! 6. A disk that is full, read-only or broken costs the writes and nothing else. One writer at a time finds out
//!    whether it is good again.
//!
//! All calls block on the disk; none waits for anything else for long. There is no clock and no runtime here, and no
//! thread outlives a call (opening uses a few): call it from a bounded set of threads.

mod error;
mod files;
mod hash;
mod index;
mod limits;
mod log;
mod object;
mod proof;
#[cfg(feature = "s3")]
pub mod s3;
mod shelf;
mod sieve;
mod standing;
mod start;
mod stats;
mod store;
mod writing;

pub use error::{Shortage, StoreError};
pub use hash::{Hash, NotAHash};
pub use limits::Limits;
pub use log::Record;
pub use object::Object;
pub use standing::{Standing, Why};
pub use stats::Stats;
pub use store::{Records, Store};
pub use writing::Writing;
