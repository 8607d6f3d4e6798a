//! The caveats there are, and their one way of being written.

use std::fmt;

use crate::identity::UnixSeconds;
use crate::limits::Methods;
use crate::tenant::{is_name, is_tenant, is_visible};

/// A condition. Each can only take away; a verifier that does not know one refuses the passport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caveat {
    /// `until=1767225600`: refused from that second on.
    Until(UnixSeconds),
    /// `tenant=acme`: good only if that is the tenant it was granted to.
    Tenant(String),
    /// `class=batch,bulk`: keeps of the granted classes only these.
    Classes(Vec<String>),
    /// `tags=read,maps`: keeps of the granted tags only these; `tags=` keeps none.
    Tags(Vec<String>),
    /// `path=/v1/tiles`: only what is at this path or below it.
    Path(String),
    /// `methods=GET,HEAD`: only these methods.
    Methods(Methods),
    /// `max-body=1048576`: no longer request body than this many bytes.
    BodyBytesMax(u64),
}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Until(UnixSeconds(seconds)) => write!(f, "until={seconds}"),
            Self::Tenant(tenant) => write!(f, "tenant={tenant}"),
            Self::Classes(names) => write!(f, "class={}", names.join(",")),
            Self::Tags(names) => write!(f, "tags={}", names.join(",")),
            Self::Path(prefix) => write!(f, "path={prefix}"),
            Self::Methods(methods) => {
                let names: Vec<_> = methods.names().collect();
                write!(f, "methods={}", names.join(","))
            }
            Self::BodyBytesMax(bytes) => write!(f, "max-body={bytes}"),
        }
    }
}

/// `None` for a caveat that is not known, or whose value is not written as it should be.
pub(super) fn read(text: &str) -> Option<Caveat> {
    let (name, value) = text.split_once('=')?;
    match name {
        "until" => number(value).map(|seconds| Caveat::Until(UnixSeconds(seconds))),
        "tenant" => is_tenant(value).then(|| Caveat::Tenant(value.to_owned())),
        "class" => names(value).map(Caveat::Classes),
        "tags" if value.is_empty() => Some(Caveat::Tags(Vec::new())),
        "tags" => names(value).map(Caveat::Tags),
        "path" => is_prefix(value).then(|| Caveat::Path(value.to_owned())),
        "methods" => Methods::of(value.split(',')).map(Caveat::Methods),
        "max-body" => number(value).map(Caveat::BodyBytesMax),
        _ => None,
    }
}

/// Digits only, no leading zero: a number has one way of being written.
fn number(value: &str) -> Option<u64> {
    let plain = value.bytes().all(|byte| byte.is_ascii_digit());
    let short = value == "0" || !value.starts_with('0');
    (plain && short).then(|| value.parse().ok()).flatten()
}

fn names(value: &str) -> Option<Vec<String>> {
    let names: Vec<String> = value.split(',').map(str::to_owned).collect();
    names.iter().all(|name| is_name(name)).then_some(names)
}

/// A raw path as requests have it, without query.
fn is_prefix(value: &str) -> bool {
    value.starts_with('/') && is_visible(value) && !value.contains(['?', '#'])
}
