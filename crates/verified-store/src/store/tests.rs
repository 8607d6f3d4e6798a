//! The store over a disk that fails and loses power at every step.

mod faults;
mod model;
mod place;
mod power;
mod return_of_records;
