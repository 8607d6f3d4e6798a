//! A fixed number of clients, each of which asks again as soon as it has its answer.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::connection::{Connection, Heard};
use super::tally::new_histogram;
use crate::epoll::Epoll;
use crate::table::Table;

const READ_AT_ONCE: usize = 64 * 1024;
/// A server that says nothing for so long will not begin to.
const STALLED: Duration = Duration::from_secs(5);

/// What is sent, and how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whom to ask.
    pub target: SocketAddr,
    /// Clients.
    pub connections: usize,
    /// The request of all of them.
    pub request: Vec<u8>,
    /// Answers before this are not counted.
    pub warm_up: Duration,
    /// When to end after the warm-up.
    pub until: Until,
}

/// When enough is measured.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After a time.
    Elapsed(Duration),
    /// After so many answers.
    Answers(u64),
}

/// What was measured.
#[derive(Debug)]
pub struct Outcome {
    /// Whole answers below 400.
    pub answers: u64,
    /// Other answers, and connections lost with a request on them.
    pub failures: u64,
    /// From the first counted answer to the last.
    pub elapsed: Duration,
    /// By how much the meter went on meanwhile.
    pub spent: Duration,
    /// In microseconds.
    pub latency: Histogram<u64>,
}

impl Outcome {
    /// Of the meter, per answer.
    pub fn micros_each(&self) -> f64 {
        self.spent.as_secs_f64() * 1e6 / self.answers.max(1) as f64
    }
}

struct Client {
    connection: Connection,
    sent_at: Instant,
}

struct Crowd<'a> {
    plan: &'a Plan,
    epoll: Epoll,
    clients: Table<Client>,
    counting: bool,
    answers: u64,
    failures: u64,
    latency: Histogram<u64>,
}

/// Runs the plan. The meter, usually the server's processor time, is read when the warm-up ends and
/// when enough is measured.
pub fn run(plan: &Plan, mut meter: impl FnMut() -> Duration) -> io::Result<Outcome> {
    let mut crowd = Crowd {
        plan,
        epoll: Epoll::new()?,
        clients: Table::new(),
        counting: false,
        answers: 0,
        failures: 0,
        latency: new_histogram(),
    };
    for _ in 0..plan.connections {
        crowd.join()?;
    }
    let warm = Instant::now() + plan.warm_up;
    crowd.attend_until(|_, now| now >= warm)?;
    crowd.counting = true;
    let (began, before) = (Instant::now(), meter());
    crowd.attend_until(|crowd, now| match plan.until {
        Until::Elapsed(length) => now - began >= length,
        Until::Answers(wanted) => crowd.answers + crowd.failures >= wanted,
    })?;
    Ok(Outcome {
        answers: crowd.answers,
        failures: crowd.failures,
        spent: meter().saturating_sub(before),
        elapsed: began.elapsed(),
        latency: crowd.latency,
    })
}

impl Crowd<'_> {
    fn join(&mut self) -> io::Result<()> {
        let mut connection = Connection::open(self.plan.target, None)?;
        connection.send(&self.plan.request);
        let sent_at = Instant::now();
        let token = self.clients.insert(Client {
            connection,
            sent_at,
        });
        match self.clients.get_mut(token) {
            Some(client) => self.epoll.add(&client.connection.stream, token),
            None => Ok(()),
        }
    }

    fn attend_until(&mut self, enough: impl Fn(&Self, Instant) -> bool) -> io::Result<()> {
        let mut buffer = vec![0; READ_AT_ONCE];
        let mut ready = Vec::new();
        let mut heard_at = Instant::now();
        loop {
            let now = Instant::now();
            if enough(self, now) {
                return Ok(());
            }
            if now - heard_at > STALLED {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server stalls"));
            }
            ready.extend(self.epoll.wait(Some(Duration::from_millis(10)))?);
            for event in ready.drain(..) {
                heard_at = now;
                let Some(client) = self.clients.get_mut(event.token) else {
                    continue;
                };
                if event.writable && !client.connection.flush() {
                    self.rejoin(event.token)?;
                } else if event.readable {
                    self.hear(event.token, &mut buffer, event.ended)?;
                }
            }
        }
    }

    fn hear(&mut self, token: u64, buffer: &mut [u8], ended: bool) -> io::Result<()> {
        let Some(client) = self.clients.get_mut(token) else {
            return Ok(());
        };
        match client.connection.hear(buffer, ended) {
            Heard::Waiting => Ok(()),
            Heard::Gone => {
                self.failures += u64::from(self.counting);
                self.rejoin(token)
            }
            Heard::Answer => {
                let (head, now) = (client.connection.reader.head(), Instant::now());
                let (good, closes) = (head.status().is_some_and(|s| s < 400), head.closes());
                let micros = (now - client.sent_at).as_micros() as u64;
                client.sent_at = now;
                let open = !closes && client.connection.send(&self.plan.request);
                if self.counting {
                    self.answers += u64::from(good);
                    self.failures += u64::from(!good);
                    self.latency.saturating_record(micros);
                }
                if open { Ok(()) } else { self.rejoin(token) }
            }
        }
    }

    fn rejoin(&mut self, token: u64) -> io::Result<()> {
        self.clients.release(token);
        self.join()
    }
}

#[cfg(test)]
mod tests;
