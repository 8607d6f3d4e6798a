//! Answers: a representation, whole or in part or not again; a refusal that says why.

use std::collections::VecDeque;

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderValue, LAST_MODIFIED, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use http_rules::conditional::{Verdict, evaluate};
use http_rules::digest::{REPR_DIGEST, wanted};
use http_rules::framing::Bad;
use http_rules::problem::{self, Problem};
use http_rules::range::{self, Multipart, Selection, Span};
use http_rules::{ratelimit, request_id};
use kernel::blocking::Blocking;
use kernel::serve::problem::REASON_HEADER;

use crate::body::EdgeBody;
use crate::cors;
use crate::origin::failure::Failure;
use crate::pieces::{self, Piece, Pieces};
use crate::reject::Refusal;
use crate::representation::{Content, Representation};

/// What was asked for, as far as it decides what of a representation is sent.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) parts: &'a Parts,
    /// In seconds since 1970.
    pub(crate) now: u64,
}

/// A representation under the conditions of the request, in the order of RFC 9110 13.2.2.
pub(crate) async fn representation(
    asked: Asked<'_>,
    representation: &Representation,
    disk: &Blocking,
) -> Result<Response<EdgeBody>, Refusal> {
    let (method, headers) = (&asked.parts.method, &asked.parts.headers);
    let selection = match evaluate(
        method,
        headers,
        Some(&representation.validators()),
        asked.now,
    ) {
        Verdict::NotModified => return Ok(not_modified(representation)),
        Verdict::PreconditionFailed => return Err(Refusal::PreconditionFailed),
        Verdict::Proceed { range: false } => Selection::Whole,
        Verdict::Proceed { range: true } => range::select(headers, representation.length()),
    };
    let mut answer = match selection {
        Selection::Whole => whole(representation, method, disk).await?,
        Selection::One(span) => one(representation, span, disk).await?,
        Selection::Many(spans) => many(representation, &spans, disk).await?,
        Selection::Unsatisfiable => return Err(Refusal::RangeOutside(representation.length())),
    };
    if let Some(sealed) = representation.seal() {
        answer.body_mut().seal(sealed);
    }
    if let Some(digest) = wanted(headers).and_then(|wanted| representation.digest(wanted)) {
        answer.headers_mut().insert(REPR_DIGEST, digest.clone());
    }
    Ok(answer)
}

fn not_modified(representation: &Representation) -> Response<EdgeBody> {
    let mut answer = Response::new(EdgeBody::whole(Bytes::new()));
    *answer.status_mut() = StatusCode::NOT_MODIFIED;
    for name in [ETAG, CACHE_CONTROL, VARY, LAST_MODIFIED] {
        if let Some(value) = representation.headers.get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}

async fn whole(
    representation: &Representation,
    method: &Method,
    disk: &Blocking,
) -> Result<Response<EdgeBody>, Refusal> {
    let mut headers = representation.headers.clone();
    if *method == Method::HEAD {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(representation.length()));
        return Ok(with(StatusCode::OK, headers, EdgeBody::whole(Bytes::new())));
    }
    let body = match &representation.content {
        Content::Bytes(bytes) => EdgeBody::whole(bytes.clone()),
        Content::File(_) if representation.length() == 0 => EdgeBody::whole(Bytes::new()),
        Content::File(_) => {
            let last = representation.length() - 1;
            let all = part(representation, Span { first: 0, last });
            read(VecDeque::from([all]), disk).await?
        }
    };
    Ok(with(StatusCode::OK, headers, body))
}

async fn one(
    representation: &Representation,
    span: Span,
    disk: &Blocking,
) -> Result<Response<EdgeBody>, Refusal> {
    let mut headers = representation.headers.clone();
    let length = representation.length();
    headers.insert(CONTENT_RANGE, span.content_range(length));
    let body = match part(representation, span) {
        Piece::Bytes(bytes) => EdgeBody::whole(bytes),
        in_file => read(VecDeque::from([in_file]), disk).await?,
    };
    Ok(with(StatusCode::PARTIAL_CONTENT, headers, body))
}

async fn many(
    representation: &Representation,
    spans: &[Span],
    disk: &Blocking,
) -> Result<Response<EdgeBody>, Refusal> {
    let mut headers = representation.headers.clone();
    let kind = headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let frame = Multipart::new(fastrand::u64(..), kind, representation.length());
    let mut queue = VecDeque::with_capacity(spans.len() * 2 + 1);
    for span in spans {
        queue.push_back(Piece::Bytes(frame.before(*span)));
        queue.push_back(part(representation, *span));
    }
    queue.push_back(Piece::Bytes(frame.end()));
    headers.insert(CONTENT_TYPE, frame.content_type());
    let body = read(queue, disk).await?;
    Ok(with(StatusCode::PARTIAL_CONTENT, headers, body))
}

fn part(representation: &Representation, span: Span) -> Piece {
    match &representation.content {
        Content::Bytes(bytes) => {
            Piece::Bytes(bytes.slice(span.first as usize..=span.last as usize))
        }
        Content::File(source) => Piece::Span(pieces::Span {
            source: source.clone(),
            offset: span.first,
            left: span.length(),
        }),
    }
}

async fn read(queue: VecDeque<Piece>, disk: &Blocking) -> Result<EdgeBody, Refusal> {
    let mut pieces = Pieces::new(queue, disk);
    pieces.begin().await?;
    Ok(EdgeBody::pieces(pieces))
}

fn with(status: StatusCode, headers: HeaderMap, body: EdgeBody) -> Response<EdgeBody> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer
}

/// There is nothing, and that is as it should be.
pub(crate) fn nothing(cache: &HeaderValue) -> Response<EdgeBody> {
    let mut answer = Response::new(EdgeBody::whole(Bytes::new()));
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer.headers_mut().insert(CACHE_CONTROL, cache.clone());
    answer
}

/// A refusal as an answer.
pub(crate) fn refusal(refusal: &Refusal, id: HeaderValue) -> Response<Bytes> {
    let status =
        StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = Problem {
        kind: None,
        title: status.canonical_reason().unwrap_or("Refused"),
        status: status.as_u16(),
        detail: refusal.detail(),
        reason: refusal.reason(),
        request_id: id.to_str().unwrap_or(""),
        retry_after_ms: refusal.retry_after().map(|wait| wait.as_millis() as u64),
    };
    let mut response = Response::new(body.body());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static(problem::CONTENT_TYPE),
    );
    headers.insert(&REASON_HEADER, HeaderValue::from_static(refusal.reason()));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(wait) = refusal.retry_after() {
        headers.insert(RETRY_AFTER, ratelimit::retry_after(wait));
    }
    match refusal {
        Refusal::OtherMethod | Refusal::Framing(Bad::Connect | Bad::Trace) => {
            headers.insert(ALLOW, cors::METHODS);
        }
        Refusal::Origin(Failure::ReadOnly) => {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        Refusal::RangeOutside(length) => {
            headers.insert(CONTENT_RANGE, range::unsatisfied(*length));
        }
        _ => {}
    }
    if refusal.closes() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(request_id::NAME, id);
    response
}
