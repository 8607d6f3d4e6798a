//! Names, and what becomes of a value that is said with one.

use http::header::{self, HeaderName, HeaderValue};

use super::{Field, shared};

/// Names that the library does not know, and are said often enough not to be copied each time.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const PRIORITY: HeaderName = HeaderName::from_static("priority");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SEC_CH_UA: HeaderName = HeaderName::from_static("sec-ch-ua");
const SEC_CH_UA_MOBILE: HeaderName = HeaderName::from_static("sec-ch-ua-mobile");
const SEC_CH_UA_PLATFORM: HeaderName = HeaderName::from_static("sec-ch-ua-platform");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_USER: HeaderName = HeaderName::from_static("sec-fetch-user");
const TENANT: HeaderName = HeaderName::from_static("x-tenant");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// A name that a value may be said with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Method,
    Scheme,
    Authority,
    Path,
    Header(HeaderName),
    /// None that a request may have.
    Unfit,
}

impl Name {
    pub(super) fn read(text: &[u8]) -> Self {
        Self::Header(match text {
            b":method" => return Self::Method,
            b":scheme" => return Self::Scheme,
            b":authority" => return Self::Authority,
            b":path" => return Self::Path,
            b"x-request-id" => REQUEST_ID,
            b"x-tenant" => TENANT,
            b"x-forwarded-for" => FORWARDED_FOR,
            b"x-forwarded-proto" => FORWARDED_PROTO,
            b"traceparent" => TRACEPARENT,
            b"tracestate" => TRACESTATE,
            b"priority" => PRIORITY,
            b"sec-ch-ua" => SEC_CH_UA,
            b"sec-ch-ua-mobile" => SEC_CH_UA_MOBILE,
            b"sec-ch-ua-platform" => SEC_CH_UA_PLATFORM,
            b"sec-fetch-dest" => SEC_FETCH_DEST,
            b"sec-fetch-mode" => SEC_FETCH_MODE,
            b"sec-fetch-site" => SEC_FETCH_SITE,
            b"sec-fetch-user" => SEC_FETCH_USER,
            b"te" => header::TE,
            // The library takes a quotation mark for a part of a name, and the standard does not.
            _ if text.contains(&b'"') => return Self::Unfit,
            _ => match HeaderName::from_lowercase(text) {
                Ok(name) => name,
                Err(_) => return Self::Unfit,
            },
        })
    }

    /// The field that this makes with a value; the name alone where it makes none.
    pub(super) fn with(self, value: &[u8], hidden: bool) -> Result<Field, Self> {
        match self {
            Self::Method => match http::Method::from_bytes(value) {
                Ok(method) => Ok(Field::Method(method)),
                Err(_) => Err(Self::Method),
            },
            Self::Scheme => Ok(Field::Scheme(shared::copy(value))),
            Self::Authority => Ok(Field::Authority(shared::copy(value))),
            Self::Path => Ok(Field::Path(shared::copy(value))),
            Self::Header(name) => match read_value(value) {
                Some(mut value) => {
                    value.set_sensitive(hidden);
                    Ok(Field::Header(name, value))
                }
                None => Err(Self::Header(name)),
            },
            Self::Unfit => Err(Self::Unfit),
        }
    }
}

/// A value without blanks around it (RFC 9113 §8.2.1).
fn read_value(text: &[u8]) -> Option<HeaderValue> {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if blank(text.first()) || blank(text.last()) {
        return None;
    }
    HeaderValue::from_maybe_shared(shared::copy(text)).ok()
}

#[cfg(test)]
mod tests;
