//! The story of a connection: who it is, what it speaks, and then its requests until it ends.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use kernel::serve::Stay;
use rustls::server::Acceptor;
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;

use crate::door::{Cut, House};
use crate::frames::PREFACE;
use crate::line::{Line, Patience};
use crate::pulse::{Order, Pulse, Stance, ticks};
use crate::service::{Protocol, Service, Visit};
use crate::settings::DoorSettings;
use crate::socket::{Early, Socket, poll_sip};
use crate::tls::{Tls, TlsFacts};
use crate::{h1, h2, proxy};

/// A connection that has just come.
pub(crate) struct Arrival<S> {
    pub(crate) house: Arc<House<S>>,
    pub(crate) settings: Arc<DoorSettings>,
    pub(crate) hop: SocketAddr,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) stay: Stay,
}

/// What has been found out about it.
struct Introduced {
    socket: Socket,
    /// Read, and not looked at yet.
    early: Bytes,
    visit: Visit,
}

impl<S: Service> Arrival<S> {
    /// From the first byte to the last.
    pub(crate) async fn live(self, stream: TcpStream) {
        // Boxed: its room is only needed at the beginning, and a connection may last long.
        let Some(introduced) = Box::pin(self.introduce(stream)).await else {
            return self.pulse.stop();
        };
        let Introduced {
            socket,
            early,
            visit,
        } = introduced;
        let protocol = visit.protocol;
        let line = Arc::new(Line {
            desk: self.house.desk.clone(),
            pulse: self.pulse,
            patience: Patience::new(&self.settings),
            visit,
        });
        match protocol {
            Protocol::H1 => {
                let wire = h1::Wire::new(socket, early, line, self.settings.head_bytes, self.stay);
                h1::serve(self.house, wire).await;
            }
            Protocol::H2 => {
                let wire = h2::Wire::new(socket, early, line, self.stay);
                h2::serve(self.house, &self.settings, wire).await;
            }
        }
    }

    /// Everything before the first request; `None` if there will be none.
    async fn introduce(&self, mut stream: TcpStream) -> Option<Introduced> {
        let local = stream.local_addr().ok()?;
        let (mut peer, mut target, mut early) = (self.hop, local, Bytes::new());
        let proxied = self.settings.proxy_protocol.trusts(self.hop.ip());
        if proxied || self.settings.tls.is_some() {
            // One time for both: however it is spread over them, it is over in the end.
            let handshake = ticks(self.settings.timeouts.handshake);
            self.pulse.take(Stance::Head, &self.house.desk.clock);
            self.pulse.read.set(&self.house.desk.clock, handshake);
        }
        if proxied {
            let (addresses, rest) = self.in_time(self.read_proxy_header(&mut stream)).await??;
            (peer, target) = addresses.unwrap_or((peer, target));
            early = rest;
            if !self.house.may_come(peer.ip(), self.settings.accept_rate) {
                return None;
            }
        }
        let mut visit = Visit {
            peer,
            hop: self.hop,
            local: target,
            tls: None,
            protocol: Protocol::H1,
        };
        let socket = match &self.settings.tls {
            None => Socket::Plain(stream),
            Some(tls) => {
                let stream = Early::new(stream, std::mem::take(&mut early));
                let socket = self
                    .in_time(self.shake_hands(stream, tls, &mut visit))
                    .await??;
                Socket::Tls(socket)
            }
        };
        self.pulse.take(Stance::Fresh, &self.house.desk.clock);
        let head = ticks(self.settings.timeouts.head);
        self.pulse.read.set(&self.house.desk.clock, head);
        let mut introduced = Introduced {
            socket,
            early,
            visit,
        };
        // Over TLS the handshake has said what is spoken.
        if introduced.visit.tls.is_none() && self.prefers_h2(&mut introduced).await? {
            introduced.visit.protocol = Protocol::H2;
        }
        Some(introduced)
    }

    /// The end of `work`, unless its time is over or it has been cut off.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        poll_fn(|cx| {
            self.pulse.belongs_to(cx.waker());
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(done));
            }
            if self.pulse.read.passed() {
                self.house.desk.timeouts.handshake.inc();
                return Poll::Ready(None);
            }
            match self.pulse.ordered() {
                Order::Cut => Poll::Ready(None),
                // Whoever is on the way in is still answered.
                Order::Stay | Order::Leave => Poll::Pending,
            }
        })
        .await
    }

    /// Whom a proxy speaks for, and what it said after that.
    async fn read_proxy_header(
        &self,
        stream: &mut TcpStream,
    ) -> Option<(Option<(SocketAddr, SocketAddr)>, Bytes)> {
        let mut read = BytesMut::new();
        loop {
            let sip = poll_fn(|cx| poll_sip(stream, cx)).await.ok()?;
            if sip.is_empty() {
                return None;
            }
            read.extend_from_slice(&sip);
            match proxy::parse(&read) {
                proxy::Parsed::More => {}
                proxy::Parsed::Header { addresses, length } => {
                    let rest = read.split_off(length).freeze();
                    return Some((addresses, rest));
                }
                proxy::Parsed::Bad(reason) => {
                    self.house.cut(Cut::ProxyHeader);
                    tracing::debug!(hop = %self.hop, reason, "a proxy did not say whom it speaks for");
                    return None;
                }
            }
        }
    }

    async fn shake_hands(
        &self,
        stream: Early,
        tls: &Tls,
        visit: &mut Visit,
    ) -> Option<Box<tokio_rustls::server::TlsStream<Early>>> {
        let failed = |error: std::io::Error| {
            self.house.tls.failures.inc();
            tracing::debug!(hop = %self.hop, %error, "no TLS");
        };
        // Only who has said something takes part in the work; who only holds a connection open does not.
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await;
        let hello = hello.map_err(failed).ok()?;
        let _turn = self.house.tls.turns.acquire().await.ok()?;
        let accepted = hello.into_stream(tls.config.clone()).await;
        let stream = accepted.map_err(failed).ok()?;
        let (_, session) = stream.get_ref();
        let facts = TlsFacts::new(session);
        self.house.tls.agreed(&facts);
        if session.alpn_protocol() == Some(b"h2") {
            visit.protocol = Protocol::H2;
        }
        visit.tls = Some(Arc::new(facts));
        Some(Box::new(stream))
    }

    /// Whether the first bytes are those of HTTP/2; `None` if none come.
    async fn prefers_h2(&self, introduced: &mut Introduced) -> Option<bool> {
        loop {
            let early = &introduced.early;
            if early.starts_with(PREFACE) {
                return Some(true);
            }
            if !PREFACE.starts_with(early) {
                return Some(false);
            }
            let sip = poll_fn(|cx| {
                self.pulse.belongs_to(cx.waker());
                match poll_sip(&mut introduced.socket, cx) {
                    Poll::Ready(read) => Poll::Ready(read.ok()),
                    Poll::Pending if self.pulse.read.passed() => {
                        self.house.desk.timeouts.read.inc();
                        Poll::Ready(None)
                    }
                    Poll::Pending if self.pulse.ordered() != Order::Stay => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                }
            })
            .await?;
            if sip.is_empty() {
                return None;
            }
            introduced.early = match early.is_empty() {
                true => sip,
                false => [&early[..], &sip].concat().into(),
            };
        }
    }
}
