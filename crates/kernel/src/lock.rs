//! Locks with a name and a level: short critical sections only, taken in one order.
//!
//! A guard cannot cross an `.await` in a spawned task (it is not `Send`, and clippy denies the rest). In builds with
//! debug assertions, taking a lock while holding one of the same or a higher level panics: a deadlock found before
//! it happens.

use std::ops::{Deref, DerefMut};

use parking_lot::{Mutex, MutexGuard};

pub use brief::BriefLock;

mod brief;

/// What a lock guards; the reference page lists them all.
#[derive(Debug)]
pub struct LockSpec {
    /// Its name.
    pub name: &'static str,
    /// Its place in the order: locks of a higher level may be taken while holding it.
    pub level: u8,
    /// What it guards, and why a lock and not a message.
    pub doc: &'static str,
}

/// A mutex made from a spec.
#[derive(Debug)]
pub struct Lock<T> {
    spec: &'static LockSpec,
    mutex: Mutex<T>,
}

impl<T> Lock<T> {
    /// Guards `value`.
    pub const fn new(spec: &'static LockSpec, value: T) -> Self {
        Self {
            spec,
            mutex: Mutex::new(value),
        }
    }

    /// Takes the lock. A panic while holding it does not poison it.
    pub fn lock(&self) -> Guard<'_, T> {
        let rank = order::Held::enter(self.spec);
        Guard {
            guard: self.mutex.lock(),
            _rank: rank,
        }
    }
}

/// Access to what a lock guards, until dropped.
pub struct Guard<'a, T> {
    guard: MutexGuard<'a, T>,
    _rank: order::Held,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[cfg(debug_assertions)]
mod order {
    use std::cell::RefCell;

    use super::LockSpec;

    thread_local! {
        static HELD: RefCell<Vec<&'static LockSpec>> = const { RefCell::new(Vec::new()) };
    }

    /// Remembers that this thread holds a lock.
    pub(super) struct Held(&'static LockSpec);

    impl Held {
        pub(super) fn enter(spec: &'static LockSpec) -> Self {
            HELD.with_borrow_mut(|held| {
                if let Some(above) = held.iter().find(|other| other.level >= spec.level) {
                    panic!(
                        "lock `{}` taken while holding `{}`: wrong order",
                        spec.name, above.name
                    );
                }
                held.push(spec);
            });
            Self(spec)
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            // Gone with the thread: nothing left to remember.
            let _gone = HELD.try_with(|held| {
                let mut held = held.borrow_mut();
                if let Some(index) = held.iter().rposition(|spec| std::ptr::eq(*spec, self.0)) {
                    held.remove(index);
                }
            });
        }
    }
}

#[cfg(not(debug_assertions))]
mod order {
    use super::LockSpec;

    /// Nothing to remember in release builds.
    pub(super) struct Held;

    impl Held {
        #[inline(always)]
        pub(super) fn enter(_spec: &'static LockSpec) -> Self {
            Self
        }
    }
}

/// Queues of a node.
pub static QUEUES: LockSpec = LockSpec {
    name: "queues",
    level: 10,
    doc: "the list of live queues; taken when one is made or status is asked",
};
/// Readiness of services.
pub static READINESS: LockSpec = LockSpec {
    name: "readiness",
    level: 20,
    doc: "state of each service; events are published under it, in order",
};
/// The bus snapshot.
pub static BUS: LockSpec = LockSpec {
    name: "bus",
    level: 30,
    doc: "what all events add up to; orders publishing against subscribing",
};
/// Kinds of a task group.
pub static TASK_KINDS: LockSpec = LockSpec {
    name: "task_kinds",
    level: 40,
    doc: "the kinds of one task group; taken when a spawner is made",
};
/// Parked wakers of a task group.
pub static TASK_WAKERS: LockSpec = LockSpec {
    name: "task_wakers",
    level: 50,
    doc: "wakers of waiting tasks, a shard for each thread; brief, taken twice by a task that waits",
};
/// Books of tasks that are kept for whoever comes next.
pub static TASK_DESKS: LockSpec = LockSpec {
    name: "task_desks",
    level: 51,
    doc: "desks (books and wakers of one kind in one group) that nobody uses; asked when a group or its last task ends",
};
/// The metrics registry.
pub static METRICS: LockSpec = LockSpec {
    name: "metrics",
    level: 60,
    doc: "metric families; taken when a handle is resolved and when scraped",
};
/// The config last loaded.
pub static CONFIG: LockSpec = LockSpec {
    name: "config",
    level: 10,
    doc: "the text form in force, compared with at reload; never on a request",
};
/// The last reload's result.
pub static RELOAD_STATUS: LockSpec = LockSpec {
    name: "reload_status",
    level: 10,
    doc: "what came of the last reload, for status pages",
};
/// A door's listener.
pub static DOOR: LockSpec = LockSpec {
    name: "door",
    level: 10,
    doc: "the listening socket; taken when its child starts and ends",
};
/// See [`crate::watchdog`].
pub static WATCHED: LockSpec = LockSpec {
    name: "watched",
    level: 10,
    doc: "who is watched and what was seen last: a worker enters once, the watchdog looks ten times a second",
};

/// All of the kernel's.
pub static ALL: [&LockSpec; 11] = [
    &WATCHED,
    &CONFIG,
    &DOOR,
    &QUEUES,
    &RELOAD_STATUS,
    &READINESS,
    &BUS,
    &TASK_KINDS,
    &TASK_WAKERS,
    &TASK_DESKS,
    &METRICS,
];

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    static LOW: LockSpec = LockSpec {
        name: "low",
        level: 1,
        doc: "",
    };
    static HIGH: LockSpec = LockSpec {
        name: "high",
        level: 2,
        doc: "",
    };

    // req: KN-01
    #[test]
    fn a_guard_cannot_leave_its_thread_so_no_await_can_carry_it() {
        trait Probe {
            const SEND: bool;
        }
        struct Is<T>(std::marker::PhantomData<T>);
        impl<T> Probe for Is<T> {
            const SEND: bool = false;
        }
        impl<T: Send> Is<T> {
            const SEND: bool = true;
        }
        const { assert!(Is::<Lock<u8>>::SEND) };
        // The inherent constant is taken where it applies, the trait's where it does not.
        const { assert!(!Is::<Guard<'static, u8>>::SEND) };
    }

    // req: KN-01
    #[test]
    fn locks_are_taken_in_the_order_of_their_levels() {
        let (low, high) = (Lock::new(&LOW, 1), Lock::new(&HIGH, 2));
        {
            let (one, two) = (low.lock(), high.lock());
            assert_eq!(*one + *two, 3);
        }
        let wrong = catch_unwind(AssertUnwindSafe(|| {
            let _two = high.lock();
            let _one = low.lock();
        }));
        assert_eq!(wrong.is_err(), cfg!(debug_assertions));
    }

    // attack: K-05
    #[test]
    fn a_panic_while_holding_does_not_poison() {
        let lock = Lock::new(&LOW, 1);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _held = lock.lock();
            panic!("while holding");
        }));
        assert!(panicked.is_err());
        assert_eq!(*lock.lock(), 1);
    }
}
