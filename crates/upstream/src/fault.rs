//! What hyper's errors mean here.

use std::error::Error;
use std::io::ErrorKind;

use crate::endpoint::Endpoint;
use crate::error::{Cause, SendError, Stage};
use crate::outgoing::ClientBody;

/// What was seen on an HTTP/1 connection during an exchange that failed.
#[derive(Clone, Copy)]
pub(crate) struct Talk {
    pub(crate) reused: bool,
    pub(crate) read: bool,
    pub(crate) written: bool,
    pub(crate) cut: bool,
}

/// An HTTP/1 exchange that failed before its head was there.
pub(crate) fn of_line(endpoint: &Endpoint, error: hyper::Error, talk: Talk) -> SendError {
    let stage = if talk.written {
        Stage::Head
    } else {
        Stage::Send
    };
    let cause = if found::<ClientBody>(&error).is_some() {
        Cause::RequestBody
    } else if talk.cut || error.is_parse_too_large() {
        Cause::Oversized
    } else if error.is_parse() {
        Cause::Garbage
    } else if talk.reused && !talk.read {
        Cause::Stale
    } else {
        Cause::Closed
    };
    SendError::new(stage, cause, talk.written, endpoint).because(error)
}

/// An HTTP/2 exchange that failed before its head was there.
pub(crate) fn of_stream(endpoint: &Endpoint, error: hyper::Error) -> SendError {
    let unsent = error.is_canceled() || error.is_closed();
    let reason = found::<h2::Error>(&error);
    let refused = reason.is_some_and(|error| error.reason() == Some(h2::Reason::REFUSED_STREAM));
    let cause = if found::<ClientBody>(&error).is_some() {
        Cause::RequestBody
    } else if unsent {
        Cause::Stale
    } else {
        stream_cause(reason)
    };
    let stage = if unsent { Stage::Send } else { Stage::Head };
    SendError::new(stage, cause, !unsent && !refused, endpoint).because(error)
}

fn stream_cause(reason: Option<&h2::Error>) -> Cause {
    match reason {
        Some(error) if error.is_reset() => Cause::StreamReset,
        Some(error) if error.is_io() || error.is_go_away() => Cause::Closed,
        Some(_) => Cause::Garbage,
        None => Cause::Closed,
    }
}

/// A body that broke off.
pub(crate) fn of_body(endpoint: &Endpoint, error: hyper::Error) -> SendError {
    let io = found::<std::io::Error>(&error).map(std::io::Error::kind);
    let cause = match (io, found::<h2::Error>(&error)) {
        _ if found::<ClientBody>(&error).is_some() => Cause::RequestBody,
        (_, Some(stream)) => stream_cause(Some(stream)),
        (Some(ErrorKind::UnexpectedEof), _) => Cause::Short,
        (Some(ErrorKind::InvalidData | ErrorKind::InvalidInput), _) => Cause::Garbage,
        _ if error.is_incomplete_message() => Cause::Short,
        _ => Cause::Closed,
    };
    SendError::new(Stage::Body, cause, true, endpoint).because(error)
}

fn found<'a, E: Error + 'static>(error: &'a hyper::Error) -> Option<&'a E> {
    let mut next: Option<&'a (dyn Error + 'static)> = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
