//! Panics go the way of all log lines: the standard hook writes to stderr from the panicking thread, and would
//! block it there when nobody reads.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};

use crate::tasks::panic_message;

pub(super) fn log_panics() {
    panic::set_hook(Box::new(log));
}

fn log(info: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let backtrace = Backtrace::capture();
    let captured = backtrace.status() == BacktraceStatus::Captured;
    tracing::error!(
        target: "panic",
        thread = thread.name().unwrap_or("unnamed"),
        location = info.location().map(tracing::field::display),
        backtrace = captured.then(|| tracing::field::display(&backtrace)),
        "{}",
        panic_message(info.payload())
    );
}
