//! Calls by number: made from anywhere, answered in turns by one, who is woken only where it does not look anyway.

use crate::bug::{Bug, seeded};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, fence};

const BITS: usize = usize::BITS as usize;

/// One bit for each number there can be. Many call, one answers.
///
/// Whoever answers attends, answers until nobody has called, and looks once more when it leaves. A call made meanwhile
/// is seen then; one made later says that whoever answers has to be woken.
#[derive(Debug)]
pub struct Calls {
    called: Box<[AtomicUsize]>,
    attended: AtomicBool,
}

impl Calls {
    /// For so many numbers, from zero.
    pub fn new(numbers: usize) -> Self {
        let words = numbers.div_ceil(BITS).max(1);
        Self {
            called: (0..words).map(|_| AtomicUsize::new(0)).collect(),
            attended: AtomicBool::new(false),
        }
    }

    /// Calls; whether whoever answers is to be woken for it. A number beyond all is nobody's.
    #[must_use = "a call that nobody is woken for may never be answered"]
    pub fn call(&self, number: usize) -> bool {
        let Some(word) = self.called.get(number / BITS) else {
            return false;
        };
        word.fetch_or(1 << (number % BITS), Ordering::Release);
        if !seeded(Bug::CallWithoutFence) {
            // Either who leaves sees the call, or the call sees that they have left.
            fence(Ordering::SeqCst);
        }
        !self.attended.load(Ordering::Relaxed)
    }

    /// From now on calls are seen without being told of.
    pub fn attend(&self) {
        self.attended.store(true, Ordering::Relaxed);
    }

    /// From now on they are not; whether there is one that was made before.
    #[must_use = "of what was called before nobody is told again"]
    pub fn leave(&self) -> bool {
        self.attended.store(false, Ordering::Relaxed);
        if seeded(Bug::LeaveWithoutSecondLook) {
            return false;
        }
        fence(Ordering::SeqCst);
        self.is_called()
    }

    /// Whether somebody has called.
    pub fn is_called(&self) -> bool {
        let mut words = self.called.iter();
        words.any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// The first that was called from `from` on, and then from the beginning; it is not called any more.
    pub fn answer(&self, from: usize) -> Option<usize> {
        let (first, bit) = (from / BITS % self.called.len(), from % BITS);
        let above = usize::MAX << bit;
        // The first word twice: what is above where to begin, and at last what is below.
        let masks = std::iter::once(above)
            .chain(std::iter::repeat_n(usize::MAX, self.called.len() - 1))
            .chain([!above]);
        for (index, mask) in masks.enumerate() {
            let at = (first + index) % self.called.len();
            let bits = self.called[at].load(Ordering::Relaxed) & mask;
            if bits != 0 {
                let bit = bits.trailing_zeros() as usize;
                // What was done before the call is seen by whoever answers.
                self.called[at].fetch_and(!(1 << bit), Ordering::Acquire);
                return Some(at * BITS + bit);
            }
        }
        None
    }
}
