//! SIGUSR2: starts the binary anew, gives it the listening sockets, and drains once it is ready. Nobody is turned away.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram as StdDatagram};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use svc_gateway::Gateway;
use tokio::net::UnixDatagram;

use crate::doors::Doors;
use crate::systemd;

/// Where a successor says that it is ready.
pub(crate) const PREDECESSOR: &str = "MACRONODE_PREDECESSOR";

/// Where a successor learns which address its predecessor was asked to listen at, for each socket.
pub(crate) const ASKED: &str = "MACRONODE_LISTENED";

/// Where a successor learns which limits its predecessor has found.
pub(crate) const FOUND: &str = "MACRONODE_FOUND_LIMITS";

/// Which process systemd's watchdog wants to hear from; without it, whoever reads this.
const WATCHDOG_PID: &str = "WATCHDOG_PID";

/// How long a successor may take to be ready.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often is looked whether it still lives.
const GLANCE: Duration = Duration::from_millis(50);
/// Where inherited sockets begin, by systemd's convention.
const FIRST_FD: RawFd = 3;
/// Copies of the sockets stand from here on while the final numbers are filled: none is overwritten before its turn.
const ASIDE_FD: RawFd = 100;

/// The way to a successor.
#[derive(Clone)]
pub(crate) struct Handover {
    doors: Doors,
    gateway: Option<Arc<Gateway>>,
    done: Arc<AtomicBool>,
}

impl Handover {
    pub(crate) fn new(doors: &Doors, gateway: Option<Arc<Gateway>>) -> Self {
        Self {
            doors: doors.clone(),
            gateway,
            done: Arc::default(),
        }
    }

    /// Whether a successor has taken over: then this process ends, and the service does not.
    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    /// Starts a successor and waits until it is ready; says its process number, or why there is none. Dropped before,
    /// there is none.
    pub(crate) async fn hand_over(&self) -> io::Result<u32> {
        let (name, heard) = listen()?;
        let mut heir = Heir(Some(self.start(&name)?));
        let ready = tokio::time::timeout(PATIENCE, heir.wait_ready(&heard)).await;
        ready.unwrap_or_else(|_| {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "it was not ready in time",
            ))
        })?;
        let successor = heir.inherit();
        self.done.store(true, Ordering::Relaxed);
        systemd::tell_main_pid(successor);
        Ok(successor)
    }

    fn found_limits(&self) -> String {
        let gateway = self.gateway.as_ref();
        gateway.map_or_else(String::new, |gateway| gateway.found_limits())
    }

    fn start(&self, predecessor: &str) -> io::Result<Child> {
        let sockets = self.doors.sockets()?;
        let names: Vec<&str> = sockets.iter().map(|socket| socket.name).collect();
        let asked: Vec<String> = sockets
            .iter()
            .map(|socket| socket.asked.to_string())
            .collect();
        let fds: Vec<OwnedFd> = sockets.into_iter().map(|socket| socket.fd).collect();
        let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let mut words = std::env::args_os();
        let program = words.next().ok_or(io::ErrorKind::NotFound)?;
        let mut command = Command::new(program);
        command
            .args(words)
            .env("LISTEN_FDS", raw.len().to_string())
            .env("LISTEN_FDNAMES", names.join(":"))
            .env(ASKED, asked.join(" "))
            .env(FOUND, self.found_limits())
            .env_remove("LISTEN_PID")
            .env(PREDECESSOR, format!("@{predecessor}"));
        // A watchdog that waits for this process waits for the next one from then on; one of another process does not.
        let ours = std::process::id().to_string();
        if std::env::var(WATCHDOG_PID).is_ok_and(|pid| pid == ours) {
            command.env_remove(WATCHDOG_PID);
        }
        bequeath(&mut command, raw);
        command.spawn()
    }
}

/// Has a command find these sockets where systemd would have put them.
fn bequeath(command: &mut Command, fds: Vec<RawFd>) {
    let mut aside = vec![-1; fds.len()];
    // SAFETY: between fork and exec only system calls are made, which are safe there, on memory made before.
    unsafe { command.pre_exec(move || place(&fds, &mut aside)) };
}

/// A successor until it has taken over. Dropped before, it ends: nobody would look after it.
struct Heir(Option<Child>);

impl Heir {
    async fn wait_ready(&mut self, heard: &UnixDatagram) -> io::Result<()> {
        let successor = self.0.as_mut().expect("not inherited yet");
        wait_ready(heard, successor).await
    }

    fn inherit(&mut self) -> u32 {
        self.0.take().map_or(0, |successor| successor.id())
    }
}

impl Drop for Heir {
    fn drop(&mut self) {
        if let Some(mut successor) = self.0.take() {
            // It may have ended by itself; then there is nothing to stop, and its number is taken back either way.
            let _ended_before = successor.kill().is_err();
            let _reaped = successor.wait();
        }
    }
}

/// A socket of our own, behind a name that no file stands for.
fn listen() -> io::Result<(String, UnixDatagram)> {
    let name = format!(
        "macronode-handover-{}-{:x}",
        std::process::id(),
        fastrand::u64(..)
    );
    let socket = StdDatagram::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    socket.set_nonblocking(true)?;
    Ok((name, UnixDatagram::from_std(socket)?))
}

async fn wait_ready(heard: &UnixDatagram, successor: &mut Child) -> io::Result<()> {
    let mut words = [0; 512];
    loop {
        tokio::select! {
            length = heard.recv(&mut words) => {
                let said = words.get(..length?).unwrap_or_default();
                if said.split(|byte| *byte == b'\n').any(|line| line == b"READY=1") {
                    return Ok(());
                }
            }
            () = tokio::time::sleep(GLANCE) => {
                if let Some(status) = successor.try_wait()? {
                    return Err(io::Error::other(format!("it ended before it was ready: {status}")));
                }
            }
        }
    }
}

/// Puts the sockets where a successor looks for them.
fn place(fds: &[RawFd], aside: &mut [RawFd]) -> io::Result<()> {
    let checked = |number: RawFd| match number {
        -1 => Err(io::Error::last_os_error()),
        number => Ok(number),
    };
    // Nothing else is open in the child by then but what exec closes, so numbers may be taken as they come.
    for (copy, fd) in aside.iter_mut().zip(fds) {
        // SAFETY: a plain system call on a descriptor that is open; exec closes the copy.
        *copy = checked(unsafe { libc::fcntl(*fd, libc::F_DUPFD_CLOEXEC, ASIDE_FD) })?;
    }
    for (number, copy) in (FIRST_FD..).zip(aside) {
        // SAFETY: as above; exec leaves this copy open.
        checked(unsafe { libc::dup2(*copy, number) })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-16
    #[test]
    fn a_successor_gets_every_socket_in_its_place_however_many_there_are() {
        let sockets: Vec<_> = (0..40).map(|_| StdDatagram::unbound().unwrap()).collect();
        let fds: Vec<RawFd> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
        let link = |fd: &RawFd| std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap();
        let ours: Vec<String> = fds
            .iter()
            .map(|fd| link(fd).display().to_string())
            .collect();
        let last = FIRST_FD + 39;
        let mut command = Command::new("sh");
        let look = format!("for fd in $(seq {FIRST_FD} {last}); do readlink /proc/$$/fd/$fd; done");
        command.args(["-c", &look]);
        bequeath(&mut command, fds);
        let seen = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert_eq!(seen.lines().collect::<Vec<_>>(), ours);
    }
}
