//! `run`: from the command line to a running node and, at its end, to an exit code.

use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use kernel::Kernel;
use kernel::config::{Prepare, ReloadRequests};
use kernel::drain::Outcome;
use kernel::metrics::Registry;
use kernel::shutdown::ShutdownRequests;
use kernel::signals::{self, Asked, Held, Signals};
use kernel::tasks;
use kernel::telemetry::{self, Telemetry};
use kernel::tree::Child;
use kernel::watchdog::Alive;
use strict_config::Loaded;

use crate::amnesia::{self, Lack};
#[cfg(feature = "chaos")]
use crate::chaos::doom;
use crate::cli::{ConfigArgs, RunArgs};
use crate::compose::{Composed, Material, compose};
use crate::config::{NodeText, RuntimeKind, Settings, load_config, source};
use crate::demo;
use crate::doors::Doors;
use crate::exit::Exit;
use crate::files::FileLimits;
use crate::handover::Handover;

/// How long the last log lines may take to be written.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// Runs a node until it has stopped.
pub(crate) fn run(args: &RunArgs) -> Exit {
    // Before anything that takes time: to be told to reload or to hand over is no reason to end.
    if let Err(error) = signals::hold_requests() {
        return cannot_start(format_args!("cannot hold signals: {error}"));
    }
    let args = args.config();
    let loaded = match load_config(&args) {
        Ok(loaded) => loaded,
        Err(mistakes) => {
            eprintln!("{mistakes}");
            return Exit::Config;
        }
    };
    // Before any thread: taking over inherited sockets changes the environment.
    let doors = match Doors::open(&loaded.text) {
        Ok(doors) => doors,
        Err(error) => return cannot_start(format_args!("{error}")),
    };
    // Before it is forbidden: a file in memory is a file.
    let world = match demo::world::World::of(loaded.text.edge.as_ref()) {
        Ok(world) => world,
        Err(error) => return cannot_start(format_args!("no file in memory can be had: {error}")),
    };
    // Before any thread: afterwards the system makes room while everyone waits.
    let raised = FileLimits::read().and_then(FileLimits::raise);
    let roomy = FileLimits::read().and_then(FileLimits::make_room);
    // Before any thread: what one promises holds for those it starts.
    let lacks = match amnesia::begin(&loaded.text) {
        Ok(lacks) => lacks,
        Err(lacks) => return cannot_start(format_args!("{lacks}")),
    };
    // Before any thread, which would take a signal that nobody hears yet.
    let held = match Held::hold() {
        Ok(held) => held,
        Err(error) => return cannot_start(format_args!("cannot hold signals: {error}")),
    };
    let runtime = match runtime(&loaded.text) {
        Ok(runtime) => runtime,
        Err(error) => return cannot_start(format_args!("cannot start the runtime: {error}")),
    };
    let (kernel, publisher) = Kernel::new();
    let (_watch, alive) = match kernel.watchdog.watch(end_at_once) {
        Ok(watch) => watch,
        Err(error) => return cannot_start(format_args!("cannot start the watchdog: {error}")),
    };
    let (extra, exporters) = traces(&loaded.text, &kernel);
    let log = loaded.text.log.settings(std::io::stderr().is_terminal());
    let telemetry = match telemetry::init(&log, &kernel, extra) {
        Ok(telemetry) => Arc::new(telemetry),
        Err(error) => return cannot_start(format_args!("cannot start the log: {error}")),
    };
    if let Err(error) = raised {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    if let Err(error) = roomy {
        tracing::warn!(%error, "room for many connections is made when they come");
    }
    for Lack { what, why, .. } in lacks {
        tracing::warn!(what, why, "amnesia is not wholly enforced");
    }
    let material = Material {
        kernel,
        publisher,
        doors,
        world,
        exporters,
        level: of_log(&telemetry),
    };
    let node = live(&args, loaded, material, alive, held);
    let lived = catch_unwind(AssertUnwindSafe(|| runtime.block_on(node)));
    // Whatever still blocks a thread has had its time.
    runtime.shutdown_timeout(Duration::from_millis(100));
    // Other threads forget by ending. This one may have served too, and what it read may be secret.
    front_door::forget_spare_buffers();
    // After everything else, so that even a panic of the supervisor is told.
    if let Some(telemetry) = Arc::into_inner(telemetry) {
        telemetry.close(LAST_WORDS);
    }
    #[cfg(feature = "chaos")]
    crate::chaos::linger();
    lived.unwrap_or(Exit::Internal)
}

/// The supervisor is gone, and what should have followed it is stuck: nothing of this process is to be waited for.
fn end_at_once() {
    // SAFETY: ends the process without calling anything of it.
    unsafe { libc::_exit(Exit::Internal.code().into()) };
}

fn cannot_start(why: std::fmt::Arguments<'_>) -> Exit {
    eprintln!("error: {why}");
    Exit::Start
}

fn runtime(text: &NodeText) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = match text.runtime.kind {
        RuntimeKind::Single => tokio::runtime::Builder::new_current_thread(),
        RuntimeKind::Multi => tokio::runtime::Builder::new_multi_thread(),
    };
    if text.runtime.kind == RuntimeKind::Multi && text.runtime.threads > 0 {
        builder.worker_threads(text.runtime.threads);
    }
    builder
        .max_blocking_threads(kernel::limits::BLOCKING_THREADS + 2)
        .enable_all()
        .build()
}

async fn live(
    args: &ConfigArgs,
    loaded: Loaded<NodeText>,
    material: Material,
    _alive: Alive,
    held: Held,
) -> Exit {
    // Before anything else: from here on a signal is a request, not an end.
    let signals = match Signals::listen(held) {
        Ok(signals) => signals,
        Err(error) => return cannot_start(format_args!("cannot listen to signals: {error}")),
    };
    let kernel = material.kernel.clone();
    let runtime = loaded.text.runtime.kind;
    let from = (source(args), args.sets.clone(), args.built_in);
    let composed = match compose(from, loaded, material) {
        Ok(composed) => composed,
        Err(error) => return cannot_start(format_args!("{error}")),
    };
    let Composed {
        supervisor,
        live,
        reload,
        handover,
    } = composed;
    tracing::info!(version = crate::VERSION, ?runtime, "macronode starts");
    let succeeded = handover.clone();
    let drain = || match succeeded.is_done() {
        true => live.load().handed_over,
        false => live.load().drain,
    };
    let outcome = tokio::select! {
        outcome = supervisor.run(drain) => outcome,
        never = pass_on(signals, kernel.requests.clone(), reload, handover) => match never {},
        never = kernel.watchdog.heartbeat() => match never {},
        never = doom() => match never {},
    };
    tell_tasks(&kernel.registry);
    tracing::info!(?outcome, "macronode has stopped");
    match outcome {
        Outcome::CutShort => Exit::CutShort,
        Outcome::Drained | Outcome::DeadlinePassed => Exit::Ok,
    }
}

/// The books of all tasks, for who asks afterwards whether anything was cut off or left behind.
fn tell_tasks(registry: &Registry) {
    for entries in tasks::ledger(registry) {
        let tasks::Entries {
            kind,
            spawned,
            completed,
            canceled,
            aborted,
        } = entries;
        tracing::info!(kind, spawned, completed, canceled, aborted, "tasks");
    }
}

/// Hands signals to who acts on them, to the very end: the second one must always be heard.
async fn pass_on(
    mut signals: Signals,
    shutdown: ShutdownRequests,
    reload: ReloadRequests,
    handover: Handover,
) -> std::convert::Infallible {
    let mut handing = None;
    loop {
        tokio::select! {
            asked = signals.next() => match asked {
                Asked::Shutdown => shutdown.request(),
                Asked::Reload => reload.request(),
                Asked::HandOver if handover.is_done() || handing.is_some() => {}
                Asked::HandOver if shutdown.count() > 0 => {
                    tracing::warn!("no successor is started: this process drains already");
                }
                Asked::HandOver => handing = Some(Box::pin(handover.hand_over())),
            },
            handed = async { handing.as_mut().expect("guarded").await }, if handing.is_some() => {
                handing = None;
                match handed {
                    Ok(successor) => {
                        tracing::info!(successor, "handed over; this process drains");
                        shutdown.begin();
                    }
                    Err(error) => tracing::error!(%error, "no successor could take over; this process goes on"),
                }
            }
            // Who asks for the end means the service, not only this process of it.
            _ = shutdown.beyond(0), if handing.is_some() => {
                handing = None;
                tracing::warn!("the successor is given up: this process was told to end");
            }
        }
    }
}

/// What a reload does to the log.
fn of_log(telemetry: &Arc<Telemetry>) -> Prepare<Settings> {
    let telemetry = Arc::downgrade(telemetry);
    Arc::new(move |settings| {
        let (telemetry, level) = (telemetry.clone(), settings.log_level.clone());
        Ok(Box::new(move || {
            let set = telemetry.upgrade().map(|log| log.set_level(&level));
            if let Some(Err(error)) = set {
                tracing::error!(%error, "the log keeps its level");
            }
        }))
    })
}

/// Nothing kills the supervisor on purpose.
#[cfg(not(feature = "chaos"))]
async fn doom() -> std::convert::Infallible {
    std::future::pending().await
}

/// What records spans, and what sends them, where that is asked for.
fn traces(text: &NodeText, kernel: &Kernel) -> (Vec<telemetry::Extra>, Vec<Child>) {
    use kernel::telemetry::otlp::{Endpoint, TraceSettings, traces};
    let Some(wanted) = &text.traces else {
        return Default::default();
    };
    let endpoint = Endpoint::parse(&wanted.endpoint).expect("checked when the config was loaded");
    let settings = TraceSettings {
        endpoint,
        service: "macronode".to_owned(),
        ratio: wanted.ratio,
    };
    let (layer, child) = traces(settings, kernel);
    (vec![layer], vec![child])
}
