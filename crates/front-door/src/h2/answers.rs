//! The work on requests, driven on when there is news of it, and answers on their way out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_LENGTH, HeaderMap};
use http::{Response, StatusCode, response};
use http_body::Body;
use http1_wire::spare;
use http2_wire::frame::{self, Code, DATA, END_STREAM, Frame};
use http2_wire::{Tell, write_answer, write_continue, write_trailers};
use kernel::tasks::panic_message;
use pin_project_lite::pin_project;

use super::Connection;
use super::inflow::Needs;
use super::streams::{Stream, Tail};
use super::turn::Turn;
use crate::door::Panicked;
use crate::service::{Fault, Service};

/// No frame carries more: others on the connection have their turn in between.
const PIECE: usize = 16 * 1024;
/// What is less is sent with what follows, if that is there, and so many of them together.
const SMALL: usize = 4 * 1024;
const GATHERED: usize = 256;
/// A part of a piece that is smaller than this shows that the peer makes little room, not that it takes much.
const WORTHY: usize = 256;

pin_project! {
    /// What is done for a request: all of it in one place, since the one follows the other.
    #[project = Doing]
    pub(super) enum Work<F, B> {
        // The service is asked.
        Called { #[pin] call: F },
        // The body of its answer is sent.
        Sends { #[pin] body: B },
    }
}

/// What came of asking for more of an answer.
enum Next<B> {
    Waits,
    Answer(Response<B>),
    Refusal(Fault),
    /// A piece, and whether it is the last.
    Data(Bytes, bool),
    Trailers(HeaderMap),
    End,
    Broken,
}

/// What became of a piece that was to go out.
enum Went {
    /// All that is here has gone.
    All,
    /// There may be more, and others come first.
    Part,
    /// The peer takes no more at the moment.
    Stalled,
    /// The answer is out.
    Ended,
    /// It will never be whole.
    Short,
}

impl<S, F> Connection<S, F>
where
    S: Service,
    F: Future<Output = Result<Response<S::Body>, Panicked>> + Send,
{
    /// Drives on everyone there is news of, in turns.
    pub(super) fn drive_all(&mut self, turn: &mut Turn) {
        let mut most = self.streams_max.max(1);
        while !self.out.is_full() && most > 0 {
            let Some(slot) = self.bell.answer(self.next) else {
                return;
            };
            (self.next, most) = (slot + 1, most - 1);
            turn.driven();
            self.drive(slot);
        }
    }

    /// Goes on with one stream until it waits for something, or others come first.
    fn drive(&mut self, slot: usize) {
        self.attend(slot);
        loop {
            match self.send_piece(slot) {
                Went::All => {}
                Went::Part => return self.bell.ring(slot),
                Went::Stalled => return self.time_stall(slot),
                Went::Ended => return self.finish(slot),
                Went::Short => return self.reset(slot, Code::Internal),
            }
            let Some((stream, rope)) = self.streams.get_with_rope(slot) else {
                return;
            };
            match next(stream, rope) {
                Next::Waits => return,
                Next::Answer(answer) => self.tell(slot, answer),
                Next::Refusal(fault) => {
                    let refusal = self.room.house.service.refuse(fault, &self.line.visit);
                    self.tell_refusal(slot, refusal);
                }
                // Who has nothing to say, and all the time, is not asked again before others.
                Next::Data(data, false) if data.is_empty() => return self.bell.ring(slot),
                Next::Data(data, false) if data.len() <= SMALL => {
                    stream.rest = data;
                    gather(stream, rope);
                }
                Next::Data(data, last) => {
                    stream.rest = data;
                    match last {
                        true => stream.ends_with(Tail::End),
                        false => self.time_piece(slot),
                    }
                }
                Next::Trailers(trailers) => stream.ends_with(Tail::Trailers(Box::new(trailers))),
                Next::End => stream.ends_with(Tail::End),
                Next::Broken => stream.ends_with(Tail::Broken),
            }
        }
    }

    /// What whoever reads the body of a request needs.
    fn attend(&mut self, slot: usize) {
        let Some(stream) = self.streams.get(slot) else {
            return;
        };
        let Some(inflow) = &stream.inflow else {
            return;
        };
        let Needs { room, go_on } = inflow.needs();
        if room > 0 {
            let _never_over = stream.room.grow(room.into());
            frame::write_window_update(self.out.lead(), stream.id, room);
        }
        if go_on && !stream.told {
            let forgets = std::mem::take(&mut self.forgets);
            write_continue(self.out.lead(), stream.id, forgets);
        }
    }

    /// The head of an answer.
    fn tell(&mut self, slot: usize, answer: Response<S::Body>) {
        let (parts, body) = answer.into_parts();
        let ends = body.is_end_stream();
        let exact = if ends { None } else { body.size_hint().exact() };
        if !self.tell_head(slot, parts, exact, ends)
            && let Some(stream) = self.streams.get(slot)
            && let Some(work) = &mut stream.work
        {
            work.as_mut().set(Work::Sends { body });
        }
    }

    /// An answer of a few bytes.
    pub(super) fn tell_refusal(&mut self, slot: usize, refusal: Response<Bytes>) {
        let (parts, bytes) = refusal.into_parts();
        let exact = Some(bytes.len() as u64);
        if !self.tell_head(slot, parts, exact, bytes.is_empty())
            && let Some(stream) = self.streams.get(slot)
        {
            stream.rest = bytes;
            stream.ends_with(Tail::End);
        }
    }

    /// Whether that is all of it.
    fn tell_head(
        &mut self,
        slot: usize,
        mut parts: response::Parts,
        exact: Option<u64>,
        ends: bool,
    ) -> bool {
        let Some(stream) = self.streams.get(slot) else {
            return true;
        };
        if parts.status.is_informational() {
            // Nothing final would follow it.
            (parts.status, parts.headers) = (StatusCode::INTERNAL_SERVER_ERROR, HeaderMap::new());
        }
        let silent = matches!(
            parts.status,
            StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
        );
        if parts.status == StatusCode::NO_CONTENT {
            parts.headers.remove(CONTENT_LENGTH);
        }
        let ends = ends || silent || stream.bodiless;
        stream.told = true;
        if ends {
            // Said with the head.
            stream.ends_with(Tail::Said);
        } else {
            let said = parts.headers.get(CONTENT_LENGTH);
            let said = said.and_then(|length| length.to_str().ok()?.parse().ok());
            stream.promised = said.or(exact);
        }
        let tell = Tell {
            status: parts.status,
            headers: &parts.headers,
            date: self.today.date(&self.line.desk.clock),
            length: if silent { None } else { exact },
        };
        let (id, forgets) = (stream.id, std::mem::take(&mut self.forgets));
        write_answer(self.out.lead(), id, &tell, ends, forgets);
        spare::put_fields(parts.headers);
        ends
    }

    /// Sends what is here of an answer, as far as the peer takes it and others can wait.
    fn send_piece(&mut self, slot: usize) -> Went {
        let Some(stream) = self.streams.get(slot) else {
            return Went::All;
        };
        if !stream.told {
            return Went::All;
        }
        if stream.rest.is_empty() {
            stream.rest = std::mem::take(&mut stream.behind);
        }
        if let Some(promised) = stream.promised
            && stream.rest.len() as u64 > promised
        {
            // More than was promised is not sent.
            stream.rest.truncate(promised as usize);
            stream.ends_with(Tail::End);
        }
        let ends = matches!(stream.tail, Tail::End);
        if stream.rest.is_empty() {
            return match std::mem::take(&mut stream.tail) {
                Tail::Open => Went::All,
                Tail::Said => Went::Ended,
                Tail::Broken => Went::Short,
                _ if stream.promised.is_some_and(|promised| promised > 0) => Went::Short,
                Tail::End => {
                    data_head(self.out.lead(), stream.id, 0, true);
                    Went::Ended
                }
                Tail::Trailers(trailers) => {
                    write_trailers(self.out.lead(), stream.id, &trailers);
                    Went::Ended
                }
            };
        }
        let room = stream.window.room().min(self.window.room());
        let length = stream.rest.len().min(PIECE).min(self.payload_max).min(room);
        if length == 0 {
            return Went::Stalled;
        }
        let whole = length == stream.rest.len();
        stream.goes(length, whole, self.line.patience.write_bytes);
        stream.window.take(length);
        self.window.take(length);
        if let Some(promised) = &mut stream.promised {
            *promised -= length as u64;
        }
        let short = stream.promised.is_some_and(|promised| promised > 0);
        let last = whole && ends && !short && stream.behind.is_empty();
        let piece = match whole {
            true => std::mem::take(&mut stream.rest),
            false => stream.rest.split_to(length),
        };
        data_head(self.out.lead(), stream.id, length, last);
        self.out.put(piece);
        if whole || length >= WORTHY {
            self.budget.answered();
        }
        match last {
            true => Went::Ended,
            false => Went::Part,
        }
    }

    /// All of an answer is out; what is left of the request nobody wants.
    fn finish(&mut self, slot: usize) {
        if let Some(stream) = self.streams.remove(slot)
            && !stream.heard
        {
            self.part(stream.id, stream.room);
        }
    }
}

fn data_head(out: &mut Vec<u8>, stream: u32, length: usize, ends: bool) {
    let frame = Frame {
        length: length as u32,
        kind: DATA,
        flags: if ends { END_STREAM } else { 0 },
        stream,
    };
    frame.write(out);
}

/// Takes what else is there behind a small piece: a frame for each would cost the peer more than what is in it.
fn gather<F, B>(stream: &mut Stream<Work<F, B>>, rope: &Waker)
where
    F: Future<Output = Result<Response<B>, Panicked>>,
    B: Body<Data = Bytes>,
{
    let mut all = BytesMut::new();
    for _ in 0..GATHERED {
        let tail = match next(stream, rope) {
            Next::Data(data, last) if data.len() > SMALL => {
                stream.behind = data;
                match last {
                    true => Tail::End,
                    false => break,
                }
            }
            Next::Data(data, last) => {
                if all.is_empty() {
                    all.reserve(SMALL.max(stream.rest.len() + data.len()));
                    all.extend_from_slice(&stream.rest);
                }
                all.extend_from_slice(&data);
                match last {
                    true => Tail::End,
                    false if all.len() < PIECE => continue,
                    false => break,
                }
            }
            Next::Trailers(trailers) => Tail::Trailers(Box::new(trailers)),
            Next::End => Tail::End,
            Next::Broken => Tail::Broken,
            Next::Waits | Next::Answer(_) | Next::Refusal(_) => break,
        };
        stream.ends_with(tail);
        break;
    }
    if !all.is_empty() {
        stream.rest = all.freeze();
    }
}

/// What there is next of an answer.
fn next<F, B>(stream: &mut Stream<Work<F, B>>, rope: &Waker) -> Next<B>
where
    F: Future<Output = Result<Response<B>, Panicked>>,
    B: Body<Data = Bytes>,
{
    stream.seen = true;
    let Some(work) = &mut stream.work else {
        return Next::Waits;
    };
    let cx = &mut Context::from_waker(rope);
    match work.as_mut().project() {
        Doing::Called { call } => match call.poll(cx) {
            Poll::Pending => Next::Waits,
            Poll::Ready(Ok(answer)) => Next::Answer(answer),
            Poll::Ready(Err(Panicked)) => Next::Refusal(Fault::Panic),
        },
        Doing::Sends { body } => {
            // A panic costs its stream, and not those that share the task.
            let polled = catch_unwind(AssertUnwindSafe(|| next_piece(body, cx)));
            polled.unwrap_or_else(|payload| {
                tracing::error!(reason = panic_message(&*payload), "an answer panicked");
                Next::Broken
            })
        }
    }
}

fn next_piece<B>(mut body: Pin<&mut B>, cx: &mut Context<'_>) -> Next<B>
where
    B: Body<Data = Bytes>,
{
    match body.as_mut().poll_frame(cx) {
        Poll::Pending => Next::Waits,
        Poll::Ready(None) => Next::End,
        Poll::Ready(Some(Err(_))) => Next::Broken,
        Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
            Ok(data) => Next::Data(data, body.is_end_stream()),
            Err(frame) => frame.into_trailers().map_or(Next::End, Next::Trailers),
        },
    }
}
