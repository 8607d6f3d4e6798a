//! How many streams at once the peer of a connection takes: who is one too many waits for another to end, unseen.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use futures_util::task::AtomicWaker;
use hyper::client::conn::http2::Connection;
use hyper_util::rt::TokioIo;

use super::heads::{Counted, Heads};
use super::tether::{Tasks, Tied};

/// What the task of a connection knows of its peer.
#[derive(Debug)]
pub(super) struct Room {
    most: AtomicUsize,
    /// The peer has said something, and with its first words how many it takes.
    heard: AtomicBool,
    driver: AtomicWaker,
    pub(super) heads: Heads,
    /// The peer has said goodbye, and had taken nothing.
    pub(super) barren: AtomicBool,
}

impl Room {
    /// Of a peer that has said nothing yet, for so many streams of ours at once.
    pub(super) fn unheard(streams: usize) -> Self {
        Self {
            most: AtomicUsize::new(usize::MAX),
            heard: AtomicBool::new(false),
            driver: AtomicWaker::new(),
            heads: Heads::for_streams(streams),
            barren: AtomicBool::new(false),
        }
    }

    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// An answer has come.
    pub(super) fn heard(&self) {
        if !self.heard.load(Ordering::Relaxed) && !self.heard.swap(true, Ordering::Relaxed) {
            self.driver.wake();
        }
    }
}

/// Drives a connection to its end. Every request on it hears of that by itself.
pub(super) async fn drive(
    mut connection: Connection<TokioIo<Counted>, Tied, Tasks>,
    room: Arc<Room>,
) {
    poll_fn(|cx| {
        room.driver.register(cx.waker());
        let ended = Pin::new(&mut connection).poll(cx).is_ready();
        room.most
            .store(connection.current_max_send_streams(), Ordering::Relaxed);
        match ended {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}
