//! The gate against a model of a few lines: whatever is done, both say the same.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use concurrency_gate::{Gate, GateConfig, KeyHandle, Lease, Limit, Reason, Rejection, Wait};
use proptest::prelude::*;

const NOW: Duration = Duration::from_secs(10);
const QUEUE_MAX: u32 = 4;

#[derive(Clone, Debug)]
enum Step {
    Try,
    Wait,
    /// A waiter goes away.
    Cancel(usize),
    /// A waiter's time is over.
    Expire(usize),
    /// Somebody inside leaves: with success, failure, or without a word.
    Leave(usize, u8),
    Resize(u32),
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Try),
        8 => Just(Step::Wait),
        3 => any::<usize>().prop_map(Step::Cancel),
        1 => any::<usize>().prop_map(Step::Expire),
        8 => (any::<usize>(), 0_u8..3).prop_map(|(who, how)| Step::Leave(who, how)),
        2 => (1_u32..6).prop_map(Step::Resize),
    ]
}

/// Who is inside and who waits, by number of arrival.
#[derive(Default)]
struct Model {
    limit: usize,
    inside: Vec<u32>,
    line: VecDeque<u32>,
    closed: bool,
    arrivals: u32,
    admitted: u64,
    rejected: [u64; Reason::ALL.len()],
}

impl Model {
    fn arrive(&mut self, waits: bool) -> Result<Option<u32>, Reason> {
        self.arrivals += 1;
        let number = self.arrivals;
        if self.closed {
            Err(Reason::Closed)
        } else if self.inside.len() < self.limit && self.line.is_empty() {
            self.admit(number);
            Ok(Some(number))
        } else if !waits {
            Err(Reason::Saturated)
        } else if self.line.len() >= QUEUE_MAX as usize {
            Err(Reason::QueueFull)
        } else {
            self.line.push_back(number);
            Ok(None)
        }
    }

    fn admit(&mut self, number: u32) {
        self.inside.push(number);
        self.admitted += 1;
    }

    fn leave(&mut self, number: u32) {
        self.inside.retain(|inside| *inside != number);
        self.fill();
    }

    fn fill(&mut self) {
        while self.inside.len() < self.limit {
            let Some(first) = self.line.pop_front() else {
                return;
            };
            self.admit(first);
        }
    }

    fn note(&mut self, rejection: Rejection, reason: Reason) {
        assert_eq!(rejection.reason(), reason);
        assert!(rejection.retry_after() > Duration::ZERO);
        self.rejected[reason as usize] += 1;
    }
}

/// The gate with those inside and those who wait, by the same numbers.
struct Stage<'h> {
    door: &'h KeyHandle<u8>,
    gate: &'h Gate<u8>,
    model: Model,
    leases: Vec<(u32, Lease<'h, u8>)>,
    waits: Vec<(u32, Pin<Box<Wait<'h, u8>>>)>,
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

impl<'h> Stage<'h> {
    fn take(&mut self, step: &Step) {
        match *step {
            Step::Try => {
                let expected = self.model.arrive(false);
                match (self.door.try_enter(NOW), expected) {
                    (Ok(lease), Ok(Some(number))) => self.leases.push((number, lease)),
                    (Err(rejection), Err(reason)) => self.model.note(rejection, reason),
                    (got, expected) => panic!("{got:?}, expected {expected:?}"),
                }
            }
            Step::Wait => {
                let expected = self.model.arrive(true);
                let mut wait = Box::pin(self.door.wait(NOW, None));
                match (poll(&mut wait), expected) {
                    (Poll::Ready(Ok(lease)), Ok(Some(number))) => self.leases.push((number, lease)),
                    (Poll::Ready(Err(rejection)), Err(reason)) => {
                        self.model.note(rejection, reason);
                    }
                    (Poll::Pending, Ok(None)) => self.waits.push((self.model.arrivals, wait)),
                    (got, expected) => panic!("{got:?}, expected {expected:?}"),
                }
            }
            Step::Cancel(_) | Step::Expire(_) if self.waits.is_empty() => {}
            Step::Cancel(who) => {
                let (number, wait) = self.waits.swap_remove(who % self.waits.len());
                drop(wait);
                self.model.line.retain(|waiting| *waiting != number);
            }
            Step::Expire(who) => {
                let (number, mut wait) = self.waits.swap_remove(who % self.waits.len());
                let rejection = wait.as_mut().expire().expect_err("it was not its turn");
                self.model.note(rejection, Reason::Deadline);
                self.model.line.retain(|waiting| *waiting != number);
            }
            Step::Leave(..) if self.leases.is_empty() => {}
            Step::Leave(who, how) => {
                let (number, lease) = self.leases.swap_remove(who % self.leases.len());
                match how {
                    0 => lease.success(NOW),
                    1 => lease.failure(NOW),
                    _ => drop(lease),
                }
                self.model.leave(number);
            }
            Step::Resize(limit) => {
                self.door.resize(limit).expect("a limit");
                self.model.limit = limit as usize;
                self.model.fill();
            }
            Step::Close => {
                self.gate.close();
                self.model.closed = true;
                for (_, mut wait) in std::mem::take(&mut self.waits) {
                    let Poll::Ready(Err(rejection)) = poll(&mut wait) else {
                        panic!("nobody waits at a closed gate")
                    };
                    self.model.note(rejection, Reason::Closed);
                }
                self.model.line.clear();
            }
        }
        self.compare();
    }

    /// Those whose turn it is find out, the others do not; all numbers agree.
    fn compare(&mut self) {
        let mut still = Vec::new();
        for (number, mut wait) in std::mem::take(&mut self.waits) {
            match poll(&mut wait) {
                Poll::Ready(Ok(lease)) => self.leases.push((number, lease)),
                Poll::Ready(Err(rejection)) => panic!("{number} was told {rejection}"),
                Poll::Pending => still.push((number, wait)),
            }
        }
        self.waits = still;
        let mut inside: Vec<_> = self.leases.iter().map(|(number, _)| *number).collect();
        let mut expected = self.model.inside.clone();
        inside.sort_unstable();
        expected.sort_unstable();
        assert_eq!(inside, expected);
        assert_eq!(self.door.in_flight() as usize, expected.len());
        assert_eq!(self.door.waiting() as usize, self.model.line.len());
        let counts = self.gate.statistics();
        assert_eq!(counts.acquired, self.model.admitted);
        for reason in Reason::ALL {
            let expected = self.model.rejected[reason as usize];
            assert_eq!(counts.rejected.by(reason), expected, "{reason:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // req: GT-01, GT-02, GT-03, GT-04, GT-06, GT-08, GT-09
    #[test]
    fn the_gate_does_what_the_model_does(
        limit in 1_u32..5,
        steps in proptest::collection::vec(step(), 1..120),
        close in any::<bool>(),
        after in proptest::collection::vec(step(), 0..20),
    ) {
        let limits = Limit::fixed(limit).with_queue(QUEUE_MAX);
        let gate = Gate::new(GateConfig::new(limits)).expect("the limit makes sense");
        let door = gate.handle(&0, NOW);
        let mut stage = Stage {
            door: &door,
            gate: &gate,
            model: Model { limit: limit as usize, ..Model::default() },
            leases: Vec::new(),
            waits: Vec::new(),
        };
        steps.iter().for_each(|step| stage.take(step));
        if close {
            stage.take(&Step::Close);
            after.iter().for_each(|step| stage.take(step));
        }
        drop((stage.leases, stage.waits));
        assert_eq!((door.in_flight(), door.waiting()), (0, 0));
    }
}
