//! The shutdown state machine, pure: it is told what happened and when, and says what to do.
//!
//! Running → Draining (grace → intake → work → support → admin) → Stopped, with Aborting on the way when a
//! deadline passes or a second request comes.

use std::time::Duration;

use serde::Serialize;

use crate::limits;

/// How far the shutdown has come. Only ever moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Normal life.
    Running,
    /// Unready, but still accepting: load balancers are looking away.
    Grace,
    /// Doors closed; what was accepted is being answered.
    Intake,
    /// Workers finish what they have.
    Work,
    /// Helpers of others end.
    Support,
    /// The admin server ends, last.
    Admin,
    /// Nothing is left.
    Stopped,
}

/// When a child is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// First: whatever lets work in.
    Intake,
    /// Then: whatever does the work.
    Work,
    /// Then: whatever only supports others.
    Support,
    /// Last: the admin server.
    Admin,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Phase; 4] = [Phase::Intake, Phase::Work, Phase::Support, Phase::Admin];

    /// The stage in which children of this phase end.
    pub fn stage(self) -> Stage {
        match self {
            Phase::Intake => Stage::Intake,
            Phase::Work => Stage::Work,
            Phase::Support => Stage::Support,
            Phase::Admin => Stage::Admin,
        }
    }
}

/// The times an operator chose.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How long to keep accepting after having become unready.
    pub accept_grace: Duration,
    /// How long accepted work may take from then on.
    pub deadline: Duration,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A signal or an operator asked for shutdown.
    Request,
    /// No child of this phase is left, nor any of their tasks.
    Empty(Phase),
    /// Time has passed.
    Tick,
}

/// Something to do, in the order given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Publish this stage; children of its phase end by themselves.
    Enter(Stage),
    /// End the tasks of this phase by force.
    Abort(Phase),
    /// Stop waiting for tasks of this phase that do not end even so.
    WriteOff(Phase),
}

/// How the shutdown went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Everything ended by itself.
    Drained,
    /// Stragglers were aborted at a deadline.
    DeadlinePassed,
    /// A second request cut it short.
    CutShort,
}

/// The machine.
#[derive(Debug)]
pub struct Drain {
    stage: Stage,
    outcome: Outcome,
    /// When the current stage is over by force; `None` while running and stopped.
    force_at: Option<Duration>,
    /// When accepted work must be done; fixed at the first request.
    work_by: Duration,
    aborting: bool,
}

impl Default for Drain {
    fn default() -> Self {
        Self {
            stage: Stage::Running,
            outcome: Outcome::Drained,
            force_at: None,
            work_by: Duration::ZERO,
            aborting: false,
        }
    }
}

impl Drain {
    /// How far it has come.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// How it has gone so far.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The word of the state machine: running, draining, aborting or stopped.
    pub fn word(&self) -> &'static str {
        match self.stage {
            Stage::Running => "running",
            Stage::Stopped => "stopped",
            _ if self.aborting => "aborting",
            _ => "draining",
        }
    }

    /// When to send the next [`Input::Tick`] at the latest.
    pub fn next_at(&self) -> Option<Duration> {
        self.force_at
    }

    /// Takes one input; `plan` is looked at only by the first request.
    pub fn on(&mut self, now: Duration, input: Input, plan: &Plan) -> Vec<Act> {
        let mut acts = Vec::new();
        match input {
            Input::Request => self.request(now, plan, &mut acts),
            Input::Empty(phase) if phase.stage() == self.stage => self.advance(now, &mut acts),
            Input::Empty(_) | Input::Tick => {}
        }
        while self.force_at.is_some_and(|at| at <= now) {
            self.force(now, &mut acts);
        }
        acts
    }

    fn request(&mut self, now: Duration, plan: &Plan, acts: &mut Vec<Act>) {
        match self.stage {
            Stage::Running => {
                self.work_by = now + plan.accept_grace + plan.deadline;
                self.enter(Stage::Grace, now + plan.accept_grace, acts);
            }
            Stage::Stopped => {}
            _ => {
                self.outcome = Outcome::CutShort;
                self.work_by = now;
                // The stage at hand is over now, unless it is being aborted already.
                if !self.aborting {
                    self.force_at = Some(now);
                }
            }
        }
    }

    /// The current stage's time is up.
    fn force(&mut self, now: Duration, acts: &mut Vec<Act>) {
        let Some(phase) = Phase::ALL
            .into_iter()
            .find(|phase| phase.stage() == self.stage)
        else {
            return self.advance(now, acts); // grace is over; nothing to abort
        };
        if self.aborting {
            acts.push(Act::WriteOff(phase));
            return self.advance(now, acts);
        }
        self.aborting = true;
        self.outcome = match self.outcome {
            Outcome::CutShort => Outcome::CutShort,
            _ => Outcome::DeadlinePassed,
        };
        acts.push(Act::Abort(phase));
        self.force_at = Some(now + limits::REAP_DEADLINE);
    }

    fn advance(&mut self, now: Duration, acts: &mut Vec<Act>) {
        let cut_short = self.outcome == Outcome::CutShort;
        let within = |allowed| if cut_short { now } else { now + allowed };
        match self.stage {
            Stage::Running | Stage::Stopped => {}
            Stage::Grace => self.enter(Stage::Intake, self.work_by, acts),
            Stage::Intake => self.enter(Stage::Work, self.work_by, acts),
            Stage::Work => self.enter(Stage::Support, within(limits::SUPPORT_DEADLINE), acts),
            Stage::Support => self.enter(Stage::Admin, within(limits::ADMIN_DEADLINE), acts),
            Stage::Admin => {
                self.stage = Stage::Stopped;
                self.force_at = None;
                acts.push(Act::Enter(Stage::Stopped));
            }
        }
    }

    fn enter(&mut self, stage: Stage, force_at: Duration, acts: &mut Vec<Act>) {
        self.stage = stage;
        self.force_at = Some(force_at);
        self.aborting = false;
        acts.push(Act::Enter(stage));
    }
}

#[cfg(test)]
mod tests;
