//! A server of limited capacity as arithmetic: so many places, and what becomes of those who find none.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

/// Who is served where. Time is whatever the caller says it is.
#[derive(Debug)]
pub(super) struct Places {
    limit: usize,
    manner: Manner,
    waiting: VecDeque<Job>,
    busy: BinaryHeap<Reverse<(Duration, u64)>>,
}

/// What becomes of who finds no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// It waits; first come first served.
    Queue,
    /// It is begun all the same, and all make each other slow.
    Crowd,
    /// It is sent away at once.
    Refuse,
}

impl Manner {
    pub(super) fn named(name: &str) -> Option<Self> {
        let all = [Self::Queue, Self::Crowd, Self::Refuse];
        all.into_iter().find(|manner| manner.name() == name)
    }

    /// As it is asked for.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Crowd => "crowd",
            Self::Refuse => "refuse",
        }
    }
}

#[derive(Debug)]
struct Job {
    client: u64,
    arrived: Duration,
    service: Duration,
}

impl Places {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            manner: Manner::Queue,
            waiting: VecDeque::new(),
            busy: BinaryHeap::new(),
        }
    }

    /// Fewer places let the work under way finish; more are filled at once.
    pub(super) fn resize(&mut self, limit: usize, now: Duration) {
        self.limit = limit;
        self.fill(now);
    }

    /// For those who come from now on, and those who wait.
    pub(super) fn treat(&mut self, manner: Manner, now: Duration) {
        self.manner = manner;
        self.fill(now);
    }

    /// False for one that is sent away.
    pub(super) fn arrive(&mut self, client: u64, service: Duration, now: Duration) -> bool {
        if self.manner == Manner::Refuse && self.busy.len() >= self.limit {
            return false;
        }
        self.waiting.push_back(Job {
            client,
            arrived: now,
            service,
        });
        self.fill(now);
        true
    }

    /// A client whose work is done by now. Whoever waited began the moment a place was free, not
    /// when this process came to look: the capacity does not depend on how busy the machine is.
    pub(super) fn finish(&mut self, now: Duration) -> Option<u64> {
        let Reverse((due, client)) = *self.busy.peek()?;
        if due > now {
            return None;
        }
        self.busy.pop();
        self.fill(due);
        Some(client)
    }

    /// When the next work is done.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.busy.peek().map(|Reverse((due, _))| *due)
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn fill(&mut self, free_since: Duration) {
        while (self.manner == Manner::Crowd || self.busy.len() < self.limit)
            && let Some(job) = self.waiting.pop_front()
        {
            let due = job.arrived.max(free_since) + job.service.mul_f64(self.slowness());
            self.busy.push(Reverse((due, job.client)));
        }
    }

    /// By the square of how crowded it is: twice as many inside get half as much done together.
    fn slowness(&self) -> f64 {
        let crowd = (self.busy.len() + 1) as f64 / self.limit as f64;
        crowd.max(1.0).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn finished(places: &mut Places, now: u64) -> Vec<u64> {
        std::iter::from_fn(|| places.finish(ms(now))).collect()
    }

    #[test]
    fn no_more_than_the_limit_are_served_at_once_and_the_first_first() {
        let mut places = Places::new(2);
        for client in 0..5 {
            assert!(places.arrive(client, ms(20), ms(client)));
        }
        assert_eq!(places.waiting(), 3);
        assert!(finished(&mut places, 19).is_empty());
        assert_eq!(finished(&mut places, 21), [0, 1]);
        assert_eq!(finished(&mut places, 60), [2, 3, 4]);
        assert_eq!(places.next_due(), None);
    }

    #[test]
    fn looking_late_costs_no_capacity() {
        let (mut prompt, mut late) = (Places::new(1), Places::new(1));
        for places in [&mut prompt, &mut late] {
            for client in 0..100 {
                assert!(places.arrive(client, ms(20), ms(0)));
            }
        }
        let in_time: usize = (0..=1000).map(|now| finished(&mut prompt, now).len()).sum();
        assert_eq!(in_time, 50);
        assert_eq!(finished(&mut late, 1000).len(), 50);
    }

    #[test]
    fn fewer_places_take_effect_as_work_ends_and_more_at_once() {
        let mut places = Places::new(4);
        for client in 0..10 {
            assert!(places.arrive(client, ms(20), ms(0)));
        }
        places.resize(1, ms(10));
        assert_eq!(finished(&mut places, 20).len(), 4);
        assert_eq!(finished(&mut places, 40).len(), 1);
        places.resize(5, ms(40));
        assert_eq!(finished(&mut places, 60).len(), 5);
    }

    #[test]
    fn in_a_crowd_nobody_waits_and_twice_as_many_get_half_as_much_done() {
        let mut places = Places::new(2);
        places.treat(Manner::Crowd, ms(0));
        for client in 0..4 {
            assert!(places.arrive(client, ms(20), ms(0)));
        }
        assert_eq!(places.waiting(), 0);
        assert_eq!(finished(&mut places, 20), [0, 1]);
        assert_eq!(finished(&mut places, 45), [2]);
        assert_eq!(finished(&mut places, 80), [3]);
    }

    #[test]
    fn who_finds_no_place_can_be_sent_away_at_once() {
        let mut places = Places::new(2);
        places.treat(Manner::Refuse, ms(0));
        let came: Vec<_> = (0..3)
            .map(|client| places.arrive(client, ms(20), ms(0)))
            .collect();
        assert_eq!(came, [true, true, false]);
        assert_eq!(finished(&mut places, 20), [0, 1]);
        assert!(places.arrive(3, ms(20), ms(20)));
    }
}
