//! Says how the node is: one line on standard output when it is ready, systemd's protocol, changes in the log.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use kernel::bus::{Event, Notice};
use kernel::drain::{Phase, Stage};
use kernel::readiness::State;
use kernel::tree::{Child, ChildSpec, Context, Failure, Restart};
use sd_notify::NotifyState;
use tokio::time::Interval;

use crate::cli::BuiltIn;
use crate::config::NodeText;
use crate::doors::Doors;
use crate::footprint;
use crate::handover::Handover;
use crate::systemd;
use crate::tree::Parts;

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
pub(crate) fn child(text: &NodeText, parts: &Parts) -> Child {
    let (doors, handover) = (&parts.doors, &parts.handover);
    let mut lines = String::from("ready");
    for (name, address) in doors.addresses() {
        write!(lines, " {name}={address}").expect("writing to a String does not fail");
    }
    let mut tries = tiles(text, parts);
    if let Some(first) = invitation(doors) {
        let admin = doors.admin.address();
        tries.extend([
            first,
            format!("curl http://{admin}/readyz"),
            format!("macronode status --admin {admin}"),
            format!("macronode drain --admin {admin}"),
        ]);
    }
    if !tries.is_empty() {
        lines.push_str("\n  try  ");
        lines.push_str(&tries.join("\n       "));
    }
    let handover = handover.clone();
    Child::new(&REPORTER, move |context| {
        report(context, lines.clone(), handover.clone())
    })
}

/// Packs that are named; of more, the list tells.
const PACKS: usize = 8;

/// Where to look at packs, for who asked for nothing else.
fn tiles(text: &NodeText, parts: &Parts) -> Vec<String> {
    let (Some(edge), Some(door)) = (&text.edge, parts.doors.edge.first()) else {
        return Vec::new();
    };
    if parts.shows != BuiltIn::Tiles {
        return Vec::new();
    }
    let base = format!("http://{}", door.address());
    let packs = edge.packs.iter().take(PACKS);
    let mut tries: Vec<_> = packs
        .map(|pack| {
            let name = &pack.name;
            format!("{base}/preview/{name}\n       {base}/tiles/{name}.json")
        })
        .collect();
    if edge.packs.len() > PACKS || !edge.pack_dirs.is_empty() {
        tries.push(format!("{base}/packs"));
    }
    tries
}

/// What to try first on the demonstration.
fn invitation(doors: &Doors) -> Option<String> {
    let (demo, admin) = (doors.demo.as_ref()?.address(), doors.admin.address());
    Some(match (&doors.origin, doors.gateway.first()) {
        (Some(_), Some(gateway)) => {
            let gateway = gateway.address();
            let map = doors.edge.first().map(|edge| edge.address());
            let map = map.map(|edge| format!("http://{edge}/preview/world\n       "));
            let overlay = doors.overlay.as_ref().map(|overlay| overlay.address());
            let overlay =
                overlay.map(|overlay| format!("curl http://{overlay}/v1/tenants\n       "));
            let frames = doors.transport.first().map(|door| door.address());
            let frames = frames.map(|door| format!("macronode oap hello {door}\n       "));
            format!(
                "{}curl -i -H 'x-tenant: gold' http://{gateway}/\n       \
                 {}{}macronode top --admin {admin}",
                map.unwrap_or_default(),
                frames.unwrap_or_default(),
                overlay.unwrap_or_else(|| format!("curl http://{admin}/gateway\n       "))
            )
        }
        _ => format!("curl -i 'http://{demo}/work?ms=20'"),
    })
}

/// How long to wait for the last inessential child before the node is announced without it.
const STRAGGLER: Duration = Duration::from_secs(1);

async fn report(context: Context, lines: String, handover: Handover) -> Result<(), Failure> {
    context.ready.ready();
    let mut events = context.kernel.bus.subscribe(REPORTER.name);
    let (mut before, mut announced) = (State::Unready, false);
    let mut watchdog = Watchdog::of_systemd();
    let patience = tokio::time::sleep(STRAGGLER);
    tokio::pin!(patience);
    loop {
        let now = context.kernel.readiness.snapshot().state;
        if now != before {
            tracing::info!(from = ?before, to = ?now, "readiness");
            before = now;
        }
        let settled = now == State::Ready || (now == State::Degraded && patience.is_elapsed());
        if settled && !announced {
            announced = true;
            footprint::forget_the_start();
            announce(&lines);
            systemd::tell(&[NotifyState::Ready, NotifyState::Status("serving")]);
            systemd::tell_predecessor();
        }
        tokio::select! {
            () = context.kernel.shutdown.reached(Stage::Grace) => break,
            notice = events.next() => if let Notice::Event(Event::ConfigUpdated { generation }) = notice {
                systemd::tell(&[NotifyState::Status(&format!("serving under config {generation}"))]);
            },
            () = &mut patience, if !announced && !patience.is_elapsed() => {}
            never = watchdog.appease() => match never {},
        }
    }
    // With a successor the service goes on, and only this process ends.
    if !handover.is_done() {
        systemd::tell(&[NotifyState::Stopping, NotifyState::Status("draining")]);
    }
    tokio::select! {
        () = context.told_to_end() => Ok(()),
        never = watchdog.appease() => match never {},
    }
}

/// For scripts and people: which doors are open, and where.
fn announce(lines: &str) {
    let mut out = std::io::stdout().lock();
    let _nobody_reads = writeln!(out, "{lines}").and_then(|()| out.flush()).is_err();
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
            systemd::tell(&[NotifyState::Watchdog]);
        }
    }
}
