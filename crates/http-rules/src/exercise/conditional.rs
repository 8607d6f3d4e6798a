//! Any conditions on any method: the verdict fits the method, and without conditions there is none.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_rules::conditional::{Validators, Verdict, evaluate};
use http_rules::etag::ETag;
use http_rules::{date, negotiate};

const NOW: u64 = 1_794_754_911;

/// A line with the method, a line with the tag, a line with the date of what there is, then headers.
pub fn exercise(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut next = || lines.next().unwrap_or_default();
    let Ok(method) = Method::from_bytes(next()) else {
        return;
    };
    let current = Validators {
        etag: ETag::parse(next()),
        last_modified: date::parse(next(), NOW),
    };
    let headers = headers(lines);
    let reads = matches!(method, Method::GET | Method::HEAD);
    for current in [None, Some(&current)] {
        match evaluate(&method, &headers, current, NOW) {
            Verdict::NotModified => assert!(reads && current.is_some()),
            Verdict::PreconditionFailed => assert!(headers.keys().any(is_condition)),
            Verdict::Proceed { range } => assert!(!range || method == Method::GET),
        }
    }
    negotiate::encoding(&headers, &[http_rules::decode::Coding::Gzip], true);
}

fn headers<'a>(lines: impl Iterator<Item = &'a [u8]>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.take(50) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            headers.append(name, value);
        }
    }
    headers
}

fn is_condition(name: &HeaderName) -> bool {
    name.as_str().starts_with("if-")
}
