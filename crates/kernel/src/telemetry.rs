//! Logs and traces that never slow what they tell of: a line goes into a bounded
//! queue, a thread of its own writes it, and what a stuck sink keeps from being written is dropped and counted.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use tracing::dispatcher::{self, Dispatch};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry, fmt, reload};

use crate::queue::{OnFull, QueueSpec};
use crate::{Kernel, limits, queue};

mod escape;
mod json;
mod level;
mod line;
mod panics;
mod stamp;
mod writer;

pub mod otlp;
pub mod trace_specs;

pub use level::{LevelError, check_level};
pub use writer::WRITE_ERRORS;

use json::Json;
use line::Lines;
use writer::Writer;

/// Lines between who logs and the thread that writes.
pub static LINES: QueueSpec = QueueSpec {
    name: "telemetry",
    capacity: limits::LOG_LINES,
    on_full: OnFull::DropOldest,
    doc: "log lines: any thread puts in, the log writer takes out",
};

/// How the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    Json,
    /// For eyes.
    Human,
}

/// What an operator chose for the log.
#[derive(Clone, Debug)]
pub struct LogSettings {
    /// How it looks.
    pub format: Format,
    /// What it holds: a level, and levels of single targets, as in `info,kernel=debug`.
    pub level: String,
}

/// A layer beside the log, such as the traces.
pub type Extra = Box<dyn Layer<Registry> + Send + Sync>;

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// The level cannot be read.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// The operating system gave no thread.
    #[error("cannot start the thread that writes the log: {0}")]
    Thread(#[from] io::Error),
    /// The process logs already.
    #[error("the log of this process has been set up before")]
    Twice,
}

/// Why the level stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum SetLevelError {
    /// It cannot be read.
    #[error(transparent)]
    Level(#[from] LevelError),
    /// Nobody logs here any more.
    #[error("the log is gone: {0}")]
    Gone(#[from] reload::Error),
}

/// The running log. Dropping it blocks nothing and loses nothing: the thread writes on as long as the process lives.
pub struct Telemetry {
    writer: Writer,
    level: reload::Handle<Targets, Registry>,
}

/// Makes this process log to stderr, panics included. `extra` layers see the same spans and events.
pub fn init(
    settings: &LogSettings,
    kernel: &Kernel,
    extra: Vec<Extra>,
) -> Result<Telemetry, InitError> {
    let ansi = io::stderr().is_terminal();
    let (dispatch, telemetry) = assemble(settings, kernel, io::stderr(), ansi, extra)?;
    dispatcher::set_global_default(dispatch).map_err(|_| InitError::Twice)?;
    panics::log_panics();
    Ok(telemetry)
}

fn assemble(
    settings: &LogSettings,
    kernel: &Kernel,
    sink: impl Write + Send + 'static,
    ansi: bool,
    extra: Vec<Extra>,
) -> Result<(Dispatch, Telemetry), InitError> {
    let (filter, level) = reload::Layer::new(level::parse(&settings.level)?);
    let (sender, receiver) = queue::bounded(&LINES, &kernel.queues);
    let writer = Writer::start(sender.clone(), receiver, settings.format, sink, kernel)?;
    let base = fmt::layer().with_writer(Lines::new(sender, settings.format));
    let shaped: Extra = match settings.format {
        Format::Json => base
            .fmt_fields(JsonFields::new())
            .event_format(Json)
            .boxed(),
        Format::Human => base
            .compact()
            .fmt_fields(escape::fields())
            .with_ansi(ansi)
            .boxed(),
    };
    let mut layers = vec![shaped.with_filter(filter).boxed()];
    layers.extend(extra);
    let dispatch = Dispatch::new(Registry::default().with(layers));
    Ok((dispatch, Telemetry { writer, level }))
}

impl Telemetry {
    /// Changes what the log holds from now on.
    pub fn set_level(&self, level: &str) -> Result<(), SetLevelError> {
        self.level.reload(level::parse(level)?)?;
        Ok(())
    }

    /// Ends the log and waits until what is queued is written, but not longer than `within`; says whether it was.
    ///
    /// Blocks its thread, so that it works when the runtime has gone: the last thing before the process exits.
    pub fn close(self, within: Duration) -> bool {
        self.writer.close(within)
    }
}

#[cfg(test)]
mod tests;
