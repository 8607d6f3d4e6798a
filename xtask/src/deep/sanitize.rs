//! The nightly instruments: Miri on code without a runtime, ThreadSanitizer on code with threads.

use super::nightly_lacks;
use crate::shell::Invocation;
use crate::steps::Done;
use crate::suite::counted;
use crate::tally::Tally;
use crate::workspace;

/// Miri interprets: a property needs few cases there, a simulation one seed, and the files of a test must be real.
const FEW_CASES: &str = "8";
const ONE_SEED: &str = "1";

/// What is interpreted: all that is unsafe, by the tests that go through it with few steps, and cores that only decide.
/// What takes thousands of steps takes Miri hours.
const INTERPRETED: &[(&str, &[&str])] = &[
    ("bounded-ring", &["--lib"]),
    (
        "concurrency-gate",
        &[
            "--test",
            "flaws",
            "--",
            "--skip",
            "never_opens_on_the_gates_own",
        ],
    ),
    (
        "concurrency-gate",
        &[
            "--lib",
            "--",
            "line::",
            "breaker::",
            "table::overflow",
            "notice::tests::a_",
        ],
    ),
    ("fair-queue", &["--lib", "--", "shell::", "--skip", "sims"]),
    ("rate-quota", &["--lib", "--", "rate::"]),
    (
        "strict-config",
        &[
            "--lib",
            "--",
            "mistake::",
            "nearest::",
            "place::",
            "secret::",
        ],
    ),
    (
        "kernel",
        &["--lib", "--", "backoff::", "drain::", "restart::"],
    ),
];

const TARGET: &str = "x86_64-unknown-linux-gnu";

pub(super) fn miri(tally: &mut Tally) -> Result<Done, String> {
    if let Some(absent) = nightly_lacks(
        &["miri", "--version"],
        "rustup +nightly component add miri rust-src",
    ) {
        return Ok(absent);
    }
    INTERPRETED
        .iter()
        .try_fold(Done::Passed, |_, (package, words)| {
            counted(&under_miri(package, words), tally)
        })
}

fn under_miri(package: &str, words: &[&str]) -> Invocation {
    Invocation::nightly(&["miri", "test", "--target-dir"])
        .args([directory("miri").as_str(), "--package", package])
        .args(words.iter().copied())
        .env("MIRIFLAGS", "-Zmiri-disable-isolation")
        .env("PROPTEST_CASES", FEW_CASES)
        .env("MACRONODE_SEED", ONE_SEED)
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
    // Its bound is one of code that nobody watches.
    .args(["--", "--skip", "a_stuck_sink_slows_nobody"])
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
