//! What leaves next: each stream by its rate, and those who were told to come again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use fastrand::Rng;

use super::{Rhythm, Stream};

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
    comers: Vec<Comer>,
    next: BinaryHeap<Reverse<(Duration, usize, u64)>>,
    again: BinaryHeap<Reverse<(Duration, u64)>>,
    pleas: Vec<Shot>,
}

/// One stream's requests to come.
#[derive(Debug)]
struct Comer {
    rate_per_s: f64,
    until: Duration,
    rhythm: Rhythm,
    /// When the one before came; who comes by chance is counted on from there.
    latest: Duration,
    /// The same in each run.
    lots: Rng,
}

impl Comer {
    /// When the one of this number comes.
    fn comes(&mut self, number: f64) -> Duration {
        let steady = Duration::from_secs_f64(number / self.rate_per_s);
        match self.rhythm {
            Rhythm::Steady => steady,
            Rhythm::Bursts(bursts) => bursts.at(steady),
            Rhythm::Chance => {
                let gap = -(1.0 - self.lots.f64()).ln() / self.rate_per_s;
                self.latest += Duration::from_secs_f64(gap);
                self.latest
            }
        }
    }
}

impl Due {
    pub(super) fn new(streams: &[Stream], length: Duration) -> Self {
        let mut due = Self {
            comers: streams
                .iter()
                .zip(0..)
                .map(|(stream, seed)| Comer {
                    rate_per_s: stream.rate_per_s,
                    until: stream.until.min(length),
                    rhythm: stream.rhythm,
                    latest: Duration::ZERO,
                    lots: Rng::with_seed(seed),
                })
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
        let shift = stream as f64 / self.comers.len() as f64;
        let comer = &mut self.comers[stream];
        if comer.rate_per_s <= 0.0 {
            return;
        }
        let intended = comer.comes(index as f64 + shift);
        if intended < comer.until {
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
