use std::time::Duration;

use super::*;

static WORK: TaskKind = TaskKind {
    name: "work",
    doc: "test work",
};

fn count(registry: &Registry, spec: &'static MetricSpec) -> u64 {
    registry.sample();
    registry.counter(spec, &["work"]).get()
}

fn ended(registry: &Registry) -> u64 {
    [&COMPLETED, &CANCELED, &ABORTED]
        .into_iter()
        .map(|spec| count(registry, spec))
        .sum()
}

// req: KN-05
#[tokio::test]
async fn a_task_that_returns_counts_as_completed() {
    let registry = Registry::default();
    let group = TaskGroup::new(&registry);
    let task = group.kind(&WORK).spawn(async { 7 });
    assert_eq!(task.join().await, Ended::Completed(7));
    group.idle().await;
    assert_eq!(
        (count(&registry, &SPAWNED), count(&registry, &COMPLETED)),
        (1, 1)
    );
}

// req: KN-05
#[tokio::test]
async fn a_panic_counts_as_completed_and_is_told_to_who_joins() {
    let registry = Registry::default();
    let group = TaskGroup::new(&registry);
    let task = group.kind(&WORK).spawn(async { panic!("boom {}", 1) });
    assert_eq!(
        task.join().await,
        Ended::<()>::Panicked("boom 1".to_owned())
    );
    group.idle().await;
    assert_eq!(
        (count(&registry, &COMPLETED), count(&registry, &PANICKED)),
        (1, 1)
    );
}

// req: KN-05
#[tokio::test]
async fn cancel_and_abort_end_waiting_tasks_and_are_counted_apart() {
    for (abort, spec) in [(false, &CANCELED), (true, &ABORTED)] {
        let registry = Registry::default();
        let group = TaskGroup::new(&registry);
        for _ in 0..100 {
            group.kind(&WORK).spawn(std::future::pending::<()>());
        }
        tokio::task::yield_now().await;
        if abort {
            group.abort()
        } else {
            group.cancel()
        }
        group.idle().await;
        assert_eq!(count(&registry, spec), 100);
        assert_eq!(count(&registry, &SPAWNED), ended(&registry));
    }
}

// req: KN-05
#[tokio::test]
async fn nothing_of_a_task_is_left_when_it_counts_as_ended_however_large_it_is() {
    tasks_end_that_hold::<8>().await;
    tasks_end_that_hold::<{ 4 * INLINE }>().await;
}

async fn tasks_end_that_hold<const HELD: usize>() {
    let registry = Registry::default();
    let group = TaskGroup::new(&registry);
    let seen = Arc::new(Lock::new(&lock::TASK_KINDS, Vec::new()));
    for waits in [false, true] {
        let held = (LooksWhenDropped(group.clone(), seen.clone()), [0u8; HELD]);
        group.kind(&WORK).spawn(async move {
            if waits {
                std::future::pending::<()>().await;
            }
            drop(std::hint::black_box(held));
        });
    }
    tokio::task::yield_now().await;
    group.cancel();
    group.idle().await;
    assert_eq!(*seen.lock(), [2, 1], "each was still counted as live");
    let counted = (count(&registry, &COMPLETED), count(&registry, &CANCELED));
    assert_eq!(counted, (1, 1));
}

struct LooksWhenDropped(TaskGroup, Arc<Lock<Vec<usize>>>);

impl Drop for LooksWhenDropped {
    fn drop(&mut self) {
        let live = self.0.live();
        self.1.lock().push(live);
    }
}

// req: KN-05
#[tokio::test]
async fn a_task_spawned_after_the_end_never_runs_its_work() {
    let registry = Registry::default();
    let group = TaskGroup::new(&registry);
    group.cancel();
    let task = group.kind(&WORK).spawn(async { panic!("ran") });
    assert_eq!(task.join().await, Ended::<()>::Stopped);
    assert_eq!(count(&registry, &CANCELED), 1);
}

// req: KN-05
#[test]
fn a_runtime_that_is_dropped_leaves_no_task_uncounted() {
    let registry = Registry::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let group = TaskGroup::new(&registry);
        group.kind(&WORK).spawn(std::future::pending::<()>());
        group
            .kind(&WORK)
            .spawn(tokio::time::sleep(Duration::from_secs(60)));
        tokio::task::yield_now().await;
    });
    drop(runtime);
    assert_eq!((count(&registry, &SPAWNED), ended(&registry)), (2, 2));
}

// req: KN-05
#[tokio::test]
async fn written_off_tasks_count_as_aborted_once() {
    let registry = Registry::default();
    let group = TaskGroup::new(&registry);
    let task = group.kind(&WORK).spawn(std::future::pending::<()>());
    tokio::task::yield_now().await;
    assert_eq!(group.write_off(), 1);
    assert_eq!(group.write_off(), 0);
    task.handle.abort();
    tokio::task::yield_now().await;
    assert_eq!((count(&registry, &ABORTED), ended(&registry)), (1, 1));
}

/// Tasks of every fate while the group ends at a random moment, on several threads.
// req: KN-05
#[test]
fn counts_add_up_under_a_storm_of_ends() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    testkit::sim::run("task storm", 30, |rng| {
        let registry = Registry::default();
        let group = TaskGroup::new(&registry);
        let spawner = group.kind(&WORK);
        let cut = rng.u64(0..400);
        runtime.block_on(async {
            for index in 0..400u64 {
                let fate = rng.u64(0..4);
                spawner.spawn(async move {
                    match fate {
                        0 => {}
                        1 => tokio::task::yield_now().await,
                        2 => std::future::pending().await,
                        _ => tokio::time::sleep(Duration::from_micros(fate * 50)).await,
                    }
                });
                if index == cut {
                    group.abort();
                }
            }
            group.idle().await;
        });
        assert_eq!(count(&registry, &SPAWNED), ended(&registry));
        assert_eq!(group.live(), 0);
    });
}

// req: KN-05
#[tokio::test]
async fn who_comes_after_the_write_off_is_aborted_and_the_books_balance() {
    let registry = Registry::default();
    let group = TaskGroup::new(&registry);
    let spawner = group.kind(&WORK);
    let stuck = spawner.spawn(std::future::pending::<()>());
    assert_eq!(group.write_off(), 1);
    let late = spawner.spawn(std::future::pending::<()>());
    assert_eq!(late.join().await, Ended::Stopped);
    assert_eq!(stuck.join().await, Ended::Stopped);
    assert_eq!(group.live(), 0);
    group.idle().await;
    assert_eq!(group.write_off(), 0);
    assert_eq!(count(&registry, &SPAWNED), 2);
    assert_eq!((count(&registry, &ABORTED), ended(&registry)), (2, 2));
}
