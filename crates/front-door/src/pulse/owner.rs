//! The task that is woken for a pulse: nearly always the same for as long as the pulse lives.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::task::Waker;

use kernel::lock::{Lock, LockSpec};

/// Who is woken.
pub(crate) static OWNER: LockSpec = LockSpec {
    name: "door_owner",
    level: 90,
    doc: "the task to wake for a connection; taken when it changes, and when it is woken, whoever holds what then",
};

/// Keeps the task after it was woken: who lives by a pulse says so at every wait, and to be told what is known already
/// takes one look and no lock.
#[derive(Debug)]
pub(super) struct Owner {
    /// What tells the task apart from others. As long as its waker is kept, nothing else can lie there.
    task: AtomicPtr<()>,
    waker: Lock<Option<Waker>>,
}

impl Default for Owner {
    fn default() -> Self {
        Self {
            task: AtomicPtr::default(),
            waker: Lock::new(&OWNER, None),
        }
    }
}

impl Owner {
    #[inline]
    pub(super) fn is(&self, waker: &Waker) {
        // Only the owner writes this, or who takes its place; who wakes leaves it as it is.
        if self.task.load(Ordering::Relaxed) != waker.data().cast_mut() {
            self.change(Some(waker));
        }
    }

    /// Forgets it, and what its task would keep alive.
    pub(super) fn leaves(&self) {
        self.change(None);
    }

    #[cold]
    fn change(&self, to: Option<&Waker>) {
        let mut waker = self.waker.lock();
        let task = to.map_or(ptr::null(), Waker::data);
        self.task.store(task.cast_mut(), Ordering::Relaxed);
        let before = std::mem::replace(&mut *waker, to.cloned());
        drop(waker);
        drop(before);
    }

    pub(super) fn wake(&self) {
        let waker = self.waker.lock().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Calls(AtomicUsize);

    impl Wake for Calls {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    // req: GW-03
    #[test]
    fn the_last_who_said_so_is_woken_every_time_and_nobody_once_it_has_left() {
        let (owner, calls) = (
            Owner::default(),
            [(); 2].map(|()| Arc::new(Calls::default())),
        );
        let wakers = calls.clone().map(Waker::from);
        let woken = || {
            calls
                .each_ref()
                .map(|calls| calls.0.load(Ordering::Relaxed))
        };
        owner.wake();
        for (who, expected) in [(0, [2, 0]), (1, [2, 2]), (0, [4, 2])] {
            owner.is(&wakers[who]);
            owner.wake();
            owner.is(&wakers[who]);
            owner.wake();
            assert_eq!(woken(), expected);
        }
        owner.leaves();
        owner.wake();
        assert_eq!(woken(), [4, 2]);
        drop(wakers);
        assert!(
            calls.iter().all(|calls| Arc::strong_count(calls) == 1),
            "it keeps nobody"
        );
        let another = Waker::from(calls[0].clone());
        owner.is(&another);
        owner.wake();
        assert_eq!(woken(), [5, 2]);
    }
}
