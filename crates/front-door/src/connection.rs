//! The story of a connection: who it is, what it speaks, and then its requests until it ends.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http_rules::forward::Forwarding;
use http2_wire::frame::PREFACE;
use kernel::net::TcpStream;
use kernel::serve::Stay;

use crate::door::{Cut, House};
use crate::line::{Line, Patience};
use crate::pulse::{Order, Stance, Watched, ticks};
use crate::reminder::Reminder;
use crate::service::{Protocol, Service, Visit};
use crate::settings::DoorSettings;
use crate::socket::{Early, Socket, poll_sip};
use crate::taken::Taken;
use crate::tls::{self, Session, Tls};
use crate::{h1, h2, proxy};

/// A connection that has just come.
pub(crate) struct Arrival<S> {
    pub(crate) house: Arc<House<S>>,
    pub(crate) settings: Arc<DoorSettings>,
    pub(crate) hop: SocketAddr,
    pub(crate) pulse: Watched,
    pub(crate) stay: Stay,
}

/// A connection that is ready for its first request.
enum Ready<S> {
    H1(Arc<House<S>>, h1::Wire),
    /// All of its life, boxed: it is large, and most connections have another.
    H2(Pin<Box<dyn Future<Output = ()> + Send>>),
}

impl<S: Service> Arrival<S> {
    /// From the first byte to the last. What is only needed for a while is boxed: a connection may rest for long.
    pub(crate) async fn live(self, stream: TcpStream) {
        match Box::pin(self.introduce(stream)).await {
            None => {}
            Some(Ready::H1(house, wire)) => h1::serve(house, wire).await,
            Some(Ready::H2(life)) => life.await,
        }
    }

    /// Everything before the first request; `None` if there will be none.
    async fn introduce(self, mut stream: TcpStream) -> Option<Ready<S>> {
        let (clock, times) = (&self.house.desk.clock, &self.settings.timeouts);
        let mut visit = Visit {
            peer: self.hop,
            hop: self.hop,
            local: stream.local_addr().ok()?,
            tls: None,
            protocol: Protocol::H1,
            forwarding: Forwarding::new(self.hop.ip(), false),
            reminder: Reminder::none(),
        };
        let mut early = Bytes::new();
        let proxied = self.settings.proxy_protocol.trusts(self.hop.ip());
        if proxied || self.settings.tls.is_some() {
            // One time for both: however it is spread over them, it is over in the end.
            self.pulse.take(Stance::Head, clock);
            self.pulse.read.set(clock, ticks(times.handshake));
        }
        if proxied {
            let header = self.read_proxy_header(&mut stream);
            let (speaks_for, rest) = self.in_time(header).await??;
            (visit.peer, visit.local) = speaks_for.ends(visit.peer, visit.local);
            early = rest;
            if !self
                .house
                .may_come(visit.peer.ip(), self.settings.accept_rate)
            {
                return None;
            }
        }
        let taken = Taken::from(&stream);
        let mut socket = match &self.settings.tls {
            None => Socket::Plain(stream),
            Some(tls) => {
                let stream = Early::new(stream, std::mem::take(&mut early));
                let shaken = Box::pin(self.shake_hands(stream, tls, &mut visit));
                Socket::Tls(self.in_time(shaken).await??)
            }
        };
        self.pulse.take(Stance::Fresh, clock);
        self.pulse.read.set(clock, ticks(times.head));
        // Over TLS the handshake has said what is spoken.
        if visit.tls.is_none() && self.prefers_h2(&mut socket, &mut early).await? {
            visit.protocol = Protocol::H2;
        }
        Some(self.ready(socket, early, visit, taken))
    }

    fn ready(self, socket: Socket, early: Bytes, mut visit: Visit, taken: Taken) -> Ready<S> {
        if visit.peer != visit.hop || visit.tls.is_some() {
            visit.forwarding = Forwarding::new(visit.peer.ip(), visit.tls.is_some());
        }
        let protocol = visit.protocol;
        if protocol == Protocol::H1 {
            let clock = self.house.desk.clock.clone();
            visit.reminder = Reminder::new(self.pulse.shared(), clock);
        }
        let line = Arc::new(Line {
            desk: self.house.desk.clone(),
            pulse: self.pulse,
            patience: Patience::new(&self.settings),
            visit,
            taken,
            waited: AtomicU32::new(0),
        });
        match protocol {
            Protocol::H1 => {
                let head = self.settings.head_bytes;
                let wire = h1::Wire::new(socket, early, line, head, self.stay);
                Ready::H1(self.house, wire)
            }
            Protocol::H2 => {
                let start = h2::Start {
                    socket,
                    early,
                    line,
                    stay: self.stay,
                };
                Ready::H2(Box::pin(h2::serve(self.house, &self.settings, start)))
            }
        }
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
    async fn read_proxy_header(&self, stream: &mut TcpStream) -> Option<(proxy::SpeaksFor, Bytes)> {
        let mut read = BytesMut::new();
        loop {
            let sip = poll_fn(|cx| poll_sip(stream, cx)).await.ok()?;
            if sip.is_empty() {
                return None;
            }
            read.extend_from_slice(&sip);
            match proxy::parse(&read) {
                proxy::Parsed::More => {}
                proxy::Parsed::Header { speaks_for, length } => {
                    let rest = read.split_off(length).freeze();
                    return Some((speaks_for, rest));
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
    ) -> Option<Box<Session<Early>>> {
        let desk = &self.house.tls;
        let shaken = tls::shake_hands(stream, tls, &desk.turns).await;
        let (session, facts) = shaken
            .inspect_err(|error| {
                desk.failed(error);
                tracing::debug!(hop = %self.hop, %error, "no TLS");
            })
            .ok()?;
        desk.agreed(&facts);
        if facts.client.is_some() {
            self.house.desk.clock.vouch(&self.pulse, tls.vouchers);
        }
        if session.protocol() == Some(b"h2") {
            visit.protocol = Protocol::H2;
        }
        visit.tls = Some(Arc::new(facts));
        Some(session)
    }

    /// Whether the first bytes are those of HTTP/2; `None` if none come.
    async fn prefers_h2(&self, socket: &mut Socket, early: &mut Bytes) -> Option<bool> {
        loop {
            if early.starts_with(PREFACE) {
                return Some(true);
            }
            if !PREFACE.starts_with(early) {
                return Some(false);
            }
            let sip = poll_fn(|cx| {
                self.pulse.belongs_to(cx.waker());
                match poll_sip(socket, cx) {
                    Poll::Ready(read) => Poll::Ready(read.ok()),
                    Poll::Pending if self.pulse.read.passed() => {
                        self.house.desk.timeouts.read.inc();
                        Poll::Ready(None)
                    }
                    Poll::Pending if self.pulse.ordered() != Order::Stay => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                }
            })
            .await
            .filter(|sip| !sip.is_empty())?;
            *early = match early.is_empty() {
                true => sip,
                false => [&early[..], &sip].concat().into(),
            };
        }
    }
}
