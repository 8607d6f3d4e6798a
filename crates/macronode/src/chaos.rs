//! What a test may ask a node to do to itself. Only in builds with the `chaos` feature.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::FromRawFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kernel::admin::{Admin, Doing, Route};
use serde_json::{Value, json};
use svc_transport::Transport;
use tokio::sync::Notify;

/// Set, a node under amnesia lets its user look into its memory.
const OPEN_TO_SCANS: &str = "MACRONODE_CHAOS_OPEN_TO_SCANS";
/// How long the process stays after everything in it has ended, in milliseconds.
const LINGER: &str = "MACRONODE_CHAOS_LINGER_MS";

static WRITE: Route = Route::acts(
    "/chaos/write",
    "tries every way to write, in the directory `?dir=`, and says what came of each",
    anything,
);

static KILL: Route = Route::acts(
    "/chaos/transport/kill",
    "kills `?workers=` workers of the transport, in the middle of whatever they do",
    anything,
);

static DOOM: Route = Route::acts(
    "/chaos/doom",
    "kills the supervisor, and holds up a thread of the runtime for `?hold_ms=`",
    anything,
);

static DOOMED: Notify = Notify::const_new();

fn anything() -> Value {
    json!({ "type": "object" })
}

/// Whether the memory of this process may be looked into whatever its config says.
pub(crate) fn is_open_to_scans() -> bool {
    std::env::var_os(OPEN_TO_SCANS).is_some()
}

/// Stays for a while after the end, so that somebody can look at what is left.
#[expect(
    clippy::disallowed_methods,
    reason = "no runtime is left that a sleep could hold up"
)]
pub(crate) fn linger() {
    let time = std::env::var(LINGER).ok().and_then(|ms| ms.parse().ok());
    if let Some(time) = time {
        println!("closed");
        std::thread::sleep(Duration::from_millis(time));
    }
}

/// The admin server with everything that tests ask for.
pub(crate) fn with_actions(admin: Admin, transport: Option<Arc<Transport>>) -> Admin {
    let kill = move |query: String| -> Doing {
        let transport = transport.clone();
        Box::pin(async move {
            let transport = transport.ok_or("the transport of this node is off")?;
            let count = query
                .strip_prefix("workers=")
                .and_then(|count| count.parse().ok());
            let count = count.ok_or("say how many: workers=")?;
            transport.kill(count);
            Ok(json!({ "killed": count }))
        })
    };
    admin
        .with_action(&WRITE, Arc::new(write))
        .with_action(&DOOM, Arc::new(kill_supervisor))
        .with_action(&KILL, Arc::new(kill))
}

/// Panics where the supervisor lives, when told to.
pub(crate) async fn doom() -> Infallible {
    DOOMED.notified().await;
    panic!("the supervisor was killed");
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread of the runtime that is held up is what the test asks for"
)]
fn kill_supervisor(query: String) -> Doing {
    Box::pin(async move {
        let held_ms = query.strip_prefix("hold_ms=").unwrap_or("0");
        let held = held_ms.parse().map_err(|_| "how long? hold_ms=")?;
        DOOMED.notify_one();
        std::thread::sleep(Duration::from_millis(held));
        Ok(json!({}))
    })
}

fn write(query: String) -> Doing {
    Box::pin(async move {
        let dir = query.strip_prefix("dir=").ok_or("name a directory: dir=")?;
        Ok(json!(attempts(Path::new(dir))))
    })
}

/// Every way to write, and what came of it: `done`, or the system's name for why not. Wants a file `there`.
fn attempts(dir: &Path) -> BTreeMap<&'static str, String> {
    let there = dir.join("there");
    let append = || {
        OpenOptions::new()
            .append(true)
            .open(&there)?
            .write_all(b"x")
    };
    let truncate = || OpenOptions::new().write(true).truncate(true).open(&there);
    let moved = dir.join("moved");
    let there_and_back = || fs::rename(&there, &moved).and_then(|()| fs::rename(&moved, &there));
    let attempts = [
        ("create", fs::write(dir.join("new"), "x")),
        ("append", append()),
        ("truncate", truncate().map(|_| ())),
        ("mkdir", fs::create_dir(dir.join("made"))),
        (
            "symlink",
            std::os::unix::fs::symlink(&there, dir.join("symlink")),
        ),
        ("link", fs::hard_link(&there, dir.join("link"))),
        ("memory", in_memory()),
        ("rename", there_and_back()),
        ("remove", fs::remove_file(&there)),
    ];
    let said = |done: io::Result<()>| match done {
        Ok(()) => "done".to_owned(),
        Err(error) => error.kind().to_string(),
    };
    attempts.map(|(way, done)| (way, said(done))).into()
}

/// A file that Landlock does not know of.
fn in_memory() -> io::Result<()> {
    // SAFETY: the name ends with a zero byte and outlives the call.
    let file = unsafe { libc::memfd_create(c"chaos".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above made the descriptor, and nobody else has it.
    unsafe { File::from_raw_fd(file) }.write_all(b"x")
}
