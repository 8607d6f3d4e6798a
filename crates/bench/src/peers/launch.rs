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

/// What it is started for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Plain,
    Reloading,
}

/// A started server; dropping it ends it as in service, so that one that keeps books writes them.
#[derive(Debug)]
pub struct Running {
    kind: Kind,
    process: Process,
    address: SocketAddr,
    _port: Port,
}

impl Launch<'_> {
    /// Starts it and waits until it takes connections.
    pub fn start(self, port: Port) -> Result<Running, String> {
        self.start_as(Role::Plain, port)
    }

    /// The same with whatever it needs to take a new config while it runs.
    pub fn start_reloading(self, port: Port) -> Result<Running, String> {
        self.start_as(Role::Reloading, port)
    }

    fn start_as(self, role: Role, port: Port) -> Result<Running, String> {
        let name = self.kind.name();
        let program = self.kind.find()?;
        let address = port.addr();
        let process = self
            .process(&program, address, role)
            .map_err(|error| format!("{name} is left out: it does not start: {error}"))?;
        let running = Running {
            kind: self.kind,
            process,
            address,
            _port: port,
        };
        running.wait_until_there(name)?;
        Ok(running)
    }

    fn process(self, program: &Path, listen: SocketAddr, role: Role) -> io::Result<Process> {
        // What the servers print goes to a file, as it does in service: a pipe would make its
        // reader part of the measurement.
        let shell = Program::new("/bin/sh")?.arg("-c");
        let shell = shell.arg(format!("exec \"$@\" >{OUTPUT} 2>&1")).arg("sh");
        let (config, arguments) = self.arguments(listen, role);
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
    fn arguments(&self, listen: SocketAddr, role: Role) -> (&'static str, Vec<String>) {
        let (config, words) = match self.kind {
            Kind::Haproxy if role == Role::Reloading => {
                (self.kind.config_file(), "-W -db -f haproxy.cfg".to_owned())
            }
            Kind::Nginx => (
                self.kind.config_file(),
                "-p . -c nginx.conf -e stderr".to_owned(),
            ),
            Kind::Haproxy => (self.kind.config_file(), "-db -f haproxy.cfg".to_owned()),
            Kind::Varnish => (
                self.kind.config_file(),
                format!(
                    "-F -j none -n state -a {listen} -p vcl_path=. -f cache.vcl -s malloc,256m"
                ),
            ),
            Kind::Bare => (
                self.kind.config_file(),
                format!("origin --listen={listen} --core={SERVER_CORE}"),
            ),
            Kind::Earlier | Kind::Macronode => (
                self.kind.config_file(),
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

    /// Sends it a signal; one that has ended already needs none.
    pub fn signal(&self, signal: i32) -> Result<(), String> {
        let sent = self.process.signal(signal);
        sent.map(drop).map_err(|error| error.to_string())
    }

    /// When it was started.
    pub fn started(&self) -> Instant {
        self.process.started()
    }

    /// Waits for its end, at most so long; when it was seen.
    pub fn ended(&self, limit: Duration) -> Option<Instant> {
        let began = Instant::now();
        loop {
            if !matches!(self.process.status(), Ok(None)) {
                return Some(Instant::now());
            }
            if began.elapsed() > limit {
                return None;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Puts another config in the place of the one it was started with, at once.
    pub fn replace_config(&self, text: &str) -> io::Result<()> {
        let (folder, name) = (self.process.dir(), self.kind.config_file());
        let fresh = folder.join("config.new");
        std::fs::write(&fresh, text)?;
        std::fs::rename(fresh, folder.join(name))
    }

    /// Memory of its own, shared pages by their part, of it and its children.
    pub fn resident_bytes(&self) -> u64 {
        self.family().map(resident_bytes).sum()
    }

    /// Processor time so far, of all its threads and those of its children, in user and system mode.
    pub fn cpu_time(&self) -> Duration {
        self.family().map(cpu_time).sum()
    }

    /// It and its children.
    fn family(&self) -> impl Iterator<Item = i32> {
        let pid = self.process.pid();
        let listed = format!("/proc/{pid}/task/{pid}/children");
        let listed = std::fs::read_to_string(listed).unwrap_or_default();
        let children = listed.split_whitespace().filter_map(|pid| pid.parse().ok());
        children.chain([pid]).collect::<Vec<i32>>().into_iter()
    }

    /// Asks it to end, waits for that, and gives what it printed.
    pub fn end(self) -> String {
        self.ask_to_end();
        self.printed()
    }

    /// Asks it to end, waits for that, and gives what it left in a file beside its config.
    pub fn end_and_read(self, name: &str) -> io::Result<String> {
        self.ask_to_end();
        std::fs::read_to_string(self.process.dir().join(name))
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
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Who fails is not to wait for it as well.
        if !std::thread::panicking() {
            self.ask_to_end();
        }
    }
}

/// Of one process; nothing when it has ended.
fn resident_bytes(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Processor time of one process so far; nothing when it has ended.
pub(crate) fn cpu_time(pid: i32) -> Duration {
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
