//! A server under measurement: on a core of its own, its processor time read to the nanosecond.

use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use testkit::process::{Port, Process, Program};

use super::Kind;

/// Where the measured server runs; everything else is on the next core.
pub(crate) const SERVER_CORE: usize = 0;
/// Where load and origin run.
pub(crate) const OTHER_CORE: usize = 1;

const START: Duration = Duration::from_secs(20);
const OUTPUT: &str = "out.log";
/// Of the server that writes its lines into a file of their own.
pub(super) const ACCESS_LOG: &str = "access.log";

/// A server to be started.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Which.
    pub kind: Kind,
    /// Its config.
    pub config: &'a str,
    /// Other files beside it.
    pub files: &'a [(&'a str, &'a [u8])],
    /// What runs it: a profiler, or nothing.
    pub under: &'a [&'a str],
}

/// A started server; dropping it ends it.
#[derive(Debug)]
pub struct Running {
    process: Process,
    address: SocketAddr,
    _port: Port,
}

impl Launch<'_> {
    /// Starts it and waits until it takes connections.
    pub fn start(self, port: Port) -> Result<Running, String> {
        let name = self.kind.name();
        let program = self.kind.find()?;
        let address = port.addr();
        let process = self
            .process(&program, address)
            .map_err(|error| format!("{name} is left out: it does not start: {error}"))?;
        let running = Running {
            process,
            address,
            _port: port,
        };
        running.wait_until_there(name)?;
        Ok(running)
    }

    fn process(self, program: &Path, listen: SocketAddr) -> io::Result<Process> {
        // What the servers print goes to a file, as it does in service: a pipe would make its
        // reader part of the measurement.
        let shell = Program::new("/bin/sh")?.arg("-c");
        let shell = shell.arg(format!("exec \"$@\" >{OUTPUT} 2>&1")).arg("sh");
        let (config, arguments) = self.arguments(listen);
        shell.file(config, self.config)?;
        for (name, bytes) in self.files {
            shell.file(name, bytes)?;
        }
        let core = SERVER_CORE.to_string();
        // A bench that is killed takes them along: nobody else would end them.
        let shell = shell.args(["setpriv", "--pdeathsig", "KILL"]);
        let shell = shell.args(["taskset", "-c", &core]).args(self.under);
        let started = shell.arg(program).args(&arguments).start();
        started.map_err(io::Error::other)
    }

    /// The name of its config, and the words that make it serve by that in the foreground.
    fn arguments(&self, listen: SocketAddr) -> (&'static str, Vec<String>) {
        let (config, words) = match self.kind {
            Kind::Nginx => ("nginx.conf", "-p . -c nginx.conf -e stderr".to_owned()),
            Kind::Haproxy => ("haproxy.cfg", "-db -f haproxy.cfg".to_owned()),
            Kind::Varnish => (
                "cache.vcl",
                format!(
                    "-F -j none -n state -a {listen} -p vcl_path=. -f cache.vcl -s malloc,256m"
                ),
            ),
            Kind::Bare => (
                "none",
                format!("origin --listen={listen} --core={SERVER_CORE}"),
            ),
            Kind::Macronode => (
                "node.toml",
                "run --config node.toml --runtime single".to_owned(),
            ),
        };
        (config, words.split(' ').map(str::to_owned).collect())
    }
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Processor time so far, of all its threads and those of its children, in user and system mode.
    pub fn cpu_time(&self) -> Duration {
        let pid = self.process.pid();
        let listed = format!("/proc/{pid}/task/{pid}/children");
        let listed = std::fs::read_to_string(listed).unwrap_or_default();
        let children = listed.split_whitespace().filter_map(|pid| pid.parse().ok());
        children.chain([pid]).map(cpu_time).sum()
    }

    /// Asks it to end, waits for that, and gives what it printed.
    pub fn end(self) -> String {
        self.ask_to_end();
        self.printed()
    }

    /// Asks it to end, waits for that, and counts the lines of its logs.
    pub fn end_and_count_lines(self) -> u64 {
        let access_log = self.process.dir().join(ACCESS_LOG);
        self.ask_to_end();
        let written = std::fs::read(access_log).unwrap_or_default();
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        lines(&written) + lines(self.printed().as_bytes())
    }

    fn ask_to_end(&self) {
        let asked = Instant::now();
        // A process that has ended already needs no signal.
        let _ = self.process.signal(libc::SIGTERM);
        while matches!(self.process.status(), Ok(None)) && asked.elapsed() < START {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn printed(&self) -> String {
        let bytes = std::fs::read(self.process.dir().join(OUTPUT)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn wait_until_there(&self, name: &str) -> Result<(), String> {
        let began = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            let ended = matches!(self.process.status(), Ok(Some(_)));
            if ended || began.elapsed() > START {
                let printed = self.printed();
                let lines: Vec<&str> = printed.lines().collect();
                let tail = lines[lines.len().saturating_sub(6)..].join("\n  ");
                return Err(format!("{name} is left out: it does not start:\n  {tail}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// Of one process; nothing when it has ended.
fn cpu_time(pid: i32) -> Duration {
    let mut clock = MaybeUninit::uninit();
    // SAFETY: the pointer is valid for one clock id, which the call fills when it succeeds.
    let status = unsafe { libc::clock_getcpuclockid(pid, clock.as_mut_ptr()) };
    if status != 0 {
        return Duration::ZERO;
    }
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the clock id was filled; the pointer is valid for one timespec.
    let status = unsafe { libc::clock_gettime(clock.assume_init(), time.as_mut_ptr()) };
    if status != 0 {
        return Duration::ZERO;
    }
    // SAFETY: the call succeeded.
    let time = unsafe { time.assume_init() };
    let nanos = time.tv_nsec.unsigned_abs() as u32;
    Duration::new(time.tv_sec.unsigned_abs(), nanos)
}
