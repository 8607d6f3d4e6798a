//! A server of limited capacity as arithmetic: so many places, first come first served; or a crowd in which all are
//! begun at once and make each other slow.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

/// Who is served where. Time is whatever the caller says it is.
#[derive(Debug)]
pub(super) struct Places {
    limit: usize,
    crowds: bool,
    waiting: VecDeque<Job>,
    busy: BinaryHeap<Reverse<(Duration, u64)>>,
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
            crowds: false,
            waiting: VecDeque::new(),
            busy: BinaryHeap::new(),
        }
    }

    /// Fewer places let the work under way finish; more are filled at once.
    pub(super) fn resize(&mut self, limit: usize, now: Duration) {
        self.limit = limit;
        self.fill(now);
    }

    /// Who is inside stays until then; who comes is begun at once, or has to wait as before.
    pub(super) fn crowd(&mut self, crowds: bool, now: Duration) {
        self.crowds = crowds;
        self.fill(now);
    }

    pub(super) fn arrive(&mut self, client: u64, service: Duration, now: Duration) {
        self.waiting.push_back(Job {
            client,
            arrived: now,
            service,
        });
        self.fill(now);
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
        while (self.crowds || self.busy.len() < self.limit)
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
        (0..5).for_each(|client| places.arrive(client, ms(20), ms(client)));
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
            (0..100).for_each(|client| places.arrive(client, ms(20), ms(0)));
        }
        let in_time: usize = (0..=1000).map(|now| finished(&mut prompt, now).len()).sum();
        assert_eq!(in_time, 50);
        assert_eq!(finished(&mut late, 1000).len(), 50);
    }

    #[test]
    fn fewer_places_take_effect_as_work_ends_and_more_at_once() {
        let mut places = Places::new(4);
        (0..10).for_each(|client| places.arrive(client, ms(20), ms(0)));
        places.resize(1, ms(10));
        assert_eq!(finished(&mut places, 20).len(), 4);
        assert_eq!(finished(&mut places, 40).len(), 1);
        places.resize(5, ms(40));
        assert_eq!(finished(&mut places, 60).len(), 5);
    }

    #[test]
    fn in_a_crowd_nobody_waits_and_twice_as_many_get_half_as_much_done() {
        let mut places = Places::new(2);
        places.crowd(true, ms(0));
        (0..4).for_each(|client| places.arrive(client, ms(20), ms(0)));
        assert_eq!(places.waiting(), 0);
        assert_eq!(finished(&mut places, 20), [0, 1]);
        assert_eq!(finished(&mut places, 45), [2]);
        assert_eq!(finished(&mut places, 80), [3]);
    }
}
