//! What a shared cache may keep, for how long, and what it must ask before it gives it out again
//! (RFC 9111, 5861, 9211, 9213).
//!
//! Nothing here reads a clock: moments are milliseconds since 1970 that the caller passes in, durations are seconds as
//! in the headers. [`storable`] turns a response into a [`Policy`]; [`Policy::decide`] says what a request may get of
//! it.

mod age;
mod control;
mod freshness;
mod invalidate;
mod partial;
mod reuse;
mod status;
mod store;
mod targeted;
mod validate;
mod vary;

pub use age::{age_value, initial_age};
pub use control::{Control, Fields};
pub use invalidate::{invalidated, is_unsafe, resolve};
pub use partial::ContentRange;
pub use reuse::{Decision, Wish};
pub use status::{Forwarded, Outcome};
pub use store::{Policy, Storable, WhyNot, storable};
pub use validate::{NotTheSame, freshened, has_validator, validators};
pub use vary::{Variant, Varies};

use http::header::{HeaderMap, HeaderName};
use http::{Method, StatusCode};

/// A request as far as a cache cares.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its headers.
    pub headers: &'a HeaderMap,
}

/// A response as far as a cache cares, and when it came.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// When the request for it was sent.
    pub asked_at_ms: u64,
    /// When its head came.
    pub came_at_ms: u64,
}

/// What an operator adds to what origins say.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Headers that speak to this cache in place of `Cache-Control` (RFC 9213), the closest first.
    pub targets: Vec<HeaderName>,
    /// What becomes of responses that set cookies.
    pub cookies: Cookies,
    /// How long responses are fresh by their status, whatever is said or if nothing is.
    pub lifetimes: Vec<Lifetime>,
    /// Percent of the time since the last change for which a response is taken for fresh when nothing is said.
    pub heuristic_percent: u64,
    /// The longest such time.
    pub heuristic_max_s: u64,
    /// How long past its time a response is given out while it is asked for anew, where the origin says nothing.
    pub stale_while_revalidate_s: u64,
    /// How long past its time a response is given out when the origin fails, where the origin says nothing.
    pub stale_if_error_s: u64,
    /// Whether what clients say about freshness counts. It does for a cache that follows the letter; others call it a
    /// way to make an origin work.
    pub clients_decide: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            targets: vec![HeaderName::from_static("cdn-cache-control")],
            cookies: Cookies::Refuse,
            lifetimes: Vec::new(),
            heuristic_percent: 10,
            heuristic_max_s: 86_400,
            stale_while_revalidate_s: 0,
            stale_if_error_s: 0,
            clients_decide: true,
        }
    }
}

/// What becomes of a response with `Set-Cookie`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cookies {
    /// It is not kept: a cookie is somebody's.
    #[default]
    Refuse,
    /// It is kept without its cookies.
    Strip,
    /// It is kept as it came.
    Keep,
}

/// How long responses of a status are fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// The status.
    pub status: StatusCode,
    /// How long.
    pub seconds: u64,
    /// Even where the origin says otherwise. What forbids storing still does.
    pub overrides: bool,
}

#[cfg(test)]
mod tests;
