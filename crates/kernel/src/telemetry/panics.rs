//! Panics go the way of all log lines: the standard hook writes to stderr from the panicking thread, and would
//! block it there when nobody reads.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tracing::dispatcher::{self, Dispatch};

use crate::tasks::panic_message;

/// Whether a backtrace is being read. One at a time: where all panic, the first says enough.
static READING: AtomicBool = AtomicBool::new(false);

pub(super) fn log_panics() {
    panic::set_hook(Box::new(|info| log(info, Backtrace::capture())));
}

/// Says what happened and where, at once; a backtrace, where one is wanted, follows in a line of its own.
pub(super) fn log(info: &PanicHookInfo<'_>, backtrace: Backtrace) {
    let thread = thread::current();
    let location = info.location().map(ToString::to_string);
    tracing::error!(
        target: "panic",
        thread = thread.name().unwrap_or("unnamed"),
        location,
        "{}",
        panic_message(info.payload())
    );
    if backtrace.status() == BacktraceStatus::Captured {
        read(backtrace, location);
    }
}

/// To name its frames takes the symbols of the whole program, which is half a second that no worker has.
fn read(backtrace: Backtrace, location: Option<String>) {
    if READING.swap(true, Ordering::AcqRel) {
        return;
    }
    let log = dispatcher::get_default(Dispatch::clone);
    let reader = thread::Builder::new().name("backtrace".to_owned());
    let started = reader.spawn(move || {
        dispatcher::with_default(&log, || {
            tracing::error!(target: "panic", location, %backtrace, "the way to a panic");
        });
        READING.store(false, Ordering::Release);
    });
    if started.is_err() {
        READING.store(false, Ordering::Release);
    }
}
