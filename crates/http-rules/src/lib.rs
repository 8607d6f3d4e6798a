//! Pure HTTP semantics: what a request must be, what may be forwarded, what a range or a condition means.

pub mod authority;
mod calendar;
pub mod date;
pub mod deadline;
pub mod decode;
pub mod forward;
pub mod framing;
pub mod path;
pub mod problem;
pub mod ratelimit;
pub mod request_id;
mod text;
pub mod trace;
