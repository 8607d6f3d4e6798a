//! An HTTP/1 connection that nobody drives but the request on it: no task, no hop, no wake-up of its own.
//!
//! hyper's connection is a future that is meant to be spawned. Here whoever waits for an answer polls it, in the same
//! task. Two wakers keep that quiet. A deaf one is tried first whenever something may be there already, so that the
//! channels inside hyper do not wake the very task that is polling them; the task's own follows before it waits.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use http::{Request, Response};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;

use crate::io::{Io, Meter};
use crate::outgoing::Outgoing;

/// Buffered of a response, or of a request, at most.
const BUFFER_BYTES: usize = 128 * 1024;

type PolledFrame = Poll<Option<hyper::Result<Frame<bytes::Bytes>>>>;
type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// hyper's side of the connection.
enum Drive {
    Running(Driver),
    Ended(hyper::Result<()>),
}

pub(crate) struct Line {
    sender: SendRequest<Outgoing>,
    driver: Drive,
    meter: Arc<Meter>,
    generation: u32,
    head_bytes: usize,
}

impl Line {
    /// Speaks HTTP/1 over a stream that stands.
    pub(crate) async fn open(io: Io, head_bytes: usize, generation: u32) -> hyper::Result<Self> {
        let meter = io.meter().clone();
        let (sender, connection) = Builder::new()
            .max_buf_size(BUFFER_BYTES)
            .max_header_size(head_bytes)
            .handshake(TokioIo::new(io))
            .await?;
        let mut line = Self {
            sender,
            driver: Drive::Running(Box::pin(connection.with_upgrades())),
            meter,
            generation,
            head_bytes,
        };
        line.look();
        Ok(line)
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Whether it can take a request: looks, so that a peer that has closed or spoken out of turn is noticed.
    pub(crate) fn is_fit(&mut self) -> bool {
        self.look();
        self.is_ready()
    }

    /// Lets happen what can without waiting.
    pub(crate) fn look(&mut self) {
        self.driver.turn(&mut deaf());
    }

    /// Whether the last exchange is over on both sides and the connection stands.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.driver, Drive::Running(_)) && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of its response.
    ///
    /// Takes the request out of its place: passed by value it would be copied into the future of every caller.
    pub(crate) async fn exchange(
        &mut self,
        request: &mut Request<Outgoing>,
    ) -> hyper::Result<Response<Incoming>> {
        self.meter.await_head(self.head_bytes);
        let request = std::mem::take(request);
        let mut answer = std::pin::pin!(self.sender.send_request(request));
        let mut sent = false;
        let (driver, meter) = (&mut self.driver, &self.meter);
        std::future::poll_fn(move |cx| {
            // The first time there is nothing to hear yet.
            let mut polled = Poll::Pending;
            if std::mem::replace(&mut sent, true) {
                driver.turn(&mut deaf());
                polled = answer.as_mut().poll(&mut deaf());
            }
            if polled.is_pending() {
                driver.turn(cx);
                polled = answer.as_mut().poll(&mut deaf());
            }
            if let Poll::Ready(Ok(_)) = polled {
                meter.head_came();
            }
            polled
        })
        .await
    }

    /// The next frame of a body that comes over this connection, if it can be had without waiting.
    pub(crate) fn frame_at_hand(&mut self, body: &mut Incoming) -> PolledFrame {
        let polled = Pin::new(&mut *body).poll_frame(&mut deaf());
        if polled.is_ready() {
            return polled;
        }
        self.look();
        Pin::new(body).poll_frame(&mut deaf())
    }

    /// The next frame of a body that comes over this connection.
    pub(crate) fn poll_frame(&mut self, body: &mut Incoming, cx: &mut Context<'_>) -> PolledFrame {
        let polled = self.frame_at_hand(body);
        if polled.is_ready() {
            return polled;
        }
        self.driver.turn(cx);
        Pin::new(body).poll_frame(&mut deaf())
    }

    /// Waits until the connection is over or somebody else's: an upgrade hands the stream on.
    pub(crate) async fn ended(&mut self) {
        std::future::poll_fn(|cx| {
            self.driver.turn(cx);
            match self.driver {
                Drive::Running(_) => Poll::Pending,
                Drive::Ended(_) => Poll::Ready(()),
            }
        })
        .await;
    }

    /// Whether it ended because the peer said something nobody had asked for.
    pub(crate) fn spoke_out_of_turn(&self) -> bool {
        match &self.driver {
            // An error without a cause below it is one of HTTP, not of the stream.
            Drive::Ended(Err(error)) => std::error::Error::source(error).is_none(),
            _ => false,
        }
    }
}

impl Drive {
    /// Once over, the future is dropped: that answers whoever still waits on the sender.
    fn turn(&mut self, cx: &mut Context<'_>) {
        if let Self::Running(running) = self
            && let Poll::Ready(ended) = running.as_mut().poll(cx)
        {
            *self = Self::Ended(ended);
        }
    }
}

fn deaf() -> Context<'static> {
    Context::from_waker(Waker::noop())
}
