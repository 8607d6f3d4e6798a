//! `macronode top` on a terminal: as large as that is, and gone from it at the end.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::process::{Child, Stdio};

use e2e::command::macronode;
use e2e::gateway::Gateway;

const ENTERS: &str = "\u{1b}[?1049h";
const LEAVES: &str = "\u{1b}[?1049l";
/// Where a look begins.
const HOME: &str = "\u{1b}[H";

/// Who sits at a terminal of 80 columns and 24 lines, and the terminal.
fn terminal() -> (File, OwnedFd) {
    let (mut outer, mut inner) = (0, 0);
    let none = std::ptr::null_mut();
    let size = libc::winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: openpty(3) writes two descriptors, to which the pointers are valid, and reads the size.
    let opened =
        unsafe { libc::openpty(&mut outer, &mut inner, none, none.cast(), &raw const size) };
    assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the descriptors were just made and nobody else has them.
    unsafe { (File::from_raw_fd(outer), OwnedFd::from_raw_fd(inner)) }
}

/// What is written to a terminal until this many looks have begun; or, once nobody has it open, to its end.
fn seen(terminal: &mut File, looks: usize) -> String {
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&seen).into_owned();
        if text.matches(HOME).count() >= looks {
            return text;
        }
        let mut here = libc::pollfd {
            fd: terminal.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: poll(2) reads and writes the one entry that it is given.
        let ready = unsafe { libc::poll(&raw mut here, 1, 20_000) };
        assert_eq!(ready, 1, "nothing more is shown: {text}");
        match terminal.read(&mut piece) {
            Ok(read) if read > 0 => seen.extend_from_slice(&piece[..read]),
            _ => return text,
        }
    }
}

fn started(gateway: &Gateway, stdin: Stdio, terminal: OwnedFd) -> Child {
    let mut command = macronode(["top", "--admin", &gateway.admin.to_string()]);
    command.stdin(stdin).stdout(terminal).stderr(Stdio::null());
    command.spawn().unwrap()
}

async fn gateway_of_many_routes() -> Gateway {
    let routes: String = (0..60)
        .map(|n| format!("[[gateway.routes]]\npath = \"/{n}\"\nupstream = \"main\"\n"))
        .collect();
    let upstream = "[gateway.upstreams.main]\nendpoints = [\"http://127.0.0.1:9\"]\n";
    Gateway::start(&format!("{routes}{upstream}")).await
}

// req: FQ-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_shows_what_fits_and_is_as_before_once_q_is_pressed() {
    let gateway = gateway_of_many_routes().await;
    let (mut person, terminal) = terminal();
    let keyboard = terminal.try_clone().unwrap().into();
    let mut top = started(&gateway, keyboard, terminal);
    let shown = seen(&mut person, 3);
    assert!(shown.starts_with(ENTERS), "{shown:?}");
    for look in shown.split(HOME).skip(1) {
        assert!(look.lines().count() <= 24, "{look}");
    }
    assert!(shown.contains(" more"), "{shown}");
    person.write_all(b"q").unwrap();
    let rest = seen(&mut person, usize::MAX);
    assert!(rest.ends_with(LEAVES), "{rest:?}");
    assert_eq!(top.wait().unwrap().code(), Some(0));
}

// req: FQ-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_told_to_end_leaves_the_terminal_as_it_was() {
    let gateway = gateway_of_many_routes().await;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let (mut person, terminal) = terminal();
        let mut top = started(&gateway, Stdio::null(), terminal);
        seen(&mut person, 1);
        // SAFETY: a plain system call; the process is not reaped before it was waited for.
        unsafe { libc::kill(top.id().cast_signed(), signal) };
        let rest = seen(&mut person, usize::MAX);
        assert!(rest.ends_with(LEAVES), "{signal}: {rest:?}");
        assert_eq!(top.wait().unwrap().code(), Some(0), "{signal}");
    }
}
