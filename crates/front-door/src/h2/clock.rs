//! What a connection's time is for: a first word, a frame that has begun, a rest, an answer that is not taken.

use std::time::Duration;

use http::Response;
use http2_wire::frame::{self, Code, STREAM_MAX};

use super::answers::Doing;
use super::hear::Heard;
use super::outbox::Outbox;
use super::streams::{Excuse, Stream, Window};
use super::{Connection, Ended, Leave};
use crate::door::Panicked;
use crate::line::Line;
use crate::pulse::{Order, SLOW_TICKS, Stance, ticks};
use crate::service::Service;
use crate::settings::DoorSettings;

/// How often a silent peer is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(30);
/// What we say when we ask.
const THERE: [u8; 8] = *b"there yo";
/// And when we leave: who answers has heard it.
const LEAVING: [u8; 8] = *b"goodbye ";

/// For how many ticks an answer is left alone before its peer is told that the rest of the request is not wanted. There
/// are clients (curl 7.88) that throw an answer away when they read of both at once.
const PARTING: u32 = 2;
/// For how many times its patience a stream may be excused, until enough of it was taken: what may be under way to a
/// peer on a slow line is there by then.
const EXCUSED: u32 = 4;

/// A part of a message that is not all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    Nothing,
    /// A piece of a body, which has a pace of its own.
    Data,
    /// A preface, a head of a frame, a block of fields.
    Other,
}

/// When what was last seen, in ticks.
pub(super) struct Times {
    /// Something came.
    heard: u32,
    /// The peer was asked whether it is there; 0 if it has answered.
    asked: u32,
    /// For how long a peer may leave that unanswered.
    pong: u32,
    /// When to look at the streams and the silence; 0 for never.
    alarm: u32,
    /// What has been asked for is not answered yet.
    busy: bool,
    /// The rest has lasted long enough to give memory back.
    rested: bool,
    /// What has come and is not all there.
    unfinished: Unfinished,
    /// The time for that begins anew.
    anew: bool,
}

impl Times {
    pub(super) fn new(line: &Line, settings: &DoorSettings) -> Self {
        let mut times = Self {
            heard: line.desk.clock.now(),
            asked: 0,
            pong: ticks(settings.timeouts.head),
            alarm: 0,
            busy: false,
            rested: false,
            unfinished: Unfinished::Nothing,
            anew: false,
        };
        times.wake_in(ticks(PING_EVERY), line);
        times
    }

    /// Looks again in so many ticks, or earlier if that was to be.
    fn wake_in(&mut self, ticks: u32, line: &Line) {
        let at = line.desk.clock.now().saturating_add(ticks);
        if self.alarm == 0 || at < self.alarm {
            self.alarm = at;
            line.pulse.answer.set(&line.desk.clock, ticks);
        }
    }
}

impl<S, F> Connection<S, F>
where
    S: Service,
    F: Future<Output = Result<Response<S::Body>, Panicked>> + Send,
{
    /// Something has come.
    pub(super) fn time_bytes(&mut self) {
        self.times.heard = self.line.desk.clock.now();
        self.times.asked = 0;
        // Pieces of bodies have a pace of their own, as long as they come at all.
        self.times.anew |= self.times.unfinished == Unfinished::Data;
    }

    /// What is unfinished began just now.
    pub(super) fn time_anew(&mut self) {
        self.times.anew = true;
    }

    /// Something whole has come: what is unfinished now began after it, unless that was a part of a head.
    pub(super) fn time_frames(&mut self) {
        self.times.anew |= self.inbox.block.is_none();
        if self.greeted && !self.times.busy && self.line.pulse.stance() == Stance::Fresh {
            self.rest();
        }
    }

    /// What has begun has to end in time.
    pub(super) fn time_unfinished(&mut self, unfinished: Unfinished) {
        let (line, clock) = (&self.line, &self.line.desk.clock);
        let was = std::mem::replace(&mut self.times.unfinished, unfinished);
        if was == unfinished && !std::mem::take(&mut self.times.anew) {
            return;
        }
        self.times.anew = false;
        match unfinished {
            Unfinished::Nothing => line.pulse.part.clear(),
            Unfinished::Data => line.pulse.part.set(clock, line.patience.body),
            Unfinished::Other => line.pulse.part.set(clock, line.patience.head),
        }
    }

    /// A request has come.
    pub(super) fn time_request(&mut self) {
        if !std::mem::replace(&mut self.times.busy, true) {
            let pulse = &self.line.pulse;
            pulse.take(Stance::Busy, &self.line.desk.clock);
            pulse.read.clear();
        }
    }

    /// The peer does not take what a stream has for it.
    pub(super) fn time_stall(&mut self, slot: usize) {
        let now = self.line.desk.clock.now();
        let Some(stream) = self.streams.get(slot) else {
            return;
        };
        if stream.stalls(now) {
            self.times.wake_in(self.line.patience.write, &self.line);
        }
    }

    /// A piece is here, and more is to come: whether it has gone is looked at in a while.
    pub(super) fn time_piece(&mut self, slot: usize) {
        let now = self.line.desk.clock.now();
        if let Some(stream) = self.streams.get(slot) {
            stream.here_since = now;
            self.times.wake_in(SLOW_TICKS, &self.line);
        }
    }

    /// Tells the services of those whose pieces go slowly.
    fn tell_of_slowness(&mut self) {
        let now = self.line.desk.clock.now();
        let mut again = false;
        for (_, stream) in self.streams.iter_mut() {
            let Some(work) = stream.work.as_mut().filter(|_| !stream.rest.is_empty()) else {
                continue;
            };
            again = true;
            if now.saturating_sub(stream.here_since) >= SLOW_TICKS
                && let Doing::Sends { body } = work.as_mut().project()
            {
                stream.here_since = now;
                S::kept_waiting(body);
            }
        }
        if again {
            self.times.wake_in(SLOW_TICKS, &self.line);
        }
    }

    /// All of an answer is out before its request is. Who ends that by itself need not be told to.
    pub(super) fn part(&mut self, id: u32, room: Window) {
        self.remember(id, room);
        if self.partings.len() >= self.streams_max.max(1) {
            let (oldest, _) = self.partings.remove(0);
            frame::write_reset(self.out.lead(), oldest, Code::NoError);
        }
        let due = self.line.desk.clock.now().saturating_add(PARTING);
        self.partings.push((id, due));
        self.times.wake_in(PARTING, &self.line);
    }

    /// Tells the peer of those whose time has come; true if there were any.
    fn tell_partings(&mut self) -> bool {
        let now = self.line.desk.clock.now();
        let told = self.partings.partition_point(|(_, due)| *due <= now);
        for (id, _) in self.partings.drain(..told) {
            frame::write_reset(self.out.lead(), id, Code::NoError);
        }
        if let Some((_, due)) = self.partings.first() {
            self.times.wake_in(due - now, &self.line);
        }
        told > 0
    }

    /// Everything has been answered, and the answers are out.
    pub(super) fn rest_if_idle(&mut self) {
        if self.times.busy && self.streams.open() == 0 {
            self.times.busy = false;
            self.rest();
        }
    }

    fn rest(&mut self) {
        let (line, clock) = (&self.line, &self.line.desk.clock);
        line.pulse.take(Stance::Resting, clock);
        self.times.rested = false;
        line.pulse.read.set(
            clock,
            match self.leave {
                Leave::Not => line.patience.nap,
                Leave::Announced | Leave::Final => line.patience.write,
            },
        );
    }

    /// Does what it is time for; true if that left something to say.
    pub(super) fn look_at_the_clock(&mut self, heard: Heard) -> Result<bool, Ended> {
        let pulse = &self.line.pulse;
        let mut says = false;
        match pulse.ordered() {
            Order::Stay => {}
            // One that has said nothing is owed no answer.
            Order::Leave if pulse.stance() != Stance::Fresh => says = self.announce_leave(),
            Order::Leave | Order::Cut => return Err(Ended::Quiet),
        }
        if self.line.pulse.part.passed() {
            self.line.desk.timeouts.read.inc();
            return Err(Ended::Quiet);
        }
        // What may lie unread is waited for.
        if self.line.pulse.read.passed() && heard == Heard::All {
            says |= self.has_rested()?;
        }
        if self.line.pulse.answer.passed() {
            says |= self.look_around(heard)?;
        }
        Ok(says)
    }

    /// Nothing was asked for, for as long as that may be.
    fn has_rested(&mut self) -> Result<bool, Ended> {
        let (line, clock) = (&self.line, &self.line.desk.clock);
        if self.times.busy {
            line.pulse.read.clear();
            return Ok(false);
        }
        if line.pulse.stance() == Stance::Resting && self.leave == Leave::Not {
            if self.times.rested {
                return Ok(self.announce_leave());
            }
            // Memory goes, time goes on.
            self.times.rested = true;
            let left = line.patience.idle - line.patience.nap;
            line.pulse.read.set(clock, left);
            self.streams.shrink();
            return Ok(false);
        }
        line.desk.timeouts.read.inc();
        Err(Ended::Quiet)
    }

    /// Says that no more requests are wanted, and waits until that has been heard; true unless it was said before.
    pub(super) fn announce_leave(&mut self) -> bool {
        if self.leave != Leave::Not {
            return false;
        }
        self.leave = Leave::Announced;
        let out = self.out.lead();
        frame::write_goaway(out, STREAM_MAX, Code::NoError);
        frame::write_ping(out, LEAVING, false);
        if !self.times.busy {
            self.rest();
        }
        true
    }

    /// The answer to one of our pings.
    pub(super) fn ponged(&mut self, said: [u8; 8]) {
        if said == LEAVING && self.leave == Leave::Announced {
            self.leave_now();
        }
    }

    /// Who asks from now on is refused.
    pub(super) fn leave_now(&mut self) {
        self.leave = Leave::Final;
        frame::write_goaway(self.out.lead(), self.last, Code::NoError);
    }

    /// Ends what stands still, and asks who is silent.
    fn look_around(&mut self, heard: Heard) -> Result<bool, Ended> {
        self.times.alarm = 0;
        self.line.pulse.answer.clear();
        let now = self.line.desk.clock.now();
        // Nobody is blamed for what may lie unread, or for what may not have reached it; that has a time of its own.
        let (unread, slow) = (heard != Heard::All, self.line.is_slow());
        if unread || slow {
            (self.times.heard, self.times.asked) = (now, 0);
        }
        let says = self.end_stalled(unread, slow) | self.tell_partings();
        self.tell_of_slowness();
        let (silent, every) = (now.saturating_sub(self.times.heard), ticks(PING_EVERY));
        if self.times.asked != 0 {
            let waited = now.saturating_sub(self.times.asked);
            if waited >= self.times.pong {
                self.line.desk.timeouts.read.inc();
                return Err(Ended::Quiet);
            }
            self.times.wake_in(self.times.pong - waited, &self.line);
            return Ok(says);
        }
        if silent < every {
            self.times.wake_in(every - silent, &self.line);
            return Ok(says);
        }
        self.times.asked = now;
        frame::write_ping(self.out.lead(), THERE, false);
        self.times.wake_in(self.times.pong, &self.line);
        Ok(true)
    }

    /// Ends the streams whose answers were left untaken for too long.
    fn end_stalled(&mut self, unread: bool, slow: bool) -> bool {
        let (now, most) = (self.line.desk.clock.now(), self.line.patience.write);
        let (mut late, mut next) = (Vec::new(), None);
        let (window, mut progress) = (self.window.room(), None);
        for (slot, stream) in self.streams.iter_mut() {
            if stream.stalled == 0 {
                continue;
            }
            let see = || Progress::of(&self.out, &self.line, unread, slow);
            let progress = progress.get_or_insert_with(see);
            if progress.excuses(stream, window, now, most) {
                stream.stalled = now;
            }
            match most.saturating_sub(now.saturating_sub(stream.stalled)) {
                0 => late.push(slot),
                left => next = Some(next.map_or(left, |next: u32| next.min(left))),
            }
        }
        for slot in &late {
            self.line.desk.timeouts.write.inc();
            self.reset(*slot, Code::Cancel);
        }
        if let Some(left) = next {
            self.times.wake_in(left, &self.line);
        }
        !late.is_empty()
    }
}

/// How far a connection has got on both ways, as far as its streams depend on it.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// Something the peer has said may lie unread.
    unread: bool,
    /// The line is slow.
    slow: bool,
    /// Bytes that have gone out, and what has to until the peer is heard again.
    gone: (u64, u64),
    /// Bytes the peer has taken, and what is on its way to it.
    taken: (u64, u64),
}

impl Progress {
    fn of(out: &Outbox, line: &Line, unread: bool, slow: bool) -> Self {
        let (taken, under_way) = line.taken.in_all();
        Self {
            unread,
            slow,
            gone: (out.gone(), out.excess()),
            taken: (taken, under_way + out.waiting() as u64),
        }
    }

    /// Whether it may not be the peer's doing that a stream stands still: what would move it on may lie unread here, or
    /// is still under way to the peer, or it is we who have not gone on with it. What has never been sent anything of
    /// its answer waits for nothing that is under way; and what was under way is there one day. A peer could keep the
    /// line slow with one stream, and so hold the places of all others for as long as it likes.
    fn excuses<W>(&self, stream: &mut Stream<W>, window: usize, now: u32, most: u32) -> bool {
        let open = stream.window.room().min(window) > 0;
        let under_way = self.slow && stream.sent > 0;
        if !(open || self.unread || under_way) {
            return false;
        }
        let Some(excuse) = stream.excuse else {
            stream.excuse = Some(Excuse {
                since: now,
                gone: self.gone.0 + self.gone.1,
                taken: self.taken.0 + self.taken.1,
            });
            return true;
        };
        let unread = self.unread && self.gone.0 < excuse.gone;
        let under_way = under_way && self.taken.0 < excuse.taken;
        let lasted = now.saturating_sub(excuse.since);
        (open || unread || under_way) && lasted < most.saturating_mul(EXCUSED)
    }
}

#[cfg(test)]
mod tests;
