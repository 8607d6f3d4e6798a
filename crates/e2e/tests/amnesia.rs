//! Amnesia from outside, by three detectors that each show first that they would see a violation: what the node asks
//! to be written, what the kernel refuses, and what is left in its memory when everything in it has ended.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::time::Duration;

use e2e::command::{macronode, ran};
use e2e::edge::{Edge, config as edge_config, home};
use e2e::gateway::PATIENCE;
use e2e::packfile::PackFile;
use e2e::{START, binary, runtime};
use forgetful::{Forgetful, TOKEN};
use serde_json::Value;
use testkit::http;
use testkit::process::{Line, Process, Program, Spy};
use testkit::upstream::{Reply, Upstream};

#[path = "amnesia/forgetful.rs"]
mod forgetful;

fn program(text: &str) -> Program {
    let program = Program::new(binary()).unwrap();
    let program = program.args(["run", "--runtime", &runtime()]);
    let quiet = ["admin.listen=127.0.0.1:0", "log.format=json"];
    let program = quiet
        .iter()
        .fold(program, |program, set| program.arg("--set").arg(set));
    program.config(text).unwrap()
}

async fn started(program: Program) -> Process {
    let process = program.start().unwrap();
    process.wait_ready(START).await.unwrap();
    process
}

async fn status(process: &Process) -> Value {
    let admin = process.addr("admin", START).await.unwrap();
    serde_json::from_str(&http::get(admin, "/status").await.unwrap().text()).unwrap()
}

/// A pack of each kind.
fn packs() -> tempfile::TempDir {
    let packs = home();
    let (one, other) = (
        packs.path().join("one.pmtiles"),
        packs.path().join("other.mbtiles"),
    );
    let pack = PackFile::vectors(1).metadata("{\"vector_layers\":[]}");
    std::fs::write(&one, pack.tile(0, 0, 0, b"tile").bytes()).unwrap();
    let mut convert = macronode(["pack", "convert"]);
    let converted = ran(convert.arg(&one).arg(&other));
    assert_eq!(converted.code, Some(0), "{}", converted.printed());
    packs
}

/// An edge that keeps what it fetches, on a disk or in memory.
async fn spied(amnesia: bool) -> Vec<testkit::process::Attempt> {
    let origin = Upstream::start().await.unwrap();
    let fresh = Reply::status(200).header("cache-control", "max-age=600");
    origin.set_default(fresh.body(vec![b'x'; 200_000]));
    let (packs, store) = (packs(), home());
    let keep = match amnesia {
        true => String::new(),
        false => format!("[edge.store]\ndir = {:?}\n", store.path()),
    };
    let section = format!(
        "{keep}[[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"http://{}\"\n\
         private_networks = [\"127.0.0.0/8\"]\n",
        origin.addr()
    );
    let text = format!(
        "amnesia = {amnesia}\n{}",
        edge_config(packs.path(), &section)
    );
    let (program, spy) = Spy::on(program(&text)).unwrap();
    let edge = Edge::of(program, packs).await;
    for round in 0..2 {
        for number in 0..20 {
            let answer = edge.get(&format!("/o/{number}")).await;
            assert_eq!((answer.status, answer.body.len()), (200, 200_000));
            let said = answer.header("cache-status").unwrap_or_default();
            assert_eq!(said.contains("; hit"), round == 1, "{said}");
        }
    }
    for pack in ["one", "other"] {
        let tile = edge.get(&format!("/tiles/{pack}/0/0/0")).await;
        assert_eq!((tile.status, &tile.body[..]), (200, &b"tile"[..]), "{pack}");
    }
    // A reload reads everything anew.
    edge.process.signal(libc::SIGHUP).unwrap();
    edge.end().await;
    spy.seen()
}

// req: ND-05, AC-10, ED-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_forgets_asks_for_nothing_to_be_written() {
    if !kernel_can() {
        return;
    }
    let (forgets, keeps) = (spied(true).await, spied(false).await);
    println!(
        "calls that would write: {} under amnesia, {} with a store on a disk",
        forgets.len(),
        keeps.len()
    );
    assert_eq!(forgets, []);
    assert!(keeps.len() > 20, "the spy sees what is written: {keeps:?}");
}

/// Whether this kernel can forbid every way to write. One that cannot has nothing to show, and a line says so.
fn kernel_can() -> bool {
    const VERSION: u32 = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: asked for its version the call takes no memory and makes no descriptor.
    let interface =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    if interface < 3 {
        eprintln!("NOT RUN: this kernel has no Landlock that forbids every way to write");
    }
    interface >= 3
}

/// What came of every way to write, in a directory in which everything may be written.
async fn tried(process: &Process) -> Vec<(String, String)> {
    let admin = process.addr("admin", START).await.unwrap();
    let dir = home();
    std::fs::write(dir.path().join("there"), "kept").unwrap();
    let path = format!("/chaos/write?dir={}", dir.path().display());
    let token = format!("Bearer {TOKEN}");
    let fields = [("authorization", token.as_str()), ("connection", "close")];
    let asked = http::request_bytes("POST", admin, &path, &fields, b"");
    let answer = http::exchange(admin, &asked, PATIENCE).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let tried: Value = serde_json::from_str(&answer.text()).unwrap();
    let mut names = std::fs::read_dir(dir.path()).unwrap();
    let untouched = names.all(|name| name.unwrap().file_name() == "there");
    let kept = std::fs::read_to_string(dir.path().join("there"));
    let denied = tried["create"] != "done";
    assert_eq!(denied, untouched && kept.is_ok_and(|text| text == "kept"));
    let ways = tried.as_object().unwrap().iter();
    ways.map(|(way, came)| (way.clone(), came.as_str().unwrap().to_owned()))
        .collect()
}

fn with_token(amnesia: bool) -> String {
    format!("amnesia = {amnesia}\n[admin]\ntoken = \"{TOKEN}\"\n")
}

// req: ND-05, AC-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_kernel_refuses_every_way_to_write() {
    if !kernel_can() {
        return;
    }
    let forgets = started(program(&with_token(true))).await;
    let refused = tried(&forgets).await;
    for (way, came) in &refused {
        let expected = match way.as_str() {
            // Landlock knows files by their paths; this one has none, and is held by the limit of file sizes.
            "memory" => "file too large",
            _ => "permission denied",
        };
        assert_eq!(came, expected, "{way}");
    }
    let keeps = started(program(&with_token(false))).await;
    let done = tried(&keeps).await;
    assert!(done.iter().all(|(_, came)| came == "done"), "{done:?}");
    println!(
        "ways to write refused by the kernel: {} of {} under amnesia, 0 of {} without",
        refused.len(),
        refused.len(),
        done.len()
    );
    let facts = &status(&forgets).await["amnesia"];
    let expected = serde_json::json!({
        "on": true, "landlock_interface": facts["landlock_interface"], "writing_forbidden": true,
        "file_size_limit": 0, "core_limit": 0, "dumpable": false, "freed_memory_wiped": true,
    });
    assert_eq!(*facts, expected);
    assert_eq!(status(&keeps).await["amnesia"]["on"], false);
}

// req: ND-05, ND-06, AC-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_secret_or_cached_is_left_in_memory_when_all_has_ended() {
    if !kernel_can() {
        return;
    }
    for amnesia in [true, false] {
        let node = Forgetful::start(amnesia).await;
        node.fill().await;
        let before = node.scan();
        node.close().await;
        let after = node.scan();
        for ((what, before), (_, after)) in before.iter().zip(&after) {
            println!(
                "amnesia {amnesia:5}  {what:28} {before:6} in memory, {after:6} after the end"
            );
        }
        // What a key or a request was read from may be gone as soon as it has been read.
        let lives = |what: &str| !what.ends_with("as read");
        let missing = before
            .iter()
            .find(|(what, count)| lives(what) && *count == 0);
        assert_eq!(missing, None, "the scan finds what is there");
        let left: usize = after.iter().map(|(_, count)| count).sum();
        match amnesia {
            true => assert_eq!(left, 0, "{after:?}"),
            false => assert!(left > 0, "the scan finds what is left behind: {after:?}"),
        }
    }
}

// req: ND-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successor_can_be_started_and_forgets_as_well() {
    if !kernel_can() {
        return;
    }
    let process = started(program(&with_token(true))).await;
    process.signal(libc::SIGUSR2).unwrap();
    let told = |line: &Line| line.text.contains("handed over; this process drains");
    let line = process.wait_for_line(told, START).await.unwrap();
    let line: Value = serde_json::from_str(&line.text).unwrap();
    assert!(process.wait_exit(PATIENCE).await.unwrap().success());
    // The process that was started is gone; who answers at its door is the successor, in the same group.
    let successor = i32::try_from(line["successor"].as_i64().unwrap()).unwrap();
    let ended = Ended(successor);
    assert_eq!(status(&process).await["pid"], successor);
    let refused = tried(&process).await;
    assert!(
        refused.iter().all(|(_, came)| came != "done"),
        "{refused:?}"
    );
    assert_eq!(status(&process).await["amnesia"]["writing_forbidden"], true);
    drop(ended);
}

/// Ends a process that this test did not start itself.
struct Ended(i32);

impl Drop for Ended {
    fn drop(&mut self) {
        // SAFETY: a plain system call; the successor runs until this test ends it.
        unsafe { libc::kill(self.0, libc::SIGTERM) };
    }
}

// req: ND-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_enforced_is_refused_unless_less_is_asked_for() {
    const START_FAILED: i32 = 4;
    let strict = program(&with_token(true)).without_landlock();
    let process = strict.start().unwrap();
    let ended = process.wait_exit(START).await.unwrap();
    assert_eq!(ended.code(), Some(START_FAILED));
    for part in [
        "landlock: not built into this kernel",
        "remedy:",
        "best-effort",
    ] {
        // Its last words may be read after its end is known.
        let told = |line: &Line| line.text.contains(part);
        let said = process.wait_for_line(told, PATIENCE).await;
        said.unwrap_or_else(|error| panic!("{part}: {error}"));
    }
    let less = format!(
        "amnesia_enforcement = \"best-effort\"\n{}",
        with_token(true)
    );
    let process = started(program(&less).without_landlock()).await;
    let told = |line: &Line| line.text.contains("amnesia is not wholly enforced");
    let line = process.wait_for_line(told, PATIENCE).await.unwrap();
    assert!(line.text.contains("landlock"), "{}", line.text);
    let facts = status(&process).await;
    assert_eq!(facts["amnesia"]["writing_forbidden"], false);
    assert_eq!(facts["amnesia"]["file_size_limit"], 0);
}

// req: ND-05
#[test]
fn a_log_that_goes_to_a_file_is_refused() {
    let dir = home();
    let (config, log) = (dir.path().join("node.toml"), dir.path().join("log"));
    std::fs::write(&config, with_token(true)).unwrap();
    // The shell gives the node what it is to write to.
    let run = "exec \"$0\" run --config \"$1\" --set admin.listen=127.0.0.1:0 2> \"$2\"";
    let mut command = std::process::Command::new("/bin/sh");
    command.arg("-c").arg(run).arg(binary());
    let said = ran(command.arg(&config).arg(&log));
    assert_eq!(said.code, Some(4));
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains("standard error: goes to a file"), "{said}");
}

// req: ND-05
#[test]
fn the_doctor_says_whether_it_can_be_enforced() {
    let dir = home();
    let config = dir.path().join("node.toml");
    std::fs::write(&config, with_token(true)).unwrap();
    let said = ran(&mut macronode([
        "doctor",
        "--config",
        config.to_str().unwrap(),
    ]))
    .stdout;
    assert!(said.contains("amnesia can"), "{said}");
    assert!(said.contains("swap"), "{said}");
}

/// How long a node may take to be over.
pub(crate) const END: Duration = Duration::from_secs(20);
