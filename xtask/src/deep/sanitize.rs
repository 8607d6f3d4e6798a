//! The nightly instruments: Miri on code without a runtime, ThreadSanitizer on code with threads.

use super::nightly_lacks;
use crate::shell::Invocation;
use crate::steps::Done;
use crate::suite::counted;
use crate::tally::Tally;
use crate::workspace;

/// Miri interprets: a property needs few cases there, and the files of a test must be real.
const FEW_CASES: &str = "8";

/// The modules that index into text; what goes through a whole schema takes Miri minutes a test.
const CONFIG_CORES: &[&str] = &["mistake::", "nearest::", "place::", "secret::"];

/// The modules of the kernel that take `now` and return decisions.
const KERNEL_CORES: &[&str] = &["backoff::", "drain::", "restart::"];

/// The modules of the gate that own memory or index into it; long simulations take Miri hours.
const GATE_PARTS: &[&str] = &["line::", "breaker::", "report::", "table::", "notice::"];

const TARGET: &str = "x86_64-unknown-linux-gnu";

pub(super) fn miri(tally: &mut Tally) -> Result<Done, String> {
    if let Some(absent) = nightly_lacks(
        &["miri", "--version"],
        "rustup +nightly component add miri rust-src",
    ) {
        return Ok(absent);
    }
    counted(&under_miri("bounded-ring", &[]), tally)?;
    counted(&under_miri("concurrency-gate", GATE_PARTS), tally)?;
    counted(&under_miri("fair-queue", &[]), tally)?;
    counted(&under_miri("rate-quota", &[]), tally)?;
    counted(&under_miri("strict-config", CONFIG_CORES), tally)?;
    counted(&under_miri("kernel", KERNEL_CORES), tally)
}

fn under_miri(package: &str, modules: &[&str]) -> Invocation {
    Invocation::nightly(&["miri", "test", "--target-dir"])
        .args([
            directory("miri").as_str(),
            "--package",
            package,
            "--lib",
            "--",
        ])
        .args(modules.iter().copied())
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("PROPTEST_CASES", FEW_CASES)
}

pub(super) fn threads(tally: &mut Tally) -> Result<Done, String> {
    let sources =
        Invocation::new("rustup", &["run", "nightly", "rustc", "--print", "sysroot"]).probe();
    let std_sources =
        sources.map(|root| std::path::PathBuf::from(root).join("lib/rustlib/src/rust/library/std"));
    if !std_sources.is_some_and(|path| path.exists()) {
        let why =
            "it needs std built anew; `rustup +nightly component add rust-src` brings the sources";
        return Ok(Done::NotHere(why.to_owned()));
    }
    if !cfg!(all(
        target_arch = "x86_64",
        target_os = "linux",
        target_env = "gnu"
    )) {
        return Ok(Done::NotHere(format!("it is set up for {TARGET} only")));
    }
    let tests = Invocation::nightly(&[
        "test",
        "-Zbuild-std",
        "--target",
        TARGET,
        "--lib",
        "--tests",
    ])
    .args([
        "--package",
        "bounded-ring",
        "--package",
        "concurrency-gate",
        "--package",
        "fair-queue",
        "--package",
        "rate-quota",
        "--package",
        "kernel",
        "--target-dir",
    ])
    .args([directory("tsan")])
    .env("RUSTFLAGS", "-Zsanitizer=thread")
    .env("TSAN_OPTIONS", "halt_on_error=1");
    counted(&tests, tally)
}

fn directory(name: &str) -> String {
    workspace::target()
        .join(name)
        .to_string_lossy()
        .into_owned()
}
