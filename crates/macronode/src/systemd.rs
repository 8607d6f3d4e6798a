//! Systemd's notification protocol, spoken without ever waiting for who should read it.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use sd_notify::NotifyState;

use crate::handover::PREDECESSOR;

/// Tells systemd, where the node was started by it.
pub(crate) fn tell(states: &[NotifyState<'_>]) {
    tell_whom("NOTIFY_SOCKET", states);
}

/// Tells whom this process takes over from, if anybody, that it is ready.
pub(crate) fn tell_predecessor() {
    tell_whom(PREDECESSOR, &[NotifyState::Ready]);
}

/// Tells systemd that another process is the service from now on.
pub(crate) fn tell_main_pid(pid: u32) {
    tell(&[NotifyState::MainPid(pid)]);
}

fn tell_whom(variable: &str, states: &[NotifyState<'_>]) {
    let socket = std::env::var_os(variable).filter(|socket| !socket.is_empty());
    let Some(socket) = socket else {
        return;
    };
    if let Err(error) = send(&socket, states) {
        tracing::warn!(%error, variable, "the notification was not taken");
    }
}

/// The crate's own way waits for room in the manager's queue, and the whole runtime with it.
fn send(socket: &OsStr, states: &[NotifyState<'_>]) -> io::Result<()> {
    let message: String = states.iter().map(|state| format!("{state}\n")).collect();
    let ours = UnixDatagram::unbound()?;
    ours.set_nonblocking(true)?;
    ours.send_to_addr(message.as_bytes(), &address(socket)?)?;
    Ok(())
}

/// A path, or with an `@` in front a name that no file stands for.
fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(socket),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: KN-16
    #[test]
    fn a_manager_that_does_not_read_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let _unread = UnixDatagram::bind(&path).unwrap();
        let full = (0..100_000)
            .find_map(|_| send(path.as_os_str(), &[NotifyState::Watchdog]).err())
            .unwrap();
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_manager_behind_an_abstract_name_hears_all_lines() {
        let name = format!("macronode-test-{}", std::process::id());
        let bound = SocketAddr::from_abstract_name(&name).unwrap();
        let manager = UnixDatagram::bind_addr(&bound).unwrap();
        let states = [NotifyState::Ready, NotifyState::Status("serving")];
        send(OsStr::new(&format!("@{name}")), &states).unwrap();
        let mut heard = [0; 64];
        let length = manager.recv(&mut heard).unwrap();
        assert_eq!(&heard[..length], b"READY=1\nSTATUS=serving\n");
    }
}
