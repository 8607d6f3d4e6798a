//! What a request brings: a frame, or a stream of them that its connection reads as it is asked for.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use oap::{Codec, Inflater};
use tokio::task::coop;
use tokio::time::{Sleep, sleep};

use crate::reject::Refusal;
use crate::service::Content;

pub(crate) use inflow::Inflow;

pub(crate) mod inflow;

/// The body of a request, decompressed, in pieces of 64 KiB at most unless it came whole.
pub struct Body {
    source: Source,
    inflater: Option<Inflater>,
    /// Compressed bytes that are not used up yet.
    packed: Bytes,
    patience: Duration,
    /// Made when the sender is first waited for.
    alarm: Option<Pin<Box<Sleep>>>,
    over: bool,
}

enum Source {
    Whole(Bytes),
    Stream(Arc<Inflow>),
}

impl Body {
    pub(crate) fn new(content: &Content, codec: Option<Codec>, patience: Duration) -> Self {
        let source = match content {
            Content::Whole(whole) => Source::Whole(whole.clone()),
            Content::Stream(inflow) => Source::Stream(inflow.clone()),
        };
        Self {
            source,
            inflater: codec.map(Inflater::new),
            packed: Bytes::new(),
            patience,
            alarm: None,
            over: false,
        }
    }

    /// The next piece.
    pub async fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Bytes it has at least, and at most if that is known.
    pub fn size(&self) -> (u64, Option<u64>) {
        match (&self.source, &self.inflater) {
            (Source::Whole(whole), None) => (whole.len() as u64, Some(whole.len() as u64)),
            _ => (0, None),
        }
    }

    /// Whether nothing comes any more.
    pub fn is_over(&self) -> bool {
        let is_empty = matches!(&self.source, Source::Whole(whole) if whole.is_empty());
        self.over || (is_empty && self.inflater.is_none())
    }

    /// What is next on the wire.
    fn poll_wire(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        let inflow = match &mut self.source {
            Source::Whole(whole) => {
                let whole = std::mem::take(whole);
                return Poll::Ready((!whole.is_empty()).then_some(Ok(whole)));
            }
            Source::Stream(inflow) => inflow,
        };
        if let Poll::Ready(piece) = inflow.poll_take(cx) {
            self.alarm = None;
            return Poll::Ready(piece);
        }
        let patience = self.patience;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(patience)));
        ready!(alarm.as_mut().poll(cx));
        Poll::Ready(Some(Err(Refusal::BodySlow)))
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        loop {
            if let Some(inflater) = &mut self.inflater
                && let Some(piece) = inflater.next(&mut self.packed)?
            {
                return Poll::Ready(Some(Ok(piece)));
            }
            match (ready!(self.poll_wire(cx)), &self.inflater) {
                (Some(Ok(piece)), Some(_)) => self.packed = piece,
                (None, Some(inflater)) => {
                    inflater.finish()?;
                    return Poll::Ready(None);
                }
                (piece, _) => return Poll::Ready(piece),
            }
        }
    }
}

impl Stream for Body {
    type Item = Result<Bytes, Refusal>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(None);
        }
        // Decompressing is work: whoever reads much of it lets others run in between.
        let turn = ready!(coop::poll_proceed(cx));
        let polled = self.poll_piece(cx);
        if let Poll::Ready(piece) = &polled {
            turn.made_progress();
            self.over = !matches!(piece, Some(Ok(_)));
        }
        polled
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Source::Stream(inflow) = &self.source {
            inflow.abandon();
        }
    }
}

#[cfg(test)]
mod tests;
