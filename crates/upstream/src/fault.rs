//! What the errors of connections mean here.

use std::error::Error;
use std::io::{self, ErrorKind};

use http1_wire::Fault;

use crate::endpoint::Endpoint;
use crate::error::{Cause, SendError, Stage};
use crate::h2::heads::TOO_MANY;
use crate::line::LineError;

/// What was seen on an HTTP/1 connection during an exchange that failed.
#[derive(Clone, Copy)]
pub(crate) struct Talk {
    pub(crate) reused: bool,
    pub(crate) read: bool,
    pub(crate) written: bool,
    /// For long, for the rest of the request.
    pub(crate) kept_waiting: bool,
}

/// Why a body broke off.
#[derive(Debug)]
pub(crate) enum Broken {
    Line(LineError),
    Stream(hyper::Error),
    /// The codec found nothing wrong with what followed it.
    Garbage(&'static str),
    /// The stream was over before its end was said, and nobody called that an error.
    Cut,
}

/// Why there was no answer on a stream of HTTP/2.
#[derive(Debug)]
pub(crate) enum Unanswered {
    Stream(hyper::Error),
    /// The codec found nothing wrong with its head.
    Garbage(&'static str),
}

/// An HTTP/1 exchange that failed before its head was there.
pub(crate) fn of_line(endpoint: &Endpoint, error: LineError, talk: Talk) -> SendError {
    let stage = if talk.written {
        Stage::Head
    } else {
        Stage::Send
    };
    let cause = match excused(line_cause(&error), talk.kept_waiting) {
        Cause::Closed | Cause::Short if talk.reused && !talk.read => Cause::Stale,
        Cause::Short => Cause::Closed,
        cause => cause,
    };
    SendError::new(stage, cause, talk.written, endpoint).because(error)
}

/// Who leaves after a long wait for our client has its reasons.
fn excused(cause: Cause, kept_waiting: bool) -> Cause {
    match cause {
        Cause::Closed | Cause::Short | Cause::StreamReset if kept_waiting => Cause::KeptWaiting,
        cause => cause,
    }
}

fn line_cause(error: &LineError) -> Cause {
    match error {
        LineError::Upload(_) => Cause::RequestBody,
        LineError::Wire(Fault::Garbage(_)) => Cause::Garbage,
        LineError::Wire(Fault::Oversized(_)) => Cause::Oversized,
        LineError::Wire(Fault::Short) => Cause::Short,
        // So TLS says that a peer has gone without taking its leave.
        LineError::Io(error) if error.kind() == ErrorKind::UnexpectedEof => Cause::Short,
        LineError::Io(_) | LineError::Closed => Cause::Closed,
    }
}

/// What was seen of an exchange that failed, beside its error.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    /// Its connection has heard a head that may be too large.
    pub(crate) large_head: bool,
    /// The peer has waited for our client for long.
    pub(crate) kept_waiting: bool,
    /// The body of the request has failed, for which its stream was given up.
    pub(crate) request_failed: bool,
    /// Its connection was ended, and had carried nobody.
    pub(crate) barren: bool,
}

/// An HTTP/2 exchange that failed before its head was there.
pub(crate) fn of_stream(endpoint: &Endpoint, error: Unanswered, seen: Seen) -> SendError {
    let error = match error {
        Unanswered::Stream(error) => error,
        Unanswered::Garbage(what) => {
            return SendError::new(Stage::Head, Cause::Garbage, true, endpoint).because(what);
        }
    };
    let unsent = error.is_canceled() || error.is_closed();
    let reason = found::<h2::Error>(&error);
    let refused =
        |error: &h2::Error| error.is_remote() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    let refused = reason.is_some_and(refused);
    // Of the streams that a peer's goodbye finds open it ends those that the peer has not looked at, and no others.
    let parted = reason.is_some_and(|error| error.is_go_away() && error.is_remote());
    let cause = if seen.request_failed {
        Cause::RequestBody
    } else if (unsent || parted) && seen.barren {
        // Who takes a connection and then nothing on it is no better than who takes no connection.
        excused(Cause::Closed, seen.kept_waiting)
    } else if unsent || parted {
        Cause::Stale
    } else {
        excused(stream_cause(&error, seen.large_head), seen.kept_waiting)
    };
    let stage = if unsent { Stage::Send } else { Stage::Head };
    let reached = !unsent && !refused && !parted;
    SendError::new(stage, cause, reached, endpoint).because(error)
}

fn stream_cause(error: &hyper::Error, large: bool) -> Cause {
    let reason = found::<h2::Error>(error);
    // The one stands in the other where a body breaks off, and alone where an answer does not come.
    let io = found::<io::Error>(error).or_else(|| reason?.get_io());
    if io.is_some_and(|io| io.kind() == TOO_MANY) {
        return Cause::Oversized;
    }
    match reason {
        // What our own codec has refused to hear on, whichever way it told the peer.
        Some(error) if error.is_library() && (large || is_of_head(error)) => Cause::Oversized,
        Some(error) if error.is_library() => Cause::Garbage,
        Some(error) if error.is_reset() => Cause::StreamReset,
        Some(error) if error.is_io() || error.is_go_away() => Cause::Closed,
        Some(_) => Cause::Garbage,
        None => Cause::Closed,
    }
}

/// Whether the codec has said goodbye for the size of a head. Of heads that are only somewhat too large it says what it
/// says of all that is malformed.
fn is_of_head(error: &h2::Error) -> bool {
    match error.reason() {
        Some(h2::Reason::COMPRESSION_ERROR) => true,
        Some(h2::Reason::ENHANCE_YOUR_CALM) => {
            let said = error.to_string();
            let heads = ["header_list_way_too_large", "too_many_continuations"];
            heads.iter().any(|what| said.contains(what))
        }
        _ => false,
    }
}

/// A body that broke off.
pub(crate) fn of_body(endpoint: &Endpoint, broken: Broken, seen: Seen) -> SendError {
    let cause = match &broken {
        _ if seen.request_failed => Cause::RequestBody,
        Broken::Line(error) => excused(line_cause(error), seen.kept_waiting),
        Broken::Stream(error) => excused(stream_cause(error, seen.large_head), seen.kept_waiting),
        Broken::Garbage(_) => Cause::Garbage,
        Broken::Cut => Cause::StreamReset,
    };
    let failed = SendError::new(Stage::Body, cause, true, endpoint);
    match broken {
        Broken::Line(error) => failed.because(error),
        Broken::Stream(error) => failed.because(error),
        Broken::Garbage(what) => failed.because(what),
        Broken::Cut => failed.because("the stream was given up before the end of the answer"),
    }
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
