//! The gateway, started in one of the ways that are compared, on sockets that were opened for it.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use testkit::process::{Process, Program};

use crate::node;
use crate::peers::{Door, cpu_time, macronode};
use crate::stand::Stand;

const START: Duration = Duration::from_secs(20);
const BACKLOG: i32 = 1_024;
const DOOR: &str = "gateway.http";

/// What the gateway runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setup {
    /// `single`, on a core of its own.
    SingleOnOne,
    /// `multi` with one worker, on a core of its own.
    MultiOnOne,
    /// `multi` with two workers, on both cores.
    MultiOnTwo,
    /// A process on `single` and a listener for each of both cores.
    PerCore,
}

impl Setup {
    pub(super) const ALL: [Self; 4] = [
        Self::SingleOnOne,
        Self::MultiOnOne,
        Self::MultiOnTwo,
        Self::PerCore,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SingleOnOne => "single, one core",
            Self::MultiOnOne => "multi, one core",
            Self::MultiOnTwo => "multi, two cores",
            Self::PerCore => "single a core, two cores",
        }
    }

    /// What it is compared with: the other runtime on as many cores.
    pub(super) fn beside(self) -> Option<Self> {
        match self {
            Self::SingleOnOne | Self::MultiOnTwo => None,
            Self::MultiOnOne => Some(Self::SingleOnOne),
            Self::PerCore => Some(Self::MultiOnTwo),
        }
    }

    /// The processes it is made of: the cores of each, and its words for the node.
    fn processes(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::SingleOnOne => &[("0", "--runtime single")],
            Self::MultiOnOne => &[("0", "--runtime multi --set runtime.threads=1")],
            Self::MultiOnTwo => &[("0,1", "--runtime multi --set runtime.threads=2")],
            Self::PerCore => &[("0", "--runtime single"), ("1", "--runtime single")],
        }
    }

    /// Starts all of it, and waits until it serves.
    pub(super) fn start(self, stand: &Stand) -> Result<Standing, String> {
        let odd = |why: &dyn std::fmt::Display| format!("{} does not start: {why}", self.name());
        let program = node::built_binary()?;
        let first = listener(None).map_err(|error| odd(&error))?;
        let address = first.local_addr().map_err(|error| odd(&error))?;
        let mut listeners = vec![first];
        for _ in 1..self.processes().len() {
            listeners.push(listener(Some(address)).map_err(|error| odd(&error))?);
        }
        let config = macronode::realistic(&stand.place(address, Door::Plain));
        let mut processes = Vec::new();
        for ((cores, words), listener) in self.processes().iter().zip(listeners) {
            let node = Program::new("setpriv").map_err(|error| odd(&error))?;
            node.file("node.toml", &config)
                .map_err(|error| odd(&error))?;
            let node = node
                .args(["--pdeathsig", "KILL", "taskset", "-c", cores])
                .arg(&program)
                .args(["run", "--config", "node.toml"])
                .args(words.split(' '))
                .socket(DOOR, listener);
            processes.push(node.start().map_err(|error| odd(&error))?);
        }
        processes.iter().try_for_each(ready).map_err(|e| odd(&e))?;
        Ok(Standing {
            setup: self,
            address,
            processes,
        })
    }
}

/// A gateway that serves; dropping it ends it.
pub(super) struct Standing {
    setup: Setup,
    address: SocketAddr,
    processes: Vec<Process>,
}

impl Standing {
    pub(super) fn setup(&self) -> Setup {
        self.setup
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Of all its processes.
    pub(super) fn cpu_time(&self) -> Duration {
        self.processes.iter().map(|one| cpu_time(one.pid())).sum()
    }
}

/// The socket takes connections long before the node does: only what it says counts.
fn ready(process: &Process) -> Result<(), String> {
    let began = Instant::now();
    while !process
        .lines()
        .iter()
        .any(|line| line.text.starts_with("ready "))
    {
        if !matches!(process.status(), Ok(None)) || began.elapsed() > START {
            let lines = process.lines();
            let last = lines.last().map_or("it said nothing", |line| &line.text);
            return Err(last.to_owned());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// On any port, or on that of another one: the system deals connections out among them.
fn listener(address: Option<SocketAddr>) -> io::Result<TcpListener> {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    let yes: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the value outlives the call, which is told its size.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_REUSEPORT,
            (&raw const yes).cast(),
            size_of_val(&yes) as libc::socklen_t,
        )
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    socket.bind(&address.unwrap_or(any).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_to_one_port_are_dealt_out_among_its_listeners() {
        let first = listener(None).unwrap();
        let address = first.local_addr().unwrap();
        let second = listener(Some(address)).unwrap();
        let clients = [(); 64].map(|()| std::net::TcpStream::connect(address).unwrap());
        let accepted = [&first, &second].map(|listener| {
            listener.set_nonblocking(true).unwrap();
            std::iter::from_fn(|| listener.accept().ok()).count()
        });
        assert_eq!(accepted[0] + accepted[1], clients.len());
        assert!(accepted.iter().all(|part| *part > 0), "{accepted:?}");
    }

    #[test]
    fn everybody_is_compared_with_the_other_runtime_on_as_many_cores() {
        let cores = |setup: Setup| -> Vec<&str> {
            let of = setup
                .processes()
                .iter()
                .flat_map(|(cores, _)| cores.split(','));
            of.collect()
        };
        for setup in Setup::ALL {
            let Some(other) = setup.beside() else {
                continue;
            };
            assert_eq!(cores(setup), cores(other));
            assert_eq!(other.beside(), None);
        }
    }
}
