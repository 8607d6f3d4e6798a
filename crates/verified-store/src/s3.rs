//! The same objects and records in S3-compatible storage, for several nodes to share.
//!
//! Nothing here opens a socket: a [`Bucket`] makes signed requests, the caller sends them with the client it has, and
//! [`read_answer`] says what the answer means. What came back is checked on arrival: an object by writing it into a
//! [`Store`](crate::Store) with [`commit_expecting`](crate::Writing::commit_expecting), a record by
//! [`open_record`].
//!
//! An object is kept as its bytes and nothing else, under `objects/` and its hash. That its name is the hash of its
//! bytes makes a second upload harmless and any other content useless.

mod answer;
mod bucket;
mod list;
mod record;
mod sign;
mod stamp;

pub use answer::{Answer, S3Error, read_answer};
pub use bucket::{Addressing, Bucket, BucketError, Credentials, Span};
pub use list::{Page, read_page};
pub use record::{open_record, seal_record};

/// A request, ready to be sent as it is to the bucket's authority.
///
/// The headers are all that must be sent, `host` among them; the length of the body is the caller's to announce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRequest {
    /// `GET`, `HEAD`, `PUT` or `DELETE`.
    pub method: &'static str,
    /// Path and query, escaped.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(&'static str, String)>,
}
