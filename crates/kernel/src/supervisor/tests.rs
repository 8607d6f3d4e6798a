use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::*;
use crate::{tasks, testing};

const fn spec(name: &'static str, depends_on: &'static [&'static str], phase: Phase) -> ChildSpec {
    ChildSpec {
        name,
        doc: "",
        depends_on,
        phase,
        restart: Restart::Always,
        essential: true,
    }
}

static DOOR: ChildSpec = spec("door", &["pool"], Phase::Intake);
static POOL: ChildSpec = spec("pool", &[], Phase::Work);
static ADMIN: ChildSpec = spec("admin", &[], Phase::Admin);
static ONESHOT: ChildSpec = ChildSpec {
    restart: Restart::OnFailure,
    ..spec("oneshot", &[], Phase::Support)
};
static AFTER: ChildSpec = spec("after", &["oneshot"], Phase::Support);

/// A child that says ready, lives until told to end, and writes down both.
fn steady(spec: &'static ChildSpec, log: &Arc<Mutex<Vec<String>>>) -> Child {
    let log = log.clone();
    Child::new(spec, move |context| {
        let log = log.clone();
        async move {
            log.lock().push(format!("+{}", context.spec.name));
            context.ready.ready();
            context.told_to_end().await;
            log.lock().push(format!("-{}", context.spec.name));
            Ok(())
        }
    })
}

fn supervise(children: Vec<Child>) -> (Kernel, tokio::task::JoinHandle<Outcome>) {
    let (kernel, publisher) = Kernel::new();
    let running = testing::supervise(&kernel, publisher, children);
    (kernel, running)
}

async fn until(what: &str, mut met: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if met() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never happened: {what}");
}

fn counted(kernel: &Kernel, spec: &'static MetricSpec, kind: &'static str) -> u64 {
    kernel.registry.sample();
    kernel.registry.counter(spec, &[kind]).get()
}

fn tasks_add_up(kernel: &Kernel) {
    let count = |spec| counted(kernel, spec, "child");
    let ended = count(&tasks::COMPLETED) + count(&tasks::ABORTED) + count(&tasks::CANCELED);
    assert_eq!(count(&tasks::SPAWNED), ended);
}

// req: KN-08, KN-10
#[tokio::test(start_paused = true)]
async fn children_start_after_what_they_need_and_end_before_it() {
    let log = Arc::default();
    let children = vec![
        steady(&DOOR, &log),
        steady(&ADMIN, &log),
        steady(&POOL, &log),
    ];
    let (kernel, running) = supervise(children);
    until("ready", || {
        kernel.readiness.snapshot().state == State::Ready
    })
    .await;
    kernel.requests.request();
    assert_eq!(running.await.unwrap(), Outcome::Drained);
    let log = log.lock();
    let at = |entry: &str| log.iter().position(|line| line == entry).unwrap();
    assert!(at("+pool") < at("+door"), "{log:?}");
    assert_eq!(log[3..], ["-door", "-pool", "-admin"], "{log:?}");
    tasks_add_up(&kernel);
}

// req: KN-06
#[tokio::test(start_paused = true)]
async fn a_panicking_child_is_restarted_with_backoff_and_marked_degraded_when_it_loops() {
    let starts = Arc::new(AtomicUsize::new(0));
    let seen = starts.clone();
    let flaky = Child::new(&POOL, move |context| {
        let start = seen.fetch_add(1, Ordering::Relaxed);
        async move {
            context.ready.ready();
            if start < 6 {
                tokio::time::sleep(Duration::from_millis(1)).await;
                panic!("crash {start}");
            }
            context.told_to_end().await;
            Ok(())
        }
    });
    let (kernel, running) = supervise(vec![flaky]);
    until("unready with the reason", || {
        let pool = &kernel.readiness.snapshot().services[0];
        pool.state == State::Unready
            && pool.reason.contains("crash 0")
            && pool.reason.contains("restarting in")
    })
    .await;
    until("degraded", || {
        kernel.readiness.of("pool") == State::Degraded
    })
    .await;
    assert_eq!(kernel.registry.counter(&RESTARTS, &["pool"]).get(), 6);
    until("calm again", || kernel.readiness.of("pool") == State::Ready).await;
    assert_eq!(kernel.bus.snapshot().crashes["pool"], 6);
    kernel.requests.request();
    assert_eq!(running.await.unwrap(), Outcome::Drained);
    tasks_add_up(&kernel);
}

// req: KN-07
#[tokio::test(start_paused = true)]
async fn a_child_in_backoff_is_not_started_again_once_draining_has_begun() {
    let starts = Arc::new(AtomicUsize::new(0));
    let seen = starts.clone();
    let log = Arc::default();
    let crashing = Child::new(&POOL, move |_context| {
        seen.fetch_add(1, Ordering::Relaxed);
        async { Err(Failure::new("no")) }
    });
    let (kernel, running) = supervise(vec![crashing, steady(&ADMIN, &log)]);
    until("first crash", || {
        kernel.bus.snapshot().crashes.contains_key("pool")
    })
    .await;
    let before = starts.load(Ordering::Relaxed);
    kernel.requests.request();
    assert_eq!(running.await.unwrap(), Outcome::Drained);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(starts.load(Ordering::Relaxed), before);
}

// req: KN-07
#[tokio::test(start_paused = true)]
async fn a_child_that_dies_while_draining_stays_dead() {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let starts = Arc::new(AtomicUsize::new(0));
    let seen = starts.clone();
    let dying = Child::new(&POOL, move |context| {
        seen.fetch_add(1, Ordering::Relaxed);
        async move {
            context.ready.ready();
            context.told_to_end().await;
            panic!("while draining");
        }
    });
    let (kernel, running) = supervise(vec![dying, steady(&DOOR, &log)]);
    until("ready", || {
        kernel.readiness.snapshot().state == State::Ready
    })
    .await;
    kernel.requests.request();
    assert_eq!(running.await.unwrap(), Outcome::Drained);
    assert_eq!(starts.load(Ordering::Relaxed), 1);
}

// req: KN-08, KN-09
#[tokio::test(start_paused = true)]
async fn stragglers_are_aborted_at_the_deadline_and_counted() {
    static UNIT: TaskKind = TaskKind {
        name: "unit",
        doc: "",
    };
    let stuck = Child::new(&POOL, |context| async move {
        context.ready.ready();
        for _ in 0..3 {
            context
                .tasks
                .kind(&UNIT)
                .spawn(std::future::pending::<()>());
        }
        context.told_to_end().await;
        Ok(())
    });
    let (kernel, running) = supervise(vec![stuck]);
    until("ready", || {
        kernel.readiness.snapshot().state == State::Ready
    })
    .await;
    let began = kernel.timeline.now();
    kernel.requests.request();
    assert_eq!(running.await.unwrap(), Outcome::DeadlinePassed);
    assert!(kernel.timeline.now() - began < Duration::from_millis(3100));
    assert_eq!(counted(&kernel, &tasks::ABORTED, "unit"), 3);
}

// req: KN-08
#[tokio::test(start_paused = true)]
async fn a_second_request_ends_at_once() {
    let stuck = Child::new(&POOL, |context| async move {
        context.ready.ready();
        std::future::pending().await
    });
    let (kernel, running) = supervise(vec![stuck]);
    until("ready", || {
        kernel.readiness.snapshot().state == State::Ready
    })
    .await;
    let began = kernel.timeline.now();
    kernel.requests.request();
    tokio::time::sleep(Duration::from_millis(50)).await;
    kernel.requests.request();
    assert_eq!(running.await.unwrap(), Outcome::CutShort);
    assert!(kernel.timeline.now() - began < Duration::from_millis(100));
    tasks_add_up(&kernel);
}

// req: KN-08, KN-10
#[tokio::test(start_paused = true)]
async fn a_request_during_start_up_ends_cleanly_without_starting_the_rest() {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let never_ready = Child::new(&POOL, |context| async move {
        context.told_to_end().await;
        Ok(())
    });
    let (kernel, running) = supervise(vec![never_ready, steady(&DOOR, &log)]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    kernel.requests.request();
    assert_eq!(running.await.unwrap(), Outcome::Drained);
    assert!(
        log.lock().is_empty(),
        "the door never opened: its dependency never was ready"
    );
}

// req: KN-06, KN-10
#[tokio::test(start_paused = true)]
async fn a_finished_job_satisfies_who_depends_on_it_and_is_not_repeated() {
    let log = Arc::default();
    let starts = Arc::new(AtomicUsize::new(0));
    let seen = starts.clone();
    let job = Child::new(&ONESHOT, move |_context| {
        let first = seen.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            if first {
                Err(Failure::new("try again"))
            } else {
                Ok(())
            }
        }
    });
    let (kernel, running) = supervise(vec![job, steady(&AFTER, &log)]);
    until("ready", || {
        kernel.readiness.snapshot().state == State::Ready
    })
    .await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(starts.load(Ordering::Relaxed), 2);
    kernel.requests.request();
    assert_eq!(running.await.unwrap(), Outcome::Drained);
}

// req: KN-05, KN-07
#[tokio::test(start_paused = true)]
async fn tasks_of_a_crashed_child_end_before_it_starts_again() {
    static UNIT: TaskKind = TaskKind {
        name: "unit",
        doc: "",
    };
    let overlap = Arc::new(AtomicUsize::new(0));
    let seen = overlap.clone();
    let crashing = Child::new(&POOL, move |context| {
        let leftover = seen.clone();
        async move {
            assert_eq!(
                leftover.fetch_add(1, Ordering::SeqCst),
                0,
                "two starts at once"
            );
            let guard = Leaving(leftover);
            context.tasks.kind(&UNIT).spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await
            });
            tokio::time::sleep(Duration::from_millis(5)).await;
            Err(Failure::new("crash"))
        }
    });
    let (kernel, running) = supervise(vec![crashing]);
    until("restarts", || {
        kernel.registry.counter(&RESTARTS, &["pool"]).get() >= 3
    })
    .await;
    kernel.requests.request();
    running.await.unwrap();
    let count = |spec| counted(&kernel, spec, "unit");
    // A crash ends them as canceled; the one that was there when the drain began, as aborted.
    assert!(count(&tasks::CANCELED) >= 3);
    assert_eq!(
        count(&tasks::SPAWNED),
        count(&tasks::CANCELED) + count(&tasks::ABORTED)
    );
    assert_eq!(overlap.load(Ordering::SeqCst), 0);
}

struct Leaving(Arc<AtomicUsize>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

// req: KN-06
#[tokio::test]
async fn a_crashed_child_waits_idly_for_what_it_depends_on() {
    let pool = Child::new(&POOL, |context| async move {
        context.ready.ready();
        tokio::time::sleep(Duration::from_millis(20)).await;
        context.ready.unready("out of order");
        context.told_to_end().await;
        Ok(())
    });
    let door = Child::new(&DOOR, |context| async move {
        context.ready.ready();
        tokio::time::sleep(Duration::from_millis(40)).await;
        panic!("crash");
    });
    let (kernel, running) = supervise(vec![pool, door]);
    // Longer than any first backoff: the door may start as soon as the pool is ready again, which it never is.
    tokio::time::sleep(limits::RESTART_FIRST_MAX + Duration::from_millis(200)).await;
    let (mut rounds, mut last) = (0, kernel.board.load_full());
    for _ in 0..100 {
        tokio::task::yield_now().await;
        let now = kernel.board.load_full();
        rounds += usize::from(!Arc::ptr_eq(&last, &now));
        last = now;
    }
    assert_eq!(rounds, 0, "the supervisor turns without anything to do");
    kernel.requests.request();
    running.await.unwrap();
}
