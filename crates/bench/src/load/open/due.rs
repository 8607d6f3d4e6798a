//! What leaves next: each stream by its rate, and those who were told to come again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::{Bursts, Stream};

/// A request on its way. Instants count from the start of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shot {
    pub(super) stream: usize,
    pub(super) intended: Duration,
    /// Set when it was refused before and comes again.
    pub(super) plea: Option<Plea>,
}

/// An earlier refusal that said when to come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plea {
    pub(super) refused_at: Duration,
    pub(super) said: Duration,
    pub(super) tries: u8,
}

#[derive(Debug)]
pub(super) struct Due {
    rates: Vec<(f64, Duration, Option<Bursts>)>,
    next: BinaryHeap<Reverse<(Duration, usize, u64)>>,
    again: BinaryHeap<Reverse<(Duration, u64)>>,
    pleas: Vec<Shot>,
}

impl Due {
    pub(super) fn new(streams: &[Stream], length: Duration) -> Self {
        let mut due = Self {
            rates: streams
                .iter()
                .map(|stream| (stream.rate_per_s, stream.until.min(length), stream.bursts))
                .collect(),
            next: BinaryHeap::new(),
            again: BinaryHeap::new(),
            pleas: Vec::new(),
        };
        (0..streams.len()).for_each(|stream| due.plan(stream, 0));
        due
    }

    /// Computed from the start, not from the last one: no error adds up. Streams are shifted against
    /// each other, lest equal rates make bursts.
    fn plan(&mut self, stream: usize, index: u64) {
        let (rate, until, bursts) = self.rates[stream];
        if rate <= 0.0 {
            return;
        }
        let shift = stream as f64 / self.rates.len() as f64;
        let steady = Duration::from_secs_f64((index as f64 + shift) / rate);
        let intended = bursts.map_or(steady, |bursts| bursts.at(steady));
        if intended < until {
            self.next.push(Reverse((intended, stream, index)));
        }
    }

    /// Sends it again later.
    pub(super) fn again(&mut self, shot: Shot) {
        self.again
            .push(Reverse((shot.intended, self.pleas.len() as u64)));
        self.pleas.push(shot);
    }

    /// When something leaves next.
    pub(super) fn at(&self) -> Option<Duration> {
        let next = self.next.peek().map(|Reverse((at, ..))| *at);
        let again = self.again.peek().map(|Reverse((at, _))| *at);
        next.into_iter().chain(again).min()
    }

    /// What leaves by now.
    pub(super) fn pop(&mut self, now: Duration) -> Option<Shot> {
        let at = self.at().filter(|at| *at <= now)?;
        if let Some(Reverse((intended, stream, index))) = self.next.peek().copied()
            && intended == at
        {
            self.next.pop();
            self.plan(stream, index + 1);
            return Some(Shot {
                stream,
                intended,
                plea: None,
            });
        }
        let Reverse((_, plea)) = self.again.pop()?;
        self.pleas.get(plea as usize).copied()
    }
}
