use std::sync::atomic::AtomicUsize;

use futures_util::future::join_all;

use super::*;
use crate::drain::{Outcome, Phase};
use crate::queue::OnFull;
use crate::testing::{supervise, until_ready};
use crate::tree::{Child, ChildSpec, Restart};

static QUEUE: QueueSpec = QueueSpec {
    name: "work",
    capacity: 64,
    on_full: OnFull::RejectNew,
    doc: "test",
};
static AGAIN: QueueSpec = QueueSpec {
    name: "again",
    capacity: 64,
    on_full: OnFull::RejectNew,
    doc: "test",
};
static SPEC: PoolSpec = PoolSpec {
    name: "test",
    queue: &QUEUE,
    requeue: &AGAIN,
};
static CHILD: ChildSpec = ChildSpec {
    name: "pool",
    doc: "test",
    depends_on: &[],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: true,
};

enum Order {
    Add(u64),
    Sleep { ms: u64, repeatable: bool },
    Panic,
    Forever,
}

#[derive(Default)]
struct Clerk {
    begun: Arc<AtomicUsize>,
}

impl Work for Clerk {
    type Unit = Order;
    type Answer = u64;

    fn repeatable(&self, unit: &Order) -> bool {
        !matches!(
            unit,
            Order::Sleep {
                repeatable: false,
                ..
            }
        )
    }

    async fn perform(&self, unit: Arc<Order>) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst);
        match *unit {
            Order::Add(number) => number + 1,
            Order::Sleep { ms, .. } => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                ms
            }
            Order::Panic => panic!("bad unit"),
            Order::Forever => std::future::pending().await,
        }
    }
}

struct Office {
    kernel: Kernel,
    handle: PoolHandle<Clerk>,
    begun: Arc<AtomicUsize>,
    running: tokio::task::JoinHandle<Outcome>,
}

async fn office(workers: usize, units_per_worker: usize) -> Office {
    let (kernel, publisher) = Kernel::new();
    let clerk = Clerk::default();
    let begun = clerk.begun.clone();
    let (pool, handle) = Pool::new(
        &SPEC,
        PoolSize {
            workers,
            units_per_worker,
        },
        clerk,
        &kernel,
    );
    let pool = Arc::new(pool);
    let child = Child::new(&CHILD, move |context| {
        let pool = pool.clone();
        async move { pool.run(context).await }
    });
    let running = supervise(&kernel, publisher, vec![child]);
    until_ready(&kernel).await;
    Office {
        kernel,
        handle,
        begun,
        running,
    }
}

impl Office {
    fn fate(&self, fate: &'static str) -> u64 {
        self.kernel.registry.counter(&UNITS, &["test", fate]).get()
    }
}

#[tokio::test(start_paused = true)]
async fn a_unit_is_answered() {
    let office = office(2, 4).await;
    let ticket = office.handle.submit(Order::Add(41)).unwrap();
    assert_eq!(ticket.answer().await, Ok(42));
}

// req: KN-04
#[tokio::test(start_paused = true)]
async fn a_full_queue_is_busy_at_once() {
    let office = office(1, 1).await;
    let long = || {
        office.handle.submit(Order::Sleep {
            ms: 1000,
            repeatable: true,
        })
    };
    let mut tickets = vec![long().unwrap()];
    tokio::time::sleep(Duration::from_millis(1)).await; // the worker takes the first
    tickets.extend((0..64).map(|_| long().unwrap()));
    assert_eq!(long().err(), Some(Reject::Busy));
}

#[tokio::test(start_paused = true)]
async fn one_worker_runs_many_units_at_once() {
    let office = office(1, 32).await;
    let began = office.kernel.timeline.now();
    let tickets = (0..32).map(|_| {
        office
            .handle
            .submit(Order::Sleep {
                ms: 100,
                repeatable: true,
            })
            .unwrap()
    });
    let answers = join_all(tickets.map(Ticket::answer)).await;
    assert!(answers.iter().all(|answer| *answer == Ok(100)));
    assert!(office.kernel.timeline.now() - began < Duration::from_millis(110));
}

// attack: K-04
#[tokio::test(start_paused = true)]
async fn a_unit_that_panics_is_one_refusal_and_harms_no_other() {
    let office = office(1, 8).await;
    let good = office
        .handle
        .submit(Order::Sleep {
            ms: 50,
            repeatable: false,
        })
        .unwrap();
    let bad = office.handle.submit(Order::Panic).unwrap();
    assert_eq!(bad.answer().await, Err(Reject::Degraded));
    assert_eq!(good.answer().await, Ok(50));
    assert_eq!((office.fate("panicked"), office.fate("done")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_unit_is_dropped_and_its_place_is_free() {
    let office = office(1, 1).await;
    drop(office.handle.submit(Order::Forever).unwrap());
    let next = office.handle.submit(Order::Add(1)).unwrap();
    assert_eq!(next.answer().await, Ok(2));
    assert_eq!(office.fate("abandoned"), 1);
}

// req: KN-08, KN-09
#[tokio::test(start_paused = true)]
async fn a_drain_answers_what_was_accepted_and_refuses_what_comes_later() {
    let office = office(1, 2).await;
    #[expect(
        clippy::needless_collect,
        reason = "all are handed in before the drain begins"
    )]
    let tickets: Vec<_> = (0..10)
        .map(|_| {
            office
                .handle
                .submit(Order::Sleep {
                    ms: 100,
                    repeatable: true,
                })
                .unwrap()
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    office.kernel.requests.request();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(
        office.handle.submit(Order::Add(1)).err(),
        Some(Reject::Canceled)
    );
    let answers = join_all(tickets.into_iter().map(Ticket::answer)).await;
    assert!(
        answers.iter().all(|answer| *answer == Ok(100)),
        "{answers:?}"
    );
    assert_eq!(office.running.await.unwrap(), Outcome::Drained);
}

// req: KN-09
#[tokio::test(start_paused = true)]
async fn units_that_outlive_the_deadline_are_refused_not_forgotten() {
    let mut office = office(1, 2).await;
    let ticket = office.handle.submit(Order::Forever).unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    office.kernel.requests.request();
    assert_eq!(ticket.answer().await, Err(Reject::Degraded));
    assert_eq!(
        (&mut office.running).await.unwrap(),
        Outcome::DeadlinePassed
    );
    assert_eq!(office.fate("lost"), 1);
    assert_eq!(office.begun.load(Ordering::SeqCst), 1);
}

#[cfg(feature = "chaos")]
mod killed {
    use super::*;
    use crate::readiness::State;

    // req: KN-06
    #[tokio::test(start_paused = true)]
    async fn a_dead_workers_unit_is_repeated_once_if_it_may_be_and_refused_if_not() {
        let office = office(1, 8).await;
        let may = office
            .handle
            .submit(Order::Sleep {
                ms: 400,
                repeatable: true,
            })
            .unwrap();
        let may_not = office
            .handle
            .submit(Order::Sleep {
                ms: 400,
                repeatable: false,
            })
            .unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        office.handle.kill(1);
        assert_eq!(may_not.answer().await, Err(Reject::Degraded));
        assert_eq!(may.answer().await, Ok(400));
        assert_eq!((office.fate("requeued"), office.fate("lost")), (1, 1));
        assert_eq!(office.begun.load(Ordering::SeqCst), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_unit_whose_second_worker_dies_too_is_refused() {
        let office = office(1, 8).await;
        let ticket = office.handle.submit(Order::Forever).unwrap();
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_secs(6)).await;
            office.handle.kill(1);
        }
        assert_eq!(ticket.answer().await, Err(Reject::Degraded));
    }

    // req: KN-06, KN-11
    #[tokio::test(start_paused = true)]
    async fn readiness_follows_the_workers() {
        let office = office(4, 8).await;
        office.handle.kill(1);
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(office.kernel.readiness.of("pool"), State::Degraded);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(office.kernel.readiness.of("pool"), State::Ready);
        office.handle.kill(4);
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert_eq!(office.kernel.readiness.of("pool"), State::Unready);
    }

    // attack: K-06
    #[test]
    fn a_unit_for_which_a_stalled_worker_was_woken_is_done_by_another() {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(3)
            .enable_time()
            .build()
            .unwrap();
        threads.block_on(async {
            let office = office(3, 4).await;
            let held = Duration::from_secs(20);
            let (_watch, _alive) = office.kernel.watchdog.watch(|| {}).unwrap();
            office.handle.stall(1, held);
            let began = crate::clock::now();
            // As many as wait in line, so that one of them is meant for who does not come.
            for number in 0..9 {
                let ticket = office.handle.submit(Order::Add(number)).unwrap();
                assert_eq!(ticket.answer().await, Ok(number + 1));
            }
            assert!(crate::clock::now() - began < held, "nobody else did it");
        });
        threads.shutdown_background();
    }

    /// Workers die at random under load; every repeatable unit is answered.
    #[test]
    fn no_repeatable_unit_is_lost_when_workers_die_once_each() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        testkit::sim::run("worker deaths", 20, |rng| {
            runtime.block_on(async {
                let office = office(4, 4).await;
                let mut tickets = Vec::new();
                for _ in 0..40 {
                    let ms = rng.u64(0..50);
                    tickets.push(
                        office
                            .handle
                            .submit(Order::Sleep {
                                ms,
                                repeatable: true,
                            })
                            .unwrap(),
                    );
                    tokio::time::sleep(Duration::from_millis(rng.u64(0..10))).await;
                }
                office.handle.kill(2);
                let answers = join_all(tickets.into_iter().map(Ticket::answer)).await;
                assert!(answers.iter().all(Result::is_ok), "{answers:?}");
                office.kernel.requests.request();
                assert_eq!(office.running.await.unwrap(), Outcome::Drained);
            });
        });
    }
}
