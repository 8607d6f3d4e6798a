//! Pure HTTP semantics: what a request must be, what may be forwarded, what a range or a condition means.

pub mod authority;
pub mod forward;
pub mod framing;
pub mod path;
pub mod request_id;
mod text;
pub mod trace;
