//! What a peer may take its time for, and since when it does.

use std::time::Duration;

use kernel::limits;
use tokio::time::Instant;

use crate::alarm::Alarm;
use crate::transport::Settings;

/// The clocks of a connection.
pub(super) struct Times {
    pub(super) alarm: Alarm,
    opened: Instant,
    /// When something last happened.
    moved: Instant,
    /// Since when a frame has begun to come.
    partial: Option<Instant>,
    /// Since when the peer takes nothing.
    writing: Option<Instant>,
}

/// What took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// HELLO, or the rest of a frame.
    Read,
    /// The peer takes nothing of what is written.
    Write,
    /// The peer grants no credit to an answer.
    Credit,
    /// Nothing at all happens.
    Idle,
}

impl Times {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            alarm: Alarm::default(),
            opened: now,
            moved: now,
            partial: None,
            writing: None,
        }
    }

    /// Something of the peer's has come.
    pub(super) fn read(&mut self, now: Instant) {
        self.moved = now;
    }

    /// Whether part of a frame is here; bytes that follow do not prolong its time.
    pub(super) fn partial(&mut self, is_new: bool, is_partial: bool, now: Instant) {
        match is_partial {
            true if is_new => self.partial = Some(now),
            true => {
                self.partial.get_or_insert(now);
            }
            false => self.partial = None,
        }
    }

    /// The peer's side took something then, or there was nothing to take.
    pub(super) fn wrote(&mut self, now: Option<Instant>) {
        self.writing = None;
        self.moved = now.unwrap_or(self.moved);
    }

    /// The peer's side takes nothing.
    pub(super) fn waits_to_write(&mut self, now: Instant) {
        self.writing.get_or_insert(now);
    }

    /// Whether it has had the time to say something.
    pub(super) fn is_settled(&self, now: Instant) -> bool {
        now - self.moved >= limits::CROWDED_GLANCE * 2
    }

    /// Whether it takes long over something while others wait for its place.
    pub(super) fn is_in_the_way(&self, now: Instant) -> bool {
        self.partial
            .is_some_and(|since| now - since >= limits::CROWDED_HEAD)
    }

    /// What is late first, and when.
    pub(super) fn next(
        &self,
        settings: &Settings,
        greeted: bool,
        idle: bool,
        stalled: Option<Instant>,
    ) -> Option<(Late, Instant)> {
        let after =
            |since: Option<Instant>, patience: Duration| since.map(|since| since + patience);
        let hello = (!greeted).then_some(self.opened);
        let rests = (idle && greeted).then_some(self.moved);
        let all = [
            (Late::Read, after(hello, settings.handshake)),
            (Late::Read, after(self.partial, settings.read)),
            (Late::Write, after(self.writing, settings.write)),
            (Late::Credit, after(stalled, settings.write)),
            (Late::Idle, after(rests, settings.idle)),
        ];
        let due = all.into_iter().filter_map(|(late, at)| Some((late, at?)));
        due.min_by_key(|(_, at)| *at)
    }
}

#[cfg(test)]
mod tests;
