//! Says how the node is: one line on standard output when it is ready, systemd's protocol, changes in the log.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Write as _;

use kernel::bus::{Event, Notice};
use kernel::drain::{Phase, Stage};
use kernel::readiness::State;
use kernel::tree::{Child, ChildSpec, Context, Failure, Restart};
use sd_notify::NotifyState;
use tokio::time::Interval;

use crate::doors::Doors;

/// The reporter.
pub(crate) static REPORTER: ChildSpec = ChildSpec {
    name: "reporter",
    doc: "tells systemd, standard output and the log how the node is",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::Always,
    essential: false,
};

/// The reporter of a node with these doors.
pub(crate) fn child(doors: &Doors) -> Child {
    let mut line = String::from("ready");
    for (name, address) in doors.addresses() {
        write!(line, " {name}={address}").expect("writing to a String does not fail");
    }
    Child::new(&REPORTER, move |context| report(context, line.clone()))
}

async fn report(context: Context, line: String) -> Result<(), Failure> {
    context.ready.ready();
    let mut events = context.kernel.bus.subscribe(REPORTER.name);
    let (mut before, mut announced) = (State::Unready, false);
    let mut watchdog = Watchdog::of_systemd();
    loop {
        let now = context.kernel.readiness.snapshot().state;
        if now != before {
            tracing::info!(from = ?before, to = ?now, "readiness");
            before = now;
        }
        if now > State::Unready && !announced {
            announced = true;
            announce(&line);
            tell_systemd(&[NotifyState::Ready, NotifyState::Status("serving")]);
        }
        tokio::select! {
            () = context.kernel.shutdown.reached(Stage::Grace) => break,
            notice = events.next() => if let Notice::Event(Event::ConfigUpdated { generation }) = notice {
                tell_systemd(&[NotifyState::Status(&format!("serving under config {generation}"))]);
            },
            never = watchdog.appease() => match never {},
        }
    }
    tell_systemd(&[NotifyState::Stopping, NotifyState::Status("draining")]);
    tokio::select! {
        () = context.told_to_end() => Ok(()),
        never = watchdog.appease() => match never {},
    }
}

/// For scripts and people: which doors are open, and where.
fn announce(line: &str) {
    let mut out = std::io::stdout().lock();
    let _nobody_reads = writeln!(out, "{line}").and_then(|()| out.flush()).is_err();
}

fn tell_systemd(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd did not take the notification");
    }
}

/// Systemd's watchdog, which wants to hear from the node at fixed times, whatever else happens.
struct Watchdog(Option<Interval>);

impl Watchdog {
    fn of_systemd() -> Self {
        // Half of what systemd asks for, so that one late ping does no harm.
        let half = sd_notify::watchdog_enabled().map(|interval| interval / 2);
        Self(
            half.filter(|half| !half.is_zero())
                .map(tokio::time::interval),
        )
    }

    /// Pings for as long as it is polled. Cancel-safe: the next call goes on where this one was.
    async fn appease(&mut self) -> Infallible {
        let Some(due) = &mut self.0 else {
            return std::future::pending().await;
        };
        loop {
            due.tick().await;
            tell_systemd(&[NotifyState::Watchdog]);
        }
    }
}
