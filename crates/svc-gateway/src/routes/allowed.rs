//! The methods that a path takes, for who came with another one.

use http::{HeaderValue, Method};

/// Methods, as far as they are the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowed(u8);

const USUAL: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];

impl Allowed {
    /// All that are usual.
    pub(crate) const USUAL: Self = Self((1 << USUAL.len()) - 1);

    pub(super) fn add(&mut self, methods: &[Method]) {
        for (bit, method) in USUAL.iter().enumerate() {
            self.0 |= u8::from(methods.contains(method)) << bit;
        }
    }

    /// As an `Allow` header says it.
    pub(crate) fn value(self) -> HeaderValue {
        let named = USUAL.iter().enumerate();
        let named = named.filter(|(bit, _)| self.0 & 1 << bit != 0);
        let names: Vec<_> = named.map(|(_, method)| method.as_str()).collect();
        HeaderValue::from_str(&names.join(", ")).expect("names of methods are tokens")
    }
}
