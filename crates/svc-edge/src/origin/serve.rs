//! What of an answer goes out: all, a part, or only that it has not changed.

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use http_rules::cache::{Outcome, age_value};
use http_rules::conditional::{Validators, Verdict, evaluate};
use http_rules::date;
use http_rules::etag::ETag;
use http_rules::range::{self, Multipart, Selection, Span};

use crate::body::EdgeBody;
use crate::flight::Reader;
use crate::reject::Refusal;

use super::entry::{Entry, Head};
use super::heads::{CACHE_NAME, say};

/// What goes with an answer beside itself.
pub(crate) struct Saying {
    /// What the cache did.
    pub(crate) outcome: Outcome,
    /// How old it is, where it comes out of the cache.
    pub(crate) age_s: Option<u64>,
    /// The headers in place of those that are kept, for who asked first.
    pub(crate) own: Option<HeaderMap>,
    /// In seconds since 1970.
    pub(crate) now: u64,
}

impl Saying {
    fn headers(&self, head: &Head) -> HeaderMap {
        let mut headers = self.own.clone().unwrap_or_else(|| head.headers.clone());
        if let Some(age) = self.age_s {
            headers.insert(header::AGE, age_value(age));
        }
        say(&mut headers, self.outcome.value(CACHE_NAME));
        headers
    }
}

/// Whether the head of a request asks for something else than all of it.
pub(crate) fn wants_less(parts: &Parts) -> bool {
    const NAMES: [header::HeaderName; 5] = [
        header::RANGE,
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        header::IF_MODIFIED_SINCE,
        header::IF_UNMODIFIED_SINCE,
    ];
    parts.method == Method::HEAD || NAMES.iter().any(|name| parts.headers.contains_key(name))
}

/// An answer that is all here, under the conditions of the request.
pub(crate) fn entry(
    parts: &Parts,
    entry: &Entry,
    saying: &Saying,
) -> Result<Response<EdgeBody>, Refusal> {
    let head = &*entry.head;
    let headers = saying.headers(head);
    if head.status != StatusCode::OK {
        return Ok(whole(parts, head.status, headers, &entry.body));
    }
    let length = entry.body.len() as u64;
    let verdict = evaluate(
        &parts.method,
        &parts.headers,
        Some(&validators(head, saying.now)),
        saying.now,
    );
    let selection = match verdict {
        Verdict::NotModified => return Ok(not_modified(headers)),
        Verdict::PreconditionFailed => return Err(Refusal::PreconditionFailed),
        Verdict::Proceed { .. } if is_known_by_date(parts, head, saying.now) => {
            return Ok(not_modified(headers));
        }
        Verdict::Proceed { range: false } => Selection::Whole,
        Verdict::Proceed { range: true } => range::select(&parts.headers, length),
    };
    match selection {
        Selection::Whole => Ok(whole(parts, StatusCode::OK, headers, &entry.body)),
        Selection::One(span) => Ok(one(headers, span, &entry.body)),
        Selection::Many(spans) => Ok(many(headers, &spans, &entry.body)),
        Selection::Unsatisfiable => Err(Refusal::RangeOutside(length)),
    }
}

/// An answer that is still coming, to who wants all of it.
pub(crate) fn coming(head: &Head, reader: Reader, saying: &Saying) -> Response<EdgeBody> {
    with(head.status, saying.headers(head), EdgeBody::stream(reader))
}

fn validators(head: &Head, now: u64) -> Validators<'_> {
    let text = |name| head.headers.get(name).map(HeaderValue::as_bytes);
    Validators {
        etag: text(header::ETAG).and_then(ETag::parse),
        last_modified: text(header::LAST_MODIFIED).and_then(|text| date::parse(text, now)),
    }
}

/// Nothing says when it was last changed, but it is no newer than what the client asks about (RFC 9111 4.3.2).
fn is_known_by_date(parts: &Parts, head: &Head, now: u64) -> bool {
    let reads = matches!(parts.method, Method::GET | Method::HEAD);
    let asks = |name| parts.headers.contains_key(name);
    if !reads || !asks(header::IF_MODIFIED_SINCE) || asks(header::IF_NONE_MATCH) {
        return false;
    }
    let date = |headers: &HeaderMap, name| {
        let value = headers.get(name)?;
        date::parse(value.as_bytes(), now)
    };
    let since = date(&parts.headers, header::IF_MODIFIED_SINCE);
    let made = date(&head.headers, header::DATE);
    !head.headers.contains_key(header::LAST_MODIFIED)
        && since.is_some_and(|since| made.is_some_and(|made| made <= since))
}

/// What describes a body that is not sent stays behind.
fn not_modified(mut headers: HeaderMap) -> Response<EdgeBody> {
    for name in [
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
        header::CONTENT_ENCODING,
        header::CONTENT_RANGE,
        header::CONTENT_LANGUAGE,
    ] {
        headers.remove(name);
    }
    drop_digests(&mut headers);
    with(
        StatusCode::NOT_MODIFIED,
        headers,
        EdgeBody::whole(Bytes::new()),
    )
}

fn whole(
    parts: &Parts,
    status: StatusCode,
    headers: HeaderMap,
    body: &Bytes,
) -> Response<EdgeBody> {
    let body = match parts.method == Method::HEAD {
        true => Bytes::new(),
        false => body.clone(),
    };
    with(status, headers, EdgeBody::whole(body))
}

/// A digest of what one message carries (RFC 9530 2) is not that of another with the same headers.
fn drop_digests(headers: &mut HeaderMap) {
    for name in ["content-digest", "content-md5"] {
        headers.remove(name);
    }
}

fn one(mut headers: HeaderMap, span: Span, body: &Bytes) -> Response<EdgeBody> {
    drop_digests(&mut headers);
    headers.insert(header::CONTENT_RANGE, span.content_range(body.len() as u64));
    headers.insert(header::CONTENT_LENGTH, span.length().into());
    let part = body.slice(span.first as usize..=span.last as usize);
    with(StatusCode::PARTIAL_CONTENT, headers, EdgeBody::whole(part))
}

fn many(mut headers: HeaderMap, spans: &[Span], body: &Bytes) -> Response<EdgeBody> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("application/octet-stream");
    let frame = Multipart::new(fastrand::u64(..), kind, body.len() as u64);
    let mut parts = BytesMut::new();
    for span in spans {
        parts.extend_from_slice(&frame.before(*span));
        parts.extend_from_slice(&body[span.first as usize..=span.last as usize]);
    }
    parts.extend_from_slice(&frame.end());
    drop_digests(&mut headers);
    headers.insert(header::CONTENT_TYPE, frame.content_type());
    headers.insert(header::CONTENT_LENGTH, parts.len().into());
    with(
        StatusCode::PARTIAL_CONTENT,
        headers,
        EdgeBody::whole(parts.freeze()),
    )
}

fn with(status: StatusCode, headers: HeaderMap, body: EdgeBody) -> Response<EdgeBody> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer
}
