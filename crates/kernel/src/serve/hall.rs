//! The way in that all doors share: accepts while there are places, asks around when there are none, and takes in
//! the backlog before it closes.

use std::fs::File;
use std::io;
use std::net::SocketAddr;

use bounded_ring::{Permit, Slots};

use super::door::Door;
use super::{ACCEPT_ERRORS, ACCEPTED, OPEN};
use crate::limits;
use crate::metrics::{Counter, Gauge};
use crate::net::{self, TcpListener, TcpStream};
use crate::tree::{Context, Failure};

/// Connections taken in before those who are inside have their turn: a crowd at the door is not to hold them up.
const TURN: u32 = 16;

/// Who receives the connections of a door.
pub trait Host: Send + Sync + 'static {
    /// Whether a connection from there is taken in at all; asked before it gets a place.
    fn admits(&self, _peer: SocketAddr) -> bool {
        true
    }

    /// Takes over a connection and its place.
    fn welcome(&self, stream: TcpStream, peer: SocketAddr, stay: Stay);

    /// Somebody waits for a place: those who only hold one should leave. Told again while it lasts.
    fn crowded(&self);
}

/// The places of a door.
pub struct Hall {
    slots: Slots,
    open: Gauge,
    accepted: Counter,
    errors: Counter,
    name: &'static str,
}

impl Hall {
    /// With so many places.
    pub fn new(context: &Context, door: &Door, connections: usize) -> Self {
        let registry = &context.kernel.registry;
        Self {
            slots: Slots::new(connections),
            open: registry.gauge(&OPEN, &[door.name()]),
            accepted: registry.counter(&ACCEPTED, &[door.name()]),
            errors: registry.counter(&ACCEPT_ERRORS, &[door.name()]),
            name: door.name(),
        }
    }

    /// Speaks ready, accepts until told to end, takes in what waits in the backlog, and closes the door.
    pub async fn receive(
        &self,
        context: &Context,
        door: &Door,
        host: &impl Host,
    ) -> Result<(), Failure> {
        let listener = door.listener()?;
        let mut spare = Spare::new();
        context.ready.ready();
        let told = context.told_to_end();
        tokio::pin!(told);
        let mut taken_in = 0_u32;
        loop {
            tokio::select! {
                biased;
                () = &mut told => break,
                accepted = listener.accept() => {
                    if accepted.as_ref().is_err_and(out_of_descriptors) {
                        spare.turn_away(&listener);
                    }
                    self.welcome(accepted, host).await;
                    taken_in = taken_in.wrapping_add(1);
                    let_others_in(taken_in).await;
                }
            }
        }
        // What the kernel has already accepted for us would be reset by closing: take it in first.
        let listener = listener.into_std()?;
        for taken_in in 1..=limits::BACKLOG + 1 {
            let Some(accepted) = net::waiting(&listener) else {
                break;
            };
            self.welcome(accepted, host).await;
            let_others_in(taken_in).await;
        }
        door.close();
        Ok(())
    }

    /// Waits until every place is free.
    pub async fn empty(&self) {
        self.slots.idle().await;
    }

    async fn welcome(&self, accepted: io::Result<(TcpStream, SocketAddr)>, host: &impl Host) {
        match accepted {
            Ok((stream, peer)) => {
                self.accepted.inc();
                if !host.admits(peer) {
                    return;
                }
                // Answers are written whole; waiting for more to say only delays them.
                let _not_supported = stream.set_nodelay(true).is_err();
                let stay = Stay::new(&self.open, self.place(host).await);
                host.welcome(stream, peer, stay);
            }
            Err(error) => {
                self.errors.inc();
                tracing::warn!(door = self.name, %error, "cannot accept a connection");
                if !of_one_connection(&error) {
                    tokio::time::sleep(limits::ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// A place for one connection. When all are taken, those that only hold one are asked to leave; the rest of the
    /// newcomers wait in the backlog.
    async fn place(&self, host: &impl Host) -> Option<Permit> {
        if let Some(permit) = self.slots.try_acquire() {
            return Some(permit);
        }
        let freed = self.slots.acquire();
        tokio::pin!(freed);
        loop {
            host.crowded();
            tokio::select! {
                permit = &mut freed => return permit,
                () = tokio::time::sleep(limits::CROWDED_GLANCE) => {}
            }
        }
    }
}

/// A connection's place; given back when it ends, however it ends.
pub struct Stay {
    open: Gauge,
    _permit: Option<Permit>,
}

impl Stay {
    fn new(open: &Gauge, permit: Option<Permit>) -> Self {
        open.inc();
        Self {
            open: open.clone(),
            _permit: permit,
        }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.open.dec();
    }
}

/// A descriptor kept for the day there are none: with it, those who wait are turned away at once instead of being
/// left to wonder.
struct Spare(Option<File>);

impl Spare {
    fn new() -> Self {
        Self(File::open("/dev/null").ok())
    }

    fn turn_away(&mut self, listener: &TcpListener) {
        let Some(listener) = net::of_system(listener) else {
            return;
        };
        if self.0.take().is_none() {
            return;
        }
        for _ in 0..limits::BACKLOG {
            if listener.accept().is_err() {
                break;
            }
        }
        *self = Self::new();
    }
}

fn out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

async fn let_others_in(taken_in: u32) {
    if taken_in.is_multiple_of(TURN) {
        tokio::task::yield_now().await;
    }
}

/// Whether an error is about the one connection that was to be accepted. Any other comes again at once, unless
/// something is freed or mended first.
fn of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

#[cfg(test)]
mod tests;
