//! What is tried at the moment, and when the next try is due.

use std::time::Duration;

use super::refused::Shed;

/// The shortest and the longest pause between two tries, in windows.
const PAUSE_MIN: u32 = 8;
const PAUSE_MAX: u32 = 64;

/// Windows until the next try, and how many there will be after that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    left: u32,
    next: u32,
}

impl Pause {
    pub(super) const NONE: Self = Self {
        left: 0,
        next: PAUSE_MIN,
    };

    pub(super) fn is_over(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0
    }

    pub(super) fn begin(&mut self) {
        self.left = self.next;
        self.next = (self.next * 2).min(PAUSE_MAX);
    }
}

/// What the last window ended with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    None,
    /// Delay stands: what throughput is with it, the next window will tell.
    Suspect,
    Up(Growth),
    Down(Descent),
    /// Because so many were sent away.
    Shed(Shed),
    /// At once, from there, since the latest were so many times slower than undisturbed.
    Fall {
        from: f64,
        slower: f64,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) before: f64,
    /// Where it leads, and how far with each that ends: slow work let in all at once would hold up the quick.
    pub(super) goal: f64,
    pub(super) by_degrees: bool,
    pub(super) since: Option<Duration>,
    pub(super) each: f64,
    pub(super) flow: f64,
    pub(super) pace: f64,
    pub(super) quick: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Descent {
    /// The limit it began from, what was done there, and the standard error of that.
    pub(super) from: f64,
    pub(super) flow: f64,
    pub(super) error: f64,
    /// The limit before the last step, and how quick the quickest were there.
    pub(super) before: f64,
    pub(super) quick: f64,
    /// The next step where the delay is not known, as a share.
    pub(super) blind: Option<f64>,
}
