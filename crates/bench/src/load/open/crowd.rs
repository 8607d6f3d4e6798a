//! The loop: what is due leaves, what is heard is noted, who waited too long goes.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use super::due::{Due, Plea, Shot};
use super::{Outcome, Plan};
use crate::epoll::{Epoll, Ready};
use crate::load::connection::{Connection, Heard};
use crate::load::tally::{End, Tally, new_histogram, record};
use crate::table::Table;

const READ_AT_ONCE: usize = 64 * 1024;
/// Then the answers are looked at: a generator that is late would else open a connection for each
/// request it owes, which makes it later still.
const LAUNCHES_AT_ONCE: usize = 64;
/// A client's connections come from so many addresses: one alone has too few ports for those who
/// leave and come anew.
const ADDRESSES: u64 = 32;

struct Crowd<'a> {
    plan: &'a Plan,
    epoll: Epoll,
    started: Instant,
    due: Due,
    clients: Table<Client>,
    /// By stream; the token of a connection that was lost meanwhile reaches nothing.
    idle: Vec<Vec<u64>>,
    /// By stream; in the order of their patience's end, which is that of their beginning.
    leaving: Vec<VecDeque<(Duration, u64, u64)>>,
    under_way: u64,
    shots: u64,
    outcome: Outcome,
    buffer: Vec<u8>,
}

struct Client {
    connection: Connection,
    call: Option<Call>,
    used: bool,
}

/// A request that waits for its answer.
#[derive(Clone, Copy)]
struct Call {
    shot: Shot,
    number: u64,
    sent_at: Duration,
}

pub(super) fn run(plan: &Plan) -> io::Result<Outcome> {
    let mut crowd = Crowd::new(plan)?;
    let mut ready = Vec::new();
    loop {
        let now = crowd.now();
        for _ in 0..LAUNCHES_AT_ONCE {
            let Some(shot) = crowd.due.pop(now) else {
                break;
            };
            crowd.launch(shot)?;
        }
        crowd.dismiss(now);
        let Some(next) = crowd.next_instant() else {
            return Ok(crowd.outcome);
        };
        let wait = next.saturating_sub(crowd.now());
        ready.extend(crowd.epoll.wait(Some(wait))?);
        for event in ready.drain(..) {
            crowd.attend(event)?;
        }
    }
}

impl<'a> Crowd<'a> {
    fn new(plan: &'a Plan) -> io::Result<Self> {
        let streams = plan.streams.iter();
        Ok(Self {
            plan,
            epoll: Epoll::new()?,
            started: Instant::now(),
            due: Due::new(&plan.streams, plan.length),
            clients: Table::new(),
            idle: vec![Vec::new(); plan.streams.len()],
            leaving: vec![VecDeque::new(); plan.streams.len()],
            under_way: 0,
            shots: 0,
            outcome: Outcome {
                streams: streams.map(|stream| Tally::new(&stream.name)).collect(),
                lateness: new_histogram(),
                window: plan.length - plan.warm_up,
                connections: 0,
                answered: 0,
            },
            buffer: vec![0; READ_AT_ONCE],
        })
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Nothing when all is sent and every request has ended.
    fn next_instant(&self) -> Option<Duration> {
        let lines = self.leaving.iter().filter(|_| self.under_way > 0);
        let leaves = lines.filter_map(|line| Some(line.front()?.0));
        self.due.at().into_iter().chain(leaves).min()
    }

    fn launch(&mut self, shot: Shot) -> io::Result<()> {
        let now = self.now();
        let late = now.saturating_sub(shot.intended);
        record(&mut self.outcome.lateness, late);
        if late >= self.patience(shot.stream) {
            // It would be given up before it is sent; that only the generator is to blame is what
            // the lateness says.
            self.note(shot, End::TimedOut, now, now);
            return Ok(());
        }
        let request = &self.plan.streams[shot.stream].request;
        while let Some(token) = self.idle[shot.stream].pop() {
            let Some(client) = self.clients.get_mut(token) else {
                continue;
            };
            if client.connection.send(request) {
                self.expect(token, shot, now);
                return Ok(());
            }
            self.clients.release(token);
        }
        self.launch_afresh(shot, now)
    }

    fn launch_afresh(&mut self, shot: Shot, now: Duration) -> io::Result<()> {
        if self.clients.len() >= self.plan.connections_max {
            self.note(shot, End::Lost, now, now);
            return Ok(());
        }
        let Ok(mut connection) = Connection::open(self.plan.target, Some(self.source(shot.stream)))
        else {
            self.note(shot, End::Lost, now, now);
            return Ok(());
        };
        self.outcome.connections += 1;
        connection.send(&self.plan.streams[shot.stream].request);
        let token = self.clients.insert(Client {
            connection,
            call: None,
            used: false,
        });
        self.expect(token, shot, now);
        match self.clients.get_mut(token) {
            Some(client) => self.epoll.add(&client.connection.stream, token),
            None => Ok(()),
        }
    }

    fn source(&self, stream: usize) -> Ipv4Addr {
        let first = u32::from(self.plan.streams[stream].source);
        Ipv4Addr::from(first + (self.outcome.connections % ADDRESSES) as u32)
    }

    fn expect(&mut self, token: u64, shot: Shot, now: Duration) {
        self.shots += 1;
        self.under_way += 1;
        let number = self.shots;
        if let Some(client) = self.clients.get_mut(token) {
            client.call = Some(Call {
                shot,
                number,
                sent_at: now,
            });
        }
        let leaves = shot.intended + self.patience(shot.stream);
        self.leaving[shot.stream].push_back((leaves, token, number));
    }

    fn patience(&self, stream: usize) -> Duration {
        let haste = self.plan.streams[stream].haste;
        haste.map_or(self.plan.patience, |haste| haste.min(self.plan.patience))
    }

    fn attend(&mut self, event: Ready) -> io::Result<()> {
        let Some(client) = self.clients.get_mut(event.token) else {
            return Ok(());
        };
        if event.writable && !client.connection.flush() {
            return self.lose(event.token);
        }
        if !event.readable {
            return Ok(());
        }
        match client.connection.hear(&mut self.buffer, event.ended) {
            Heard::Waiting => Ok(()),
            Heard::Gone => self.lose(event.token),
            Heard::Answer => {
                self.hear(event.token);
                Ok(())
            }
        }
    }

    fn hear(&mut self, token: u64) {
        let now = self.now();
        let Some(client) = self.clients.get_mut(token) else {
            return;
        };
        let head = client.connection.reader.head();
        let status = head.status().unwrap_or(0);
        let closes = head.closes() || client.connection.reader.ends_with_connection();
        let said = head
            .header("retry-after")
            .and_then(|text| text.parse().ok());
        let said = said.map(Duration::from_secs).filter(|_| status >= 400);
        let call = client.call.take();
        client.used = true;
        let Some(call) = call else {
            // An answer nobody asked for, such as 408 on an idle connection.
            self.clients.release(token);
            return;
        };
        match closes {
            true => self.clients.release(token),
            false => self.idle[call.shot.stream].push(token),
        }
        self.under_way -= 1;
        self.note(call.shot, End::Answered { status }, call.sent_at, now);
        if let Some(said) = said {
            self.plead(call.shot, said, now);
        }
    }

    /// Comes again exactly when it was told to.
    fn plead(&mut self, shot: Shot, said: Duration, now: Duration) {
        let stream = &self.plan.streams[shot.stream];
        if shot.intended < self.plan.warm_up {
            return;
        }
        if shot.plea.is_none() {
            self.outcome.streams[shot.stream].word.given += 1;
        }
        let plea = shot.plea.unwrap_or(Plea {
            refused_at: now,
            said,
            tries: 0,
        });
        if plea.tries < stream.retries {
            self.due.again(Shot {
                intended: now + said,
                plea: Some(Plea {
                    tries: plea.tries + 1,
                    ..plea
                }),
                ..shot
            });
        }
    }

    fn note(&mut self, shot: Shot, end: End, sent_at: Duration, now: Duration) {
        let kept = matches!(end, End::Answered { status } if status < 400);
        let counted = self.plan.warm_up <= now && now < self.plan.length;
        self.outcome.answered += u64::from(kept && counted);
        let tally = &mut self.outcome.streams[shot.stream];
        let Some(plea) = shot.plea else {
            tally.mark(end, shot.intended);
            if shot.intended >= self.plan.warm_up {
                let since_intended = now.saturating_sub(shot.intended);
                tally.add(end, since_intended, now.saturating_sub(sent_at));
            }
            return;
        };
        // Judged by when it came, not by when it was answered; a tenth is what the refusals between
        // took themselves.
        let waited = shot.intended.saturating_sub(plea.refused_at);
        let in_time = waited <= plea.said * 2 + plea.said / 10;
        tally.word.tried += u64::from(plea.tries == 1);
        tally.word.kept_at_once += u64::from(kept && plea.tries == 1);
        tally.word.kept_within_double += u64::from(kept && in_time);
    }

    /// A connection that had carried a request before may be closed just as the next one leaves: any
    /// client sends that one again at once, on a new connection.
    fn lose(&mut self, token: u64) -> io::Result<()> {
        let Some(client) = self.clients.lift(token) else {
            return Ok(());
        };
        self.clients.release(token);
        let Some(call) = client.call else {
            return Ok(());
        };
        self.under_way -= 1;
        let now = self.now();
        if client.used && client.connection.reader.is_untouched() {
            return self.launch_afresh(call.shot, now);
        }
        self.note(call.shot, End::Lost, call.sent_at, now);
        Ok(())
    }

    fn dismiss(&mut self, now: Duration) {
        for stream in 0..self.leaving.len() {
            self.dismiss_of(stream, now);
        }
    }

    fn dismiss_of(&mut self, stream: usize, now: Duration) {
        while let Some((leaves, token, number)) = self.leaving[stream].front().copied()
            && leaves <= now
        {
            self.leaving[stream].pop_front();
            let client = self.clients.get_mut(token);
            let Some(call) = client.and_then(|client| client.call.take_if(|c| c.number == number))
            else {
                continue;
            };
            self.clients.release(token);
            self.under_way -= 1;
            self.note(call.shot, End::TimedOut, call.sent_at, now);
        }
    }
}
