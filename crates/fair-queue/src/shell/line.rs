//! Those who wait for a slot, each with a ticket that holds its waker and then its answer.

use std::time::Duration;

use std::task::Waker;

use crate::items::Handle;
use crate::queue::Queue;
use crate::work::{Refused, Work};

/// What a waiter is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Granted,
    Refused(Refused),
}

/// A place in the line, owned by one future until it has its answer or is dropped.
#[derive(Debug)]
pub(super) struct Ticket(u32);

#[derive(Debug)]
enum State {
    Free { next: u32 },
    Waiting { waker: Waker, handle: Handle },
    Answered(Answer),
}

/// Wakers to be called once the lock is released; without allocation when there is but one.
#[derive(Debug, Default)]
pub(super) struct Calls {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl Calls {
    fn add(&mut self, waker: Waker) {
        if self.first.is_none() {
            self.first = Some(waker);
        } else {
            self.more.push(waker);
        }
    }

    pub(super) fn ring(self) {
        if let Some(waker) = self.first {
            waker.wake();
        }
        if !self.more.is_empty() {
            self.more.into_iter().for_each(Waker::wake);
        }
    }
}

const NONE: u32 = u32::MAX;

/// The tickets, apart from the queue so that both can be held at once.
#[derive(Debug)]
struct Tickets {
    states: Vec<State>,
    free: u32,
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) queue: Queue<u32>,
    tickets: Tickets,
}

impl Line {
    pub(super) fn new(queue: Queue<u32>, room: usize) -> Self {
        let tickets = Tickets {
            states: Vec::with_capacity(room),
            free: NONE,
        };
        Self { queue, tickets }
    }

    pub(super) fn join(
        &mut self,
        work: &Work,
        waker: Waker,
        now: Duration,
        calls: &mut Calls,
    ) -> Result<Ticket, Refused> {
        let at = self.tickets.next_free();
        let tickets = &mut self.tickets;
        let pushed = self
            .queue
            .push(*work, at, now, |ticket, why| {
                tickets.answer(ticket, Answer::Refused(why), calls);
            })
            .map_err(|(why, _)| why);
        let handle = pushed?;
        self.tickets.put(at, State::Waiting { waker, handle });
        Ok(Ticket(at))
    }

    /// Grants the next waiter in fair order; false when nobody waits.
    pub(super) fn grant_next(&mut self, now: Duration, calls: &mut Calls) -> bool {
        let Self { queue, tickets } = self;
        let next = queue.pop(now, |ticket, why| {
            tickets.answer(ticket, Answer::Refused(why), calls);
        });
        let Some(next) = next else {
            return false;
        };
        tickets.answer(next.item, Answer::Granted, calls);
        true
    }

    pub(super) fn expire(&mut self, now: Duration, calls: &mut Calls) {
        let Self { queue, tickets } = self;
        queue.expire(now, |ticket, why| {
            tickets.answer(ticket, Answer::Refused(why), calls);
        });
    }

    pub(super) fn refuse_all(&mut self, why: Refused, calls: &mut Calls) {
        let Self { queue, tickets } = self;
        queue.clear(why, |ticket, why| {
            tickets.answer(ticket, Answer::Refused(why), calls);
        });
    }

    /// The answer, or the ticket back and whether it holds this waker already.
    pub(super) fn collect(
        &mut self,
        ticket: Ticket,
        waker: &Waker,
    ) -> Result<Answer, (Ticket, bool)> {
        match &self.tickets.states[ticket.0 as usize] {
            State::Answered(answer) => {
                let answer = *answer;
                self.tickets.release(ticket.0);
                Ok(answer)
            }
            State::Waiting { waker: held, .. } => Err((ticket, held.will_wake(waker))),
            State::Free { .. } => unreachable!("a ticket is free only after its future gave it up"),
        }
    }

    /// The answer, or the ticket back with the wakers exchanged.
    pub(super) fn replace_waker(
        &mut self,
        ticket: Ticket,
        newer: &mut Waker,
    ) -> Result<Answer, Ticket> {
        if let State::Waiting { waker, .. } = &mut self.tickets.states[ticket.0 as usize] {
            std::mem::swap(waker, newer);
        }
        self.collect(ticket, newer).map_err(|(ticket, _)| ticket)
    }

    /// Gives the ticket up: says what had been answered by then, else leaves the line.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Left {
        let state = self.tickets.release(ticket.0);
        match state {
            State::Answered(answer) => Left::Answered(answer),
            State::Waiting { handle, waker } => {
                self.queue.cancel(handle);
                Left::Waiting(waker)
            }
            State::Free { .. } => unreachable!("a ticket is free only after its future gave it up"),
        }
    }
}

/// How a ticket stood when it was given up.
pub(super) enum Left {
    Answered(Answer),
    /// To be dropped after the lock: a waker is somebody else's code.
    Waiting(Waker),
}

impl Tickets {
    fn next_free(&self) -> u32 {
        match self.free {
            NONE => self.states.len() as u32,
            free => free,
        }
    }

    fn put(&mut self, at: u32, state: State) {
        let Some(place) = self.states.get_mut(at as usize) else {
            self.states.push(state);
            return;
        };
        if let State::Free { next } = std::mem::replace(place, state) {
            self.free = next;
        }
    }

    fn answer(&mut self, at: u32, answer: Answer, calls: &mut Calls) {
        let state = &mut self.states[at as usize];
        if let State::Waiting { waker, .. } = std::mem::replace(state, State::Answered(answer)) {
            calls.add(waker);
        }
    }

    fn release(&mut self, at: u32) -> State {
        let free = State::Free { next: self.free };
        self.free = at;
        std::mem::replace(&mut self.states[at as usize], free)
    }
}
