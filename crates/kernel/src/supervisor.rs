//! A start, a crash, a shutdown: the life of the node's children, told from top to bottom.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde::Serialize;

use crate::Kernel;
use crate::bus::Event;
use crate::drain::{Act, Drain, Input, Outcome, Phase, Plan, Stage};
use crate::limits;
use crate::metrics::{Counter, Kind, MetricSpec};
use crate::readiness::State;
use crate::restart::Restarts;
use crate::shutdown::StagePublisher;
use crate::tasks::{Ended, TaskGroup, TaskKind};
use crate::tree::{self, Child, ChildSpec, Context, Failure, Restart, TreeError};

/// Restarts of a child.
pub static RESTARTS: MetricSpec = MetricSpec {
    name: "service_restarts_total",
    kind: Kind::Counter,
    labels: &["service"],
    help: "Times a crashed child was started again",
};

/// The task a child lives in.
pub static CHILD: TaskKind = TaskKind {
    name: "child",
    doc: "the life of one supervised child",
};

/// One child, for status pages.
#[derive(Clone, Debug, Serialize)]
pub struct ChildStatus {
    /// Its name.
    pub name: &'static str,
    /// waiting, up, backoff, ended.
    pub life: &'static str,
    /// When it is told to end.
    pub phase: Phase,
    /// Times it was started again.
    pub restarts: u64,
    /// Whether it restarts too often.
    pub crash_loop: bool,
    /// Seconds since the node's start at which it came into this life.
    pub since_s: f64,
}

/// The last published status of all children and of the drain.
pub type Board = Arc<ArcSwap<BoardState>>;

/// See [`Board`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct BoardState {
    /// running, draining, aborting or stopped.
    pub node: &'static str,
    /// Each child.
    pub children: Vec<ChildStatus>,
}

struct Slot {
    child: Child,
    life: Life,
    since: Duration,
    group: TaskGroup,
    restarts: Restarts,
    restarted: Counter,
    ever_started: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// For its dependencies.
    Waiting,
    Up,
    Backoff {
        until: Duration,
    },
    Ended,
}

struct Exit {
    index: usize,
    ended: Ended<Result<(), Failure>>,
}

/// Owns the children; the only one who starts, restarts and ends them.
pub struct Supervisor {
    kernel: Kernel,
    publisher: StagePublisher,
    slots: Vec<Slot>,
    drain: Drain,
    exits: FuturesUnordered<BoxFuture<'static, Exit>>,
}

impl Supervisor {
    /// Takes charge of `children` once they are shown to be a tree.
    pub fn new(
        kernel: Kernel,
        publisher: StagePublisher,
        children: Vec<Child>,
    ) -> Result<Self, TreeError> {
        let specs: Vec<&'static ChildSpec> = children.iter().map(|child| child.spec).collect();
        tree::check(&specs)?;
        for spec in &specs {
            let depended_on = specs
                .iter()
                .any(|other| other.depends_on.contains(&spec.name));
            kernel
                .readiness
                .declare(spec.name, spec.essential, depended_on);
        }
        let slot = |child: Child| Slot {
            life: Life::Waiting,
            since: kernel.timeline.now(),
            group: TaskGroup::new(&kernel.registry),
            restarts: Restarts::default(),
            restarted: kernel.registry.counter(&RESTARTS, &[child.spec.name]),
            ever_started: false,
            child,
        };
        let slots = children.into_iter().map(slot).collect();
        Ok(Self {
            kernel,
            publisher,
            slots,
            drain: Drain::default(),
            exits: FuturesUnordered::new(),
        })
    }

    /// Lives until everything has stopped. `plan` is asked once, when the drain begins.
    pub async fn run(mut self, plan: impl Fn() -> Plan) -> Outcome {
        let requests = self.kernel.requests.clone();
        let mut readiness = self.kernel.readiness.changes();
        let mut asked = 0;
        while self.drain.stage() != Stage::Stopped {
            self.start_what_may_start();
            self.publish_status();
            let wake = self.kernel.timeline.instant(self.next_wake());
            tokio::select! {
                Some(exit) = self.exits.next() => self.on_exit(exit),
                count = requests.beyond(asked) => {
                    for _ in asked..count {
                        self.feed(Input::Request, &plan());
                    }
                    asked = count;
                }
                _ = readiness.changed() => {}
                () = tokio::time::sleep_until(wake) => self.calm_down(),
            }
            self.feed(Input::Tick, &plan());
            self.report_empty_phases(&plan());
        }
        self.publish_status();
        self.drain.outcome()
    }

    fn start_what_may_start(&mut self) {
        if self.drain.stage() > Stage::Running {
            return;
        }
        let now = self.kernel.timeline.now();
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            let due = match slot.life {
                Life::Waiting => true,
                Life::Backoff { until } => until <= now,
                Life::Up | Life::Ended => false,
            };
            if due && self.has_what_it_needs(slot) {
                self.start(index);
            }
        }
    }

    fn has_what_it_needs(&self, slot: &Slot) -> bool {
        let met = |name: &&str| self.kernel.readiness.of(name) > State::Unready;
        slot.child.spec.depends_on.iter().all(met)
    }

    fn start(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let spec = slot.child.spec;
        if std::mem::replace(&mut slot.ever_started, true) {
            slot.restarted.inc();
        }
        slot.group = TaskGroup::new(&self.kernel.registry);
        slot.turn(Life::Up, self.kernel.timeline.now());
        let context = Context {
            spec,
            ready: self.kernel.readiness.begin(spec.name),
            tasks: slot.group.clone(),
            kernel: self.kernel.clone(),
        };
        let start = slot.child.start.clone();
        // Calling `start` inside the task puts its panics where all others are caught.
        let life = slot
            .group
            .kind(&CHILD)
            .spawn(async move { start(context).await });
        let (group, shutdown) = (slot.group.clone(), self.kernel.shutdown.clone());
        self.exits.push(Box::pin(async move {
            let ended = life.join().await;
            if !shutdown.draining() {
                group.cancel();
                if tokio::time::timeout(limits::REAP_DEADLINE, group.idle())
                    .await
                    .is_err()
                {
                    group.write_off();
                }
            }
            group.idle().await;
            Exit { index, ended }
        }));
        tracing::info!(service = spec.name, "started");
    }

    fn on_exit(&mut self, exit: Exit) {
        let now = self.kernel.timeline.now();
        let draining = self.drain.stage() > Stage::Running;
        let slot = &mut self.slots[exit.index];
        let spec = slot.child.spec;
        let (failed, reason) = match exit.ended {
            Ended::Completed(Ok(())) => (false, "ended".to_owned()),
            Ended::Completed(Err(failure)) => (true, failure.to_string()),
            Ended::Panicked(message) => (true, format!("panicked: {message}")),
            Ended::Stopped => (!draining, "was stopped".to_owned()),
        };
        if draining
            || (!failed && spec.restart != Restart::Always)
            || spec.restart == Restart::Never
        {
            slot.turn(Life::Ended, now);
            if failed {
                tracing::warn!(
                    service = spec.name,
                    reason,
                    draining,
                    "failed; it stays down"
                );
                self.kernel.bus.publish(Event::Crashed {
                    service: spec.name,
                    reason: reason.as_str().into(),
                });
            }
            match failed || draining {
                true => self.kernel.readiness.ended(spec.name, reason),
                false => self.kernel.readiness.finished(spec.name),
            }
            return;
        }
        let verdict = slot
            .restarts
            .crashed(now, now.saturating_sub(slot.since), fastrand::f64());
        slot.turn(
            Life::Backoff {
                until: now + verdict.delay,
            },
            now,
        );
        let delay_ms = verdict.delay.as_millis() as u64;
        tracing::error!(
            service = spec.name,
            reason,
            delay_ms,
            crash_loop = verdict.crash_loop,
            "crashed; restarting"
        );
        self.kernel.bus.publish(Event::Crashed {
            service: spec.name,
            reason: reason.as_str().into(),
        });
        self.kernel.readiness.ended(
            spec.name,
            format!("crashed ({reason}); restarting in {delay_ms} ms"),
        );
        self.kernel
            .readiness
            .set_crash_loop(spec.name, verdict.crash_loop);
    }

    /// A crash loop is over when its window has passed without a crash.
    fn calm_down(&mut self) {
        let now = self.kernel.timeline.now();
        for slot in &mut self.slots {
            if slot.restarts.calm_at().is_some() && !slot.restarts.crash_loop(now) {
                self.kernel
                    .readiness
                    .set_crash_loop(slot.child.spec.name, false);
            }
        }
    }

    fn feed(&mut self, input: Input, plan: &Plan) {
        for act in self.drain.on(self.kernel.timeline.now(), input, plan) {
            match act {
                Act::Enter(stage) => self.enter(stage),
                Act::Abort(phase) => self.in_phase(phase).for_each(|slot| {
                    tracing::warn!(
                        service = slot.child.spec.name,
                        tasks = slot.group.live(),
                        "aborting stragglers"
                    );
                    slot.group.abort();
                }),
                Act::WriteOff(phase) => self.in_phase(phase).for_each(|slot| {
                    let tasks = slot.group.write_off();
                    tracing::error!(
                        service = slot.child.spec.name,
                        tasks,
                        "tasks did not yield to the abort"
                    );
                }),
            }
        }
    }

    fn enter(&mut self, stage: Stage) {
        let now = self.kernel.timeline.now();
        if stage == Stage::Grace {
            // Unready before anything closes; and what is not up now never will be.
            self.kernel.readiness.set_draining();
            for slot in self.slots.iter_mut().filter(|slot| slot.life != Life::Up) {
                slot.turn(Life::Ended, now);
            }
        }
        tracing::info!(?stage, "shutdown");
        self.publisher.publish(stage);
        self.kernel.bus.publish(Event::Shutdown { stage });
    }

    fn report_empty_phases(&mut self, plan: &Plan) {
        for phase in Phase::ALL {
            if self.drain.stage() == phase.stage() && self.in_phase(phase).next().is_none() {
                self.feed(Input::Empty(phase), plan);
            }
        }
    }

    fn in_phase(&self, phase: Phase) -> impl Iterator<Item = &Slot> {
        self.slots
            .iter()
            .filter(move |slot| slot.child.spec.phase == phase && slot.life == Life::Up)
    }

    fn next_wake(&self) -> Duration {
        let hourly = self.kernel.timeline.now() + Duration::from_secs(3600);
        // Who waits for another as well is woken by that one's readiness: its own time may be long past.
        let backoffs = self.slots.iter().filter_map(|slot| match slot.life {
            Life::Backoff { until } if self.has_what_it_needs(slot) => Some(until),
            _ => None,
        });
        let calm = self.slots.iter().filter_map(|slot| slot.restarts.calm_at());
        backoffs
            .chain(calm)
            .chain(self.drain.next_at())
            .fold(hourly, Duration::min)
    }

    fn publish_status(&self) {
        let children = self.slots.iter().map(Slot::status).collect();
        self.kernel.board.store(Arc::new(BoardState {
            node: self.drain.word(),
            children,
        }));
    }
}

impl Slot {
    fn turn(&mut self, life: Life, now: Duration) {
        (self.life, self.since) = (life, now);
    }

    fn status(&self) -> ChildStatus {
        ChildStatus {
            name: self.child.spec.name,
            life: match self.life {
                Life::Waiting => "waiting",
                Life::Up => "up",
                Life::Backoff { .. } => "backoff",
                Life::Ended => "ended",
            },
            phase: self.child.spec.phase,
            restarts: self.restarted.get(),
            crash_loop: self.restarts.calm_at().is_some(),
            since_s: self.since.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests;
