//! The server behind every proxy that is measured: as cheap as possible, or of limited capacity.
//!
//! - `/bytes/N` is answered at once with N bytes, whatever the method; with `fresh=1` it may be kept. Below `/r7` and
//!   the like lies the same.
//! - `/work` (`/work?ms=N`) takes one of the places for the service time, first come first served;
//!   work whose client has left is done all the same. With `uneven=1` one in ten takes eleven times
//!   as long as the others, with `failing=N` so many in a hundred fail, with `fresh=1` it may be kept.
//! - `/control?places=N&service_ms=N` changes both while it runs; `manner=queue|crowd|refuse` what becomes of those who
//!   find no place. `/stats` tells what was done.

mod answer;
pub(crate) mod places;

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use testkit::process::{Port, Process, Program};

use crate::cores::{self, Rank};
use crate::epoll::{Epoll, Ready};
use crate::http1::{Kind, Reader};
use crate::load::wire::ask;
use crate::table::Table;
use answer::{Answers, Asked, Stats};
use places::Places;

/// Above every token of a client.
const FIRST_LISTENER: u64 = u64::MAX - (1 << 20);
const READ_AT_ONCE: usize = 64 * 1024;
const BACKLOG: i32 = 4096;

/// Requests worked on at once, unless told otherwise.
pub const PLACES: usize = 32;
/// How long each takes, unless told otherwise.
pub const SERVICE: Duration = Duration::from_millis(20);

/// What the server can do at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Requests worked on at once.
    pub places: usize,
    /// How long each takes.
    pub service: Duration,
    /// The core it runs on, before others and as long as who started it; anywhere, like others and
    /// until it is killed when none is given.
    pub core: Option<usize>,
    /// Addresses it listens at: `listen`, and so many more in the same port, counted on from 127.64.0.1.
    pub more_addresses: usize,
}

impl Settings {
    /// Where it listens.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let port = self.listen.port();
        let more = (0..self.more_addresses as u32)
            .map(|index| SocketAddr::from((Ipv4Addr::from(FIRST_MORE + index), port)));
        std::iter::once(self.listen).chain(more).collect()
    }
}

const FIRST_MORE: u32 = u32::from_be_bytes([127, 64, 0, 1]);

/// Serves until the process is killed.
pub fn serve(settings: Settings) -> io::Result<()> {
    if let Some(core) = settings.core {
        cores::follow_parent();
        cores::go_first(Rank::Origin);
        cores::pin(core);
    }
    let addresses = settings.addresses().into_iter();
    let listeners: Vec<TcpListener> = addresses.map(listen).collect::<io::Result<_>>()?;
    let mut epoll = Epoll::new()?;
    for (listener, index) in listeners.iter().zip(0..) {
        epoll.add(listener, FIRST_LISTENER + index)?;
    }
    let mut origin = Origin::new(settings);
    let mut ready = Vec::new();
    loop {
        let timeout = origin.until_next_due();
        ready.extend(epoll.wait(timeout)?);
        for event in ready.drain(..) {
            match event.token.checked_sub(FIRST_LISTENER) {
                Some(index) => origin.accept(&listeners[index as usize], &epoll),
                None => origin.attend(event),
            }
        }
        origin.finish_work();
    }
}

/// With room for everybody who comes at once: who finds none waits a second to knock again.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Starts this very program as an origin, on a core of its own or shared with the load.
pub fn start(port: &Port, core: usize) -> Result<Process, String> {
    start_at_many(port, core, 0)
}

/// The same at more addresses, those of [`Settings::addresses`].
pub fn start_at_many(port: &Port, core: usize, more: usize) -> Result<Process, String> {
    let odd = |error: &dyn Display| format!("the origin does not start: {error}");
    let program = std::env::current_exe().map_err(|error| odd(&error))?;
    let program = Program::new(program).map_err(|error| odd(&error))?;
    let program = program
        .arg("origin")
        .arg(format!("--listen={}", port.addr()));
    let program = program.arg(format!("--more-addresses={more}"));
    let started = program.arg(format!("--core={core}")).start();
    let origin = started.map_err(|error| odd(&error))?;
    for _ in 0..500 {
        if ask(port.addr(), "/stats").is_ok() {
            return Ok(origin);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(odd(&"it does not answer"))
}

/// What an origin that no longer answers said last.
pub fn last_words(origin: &Process) -> String {
    let lines = origin.lines();
    let last = lines.last().map_or("nothing", |line| line.text.as_str());
    let status = origin.status();
    format!("the origin is gone ({status:?}), having said: {last}")
}

struct Origin {
    started: Instant,
    service: Duration,
    places: Places,
    answers: Answers,
    clients: Table<Client>,
    buffer: Vec<u8>,
    begun: u64,
    done: u64,
    /// Of those, the work nobody waited for any more.
    departed: u64,
    /// Answers of a length that was asked for.
    bytes: u64,
}

struct Client {
    stream: TcpStream,
    reader: Reader,
    /// Read, but belonging to requests after the one being worked on.
    inbox: Vec<u8>,
    /// Not taken by the socket yet; answers are shared, not copied, so that a large one costs what the system takes.
    outbox: VecDeque<Unsent>,
    working: bool,
    failing: bool,
    /// Whether the answer being worked on may be kept.
    fresh: bool,
    closing: bool,
}

/// The rest of an answer.
struct Unsent {
    answer: Rc<[u8]>,
    from: usize,
}

impl Origin {
    fn new(settings: Settings) -> Self {
        Self {
            started: Instant::now(),
            service: settings.service,
            places: Places::new(settings.places),
            answers: Answers::default(),
            clients: Table::new(),
            buffer: vec![0; READ_AT_ONCE],
            begun: 0,
            done: 0,
            departed: 0,
            bytes: 0,
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn until_next_due(&self) -> Option<Duration> {
        let due = self.places.next_due()?;
        Some(due.saturating_sub(self.now()))
    }

    /// A client that is gone before it is seated is no reason to stop serving the others.
    fn accept(&mut self, listener: &TcpListener, epoll: &Epoll) {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => return,
            };
            let ready = stream.set_nonblocking(true);
            let ready = ready.and_then(|()| stream.set_nodelay(true));
            let client = self.clients.insert(Client::new(stream));
            let seated = self.clients.get_mut(client);
            let watched = seated.map_or(Ok(()), |seated| epoll.add(&seated.stream, client));
            if ready.and(watched).is_err() {
                self.clients.release(client);
            }
        }
    }

    fn attend(&mut self, event: Ready) {
        let Some(mut client) = self.clients.lift(event.token) else {
            return;
        };
        let mut open = true;
        if event.writable {
            open = client.flush();
        }
        if open && event.readable {
            open = self.read(&mut client, event);
        }
        self.put_back(event.token, client, open);
    }

    /// False when the client is gone or has broken the protocol.
    fn read(&mut self, client: &mut Client, event: Ready) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        let open = loop {
            match client.stream.read(&mut buffer) {
                Ok(0) => break false,
                Ok(length) => {
                    if !self.take(client, event.token, &buffer[..length]) {
                        break false;
                    }
                    // A short read emptied the socket; only an end that is known already follows.
                    if length < buffer.len() && !event.ended {
                        break true;
                    }
                }
                Err(error) => break error.kind() == io::ErrorKind::WouldBlock,
            }
        };
        self.buffer = buffer;
        open
    }

    fn take(&mut self, client: &mut Client, token: u64, bytes: &[u8]) -> bool {
        if client.working || !client.inbox.is_empty() {
            client.inbox.extend_from_slice(bytes);
            return true;
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let Ok(taken) = client.reader.take(rest) else {
                return false;
            };
            rest = &rest[taken..];
            if client.reader.is_whole() {
                if !self.answer(client, token) {
                    return false;
                }
                if client.working {
                    client.inbox.extend_from_slice(rest);
                    return true;
                }
            }
        }
        true
    }

    fn answer(&mut self, client: &mut Client, token: u64) -> bool {
        let head = client.reader.head();
        client.closing = head.closes();
        let asked = Asked::parse(head.target().unwrap_or_default());
        client.reader.next();
        let now = self.now();
        match asked {
            Asked::Bytes { length, fresh } => {
                self.bytes += 1;
                let answer = self.answers.of_length(length, fresh);
                return client.send(answer);
            }
            Asked::Work {
                service,
                is_uneven,
                failing_percent,
                fresh,
            } => {
                let lot = self.lot();
                client.working = true;
                client.failing = lot % 100 < failing_percent;
                client.fresh = fresh;
                let service = service.unwrap_or(self.service);
                let service = match is_uneven {
                    true => uneven(service, lot),
                    false => service,
                };
                if self.places.arrive(token, service, now) {
                    return true;
                }
                client.working = false;
                return client.send(&Rc::from(answer::BUSY));
            }
            Asked::Control {
                places,
                service,
                manner,
            } => {
                self.service = service.unwrap_or(self.service);
                if let Some(manner) = manner {
                    self.places.treat(manner, now);
                }
                if let Some(places) = places {
                    self.places.resize(places, now);
                }
            }
            Asked::Stats => {}
            Asked::Unknown => return client.send(&Rc::from(answer::NOT_FOUND)),
        }
        let stats = Stats {
            done: self.done,
            departed: self.departed,
            waiting: self.places.waiting(),
            bytes: self.bytes,
        };
        client.send(&stats.answer())
    }

    /// Drawn for each work, the same in each run.
    fn lot(&mut self) -> u64 {
        self.begun += 1;
        self.begun.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
    }

    fn finish_work(&mut self) {
        let now = self.now();
        while let Some(token) = self.places.finish(now) {
            self.done += 1;
            let Some(mut client) = self.clients.lift(token) else {
                self.departed += 1;
                continue;
            };
            client.working = false;
            let mut open = match client.failing {
                true => client.send(&Rc::from(answer::FAILED)),
                false => client.send(self.answers.of_work(client.fresh)),
            };
            let inbox = std::mem::take(&mut client.inbox);
            open = open && self.take(&mut client, token, &inbox);
            self.put_back(token, client, open);
        }
    }

    fn put_back(&mut self, token: u64, client: Client, open: bool) {
        let finished = client.closing && !client.working && client.outbox.is_empty();
        if open && !finished {
            self.clients.put(token, client);
        } else {
            self.clients.release(token);
        }
    }
}

/// One in ten takes eleven times as long as the others.
fn uneven(service: Duration, lot: u64) -> Duration {
    match lot / 100 % 10 {
        0 => service * 11 / 2,
        _ => service / 2,
    }
}

impl Client {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            reader: Reader::new(Kind::Request),
            inbox: Vec::new(),
            outbox: VecDeque::new(),
            working: false,
            failing: false,
            fresh: false,
            closing: false,
        }
    }

    /// False when the client is gone.
    fn send(&mut self, answer: &Rc<[u8]>) -> bool {
        let answer = answer.clone();
        self.outbox.push_back(Unsent { answer, from: 0 });
        // Where others wait already, the socket is full.
        self.outbox.len() > 1 || self.flush()
    }

    fn flush(&mut self) -> bool {
        while let Some(next) = self.outbox.front_mut() {
            match self.stream.write(&next.answer[next.from..]) {
                Ok(written) => next.from += written,
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
            if next.from == next.answer.len() {
                self.outbox.pop_front();
            }
        }
        true
    }
}

#[cfg(test)]
pub(crate) mod tests;
