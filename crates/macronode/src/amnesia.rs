//! Amnesia: nothing is written to a disk, by the kernel's word rather than by ours, and what is freed is wiped.

use std::fmt;
use std::io;

use schemars::JsonSchema;
use serde::Serialize;

use crate::config::{Enforcement, NodeText};
use crate::heap;

pub(crate) mod landlock;

/// Something that amnesia needs and this machine does not give.
#[derive(Debug)]
pub(crate) struct Lack {
    /// What.
    pub(crate) what: &'static str,
    /// Why not.
    pub(crate) why: String,
    /// What to do.
    pub(crate) remedy: &'static str,
}

/// Everything that amnesia needs and this machine does not give.
#[derive(Debug)]
pub(crate) struct Lacks(Vec<Lack>);

impl fmt::Display for Lacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("amnesia cannot be enforced")?;
        for Lack { what, why, remedy } in &self.0 {
            write!(f, "\n  {what}: {why}\n    remedy: {remedy}")?;
        }
        Ok(())
    }
}

const OWN_KERNEL: &str = "run Linux 6.2 or newer with landlock among its security modules (`lsm=`), \
                          or accept less with amnesia_enforcement = \"best-effort\"";
const ACCEPT_LESS: &str = "accept less with amnesia_enforcement = \"best-effort\"";

/// Forgets from now on, if the config asks for it. Before any thread: what the kernel is told holds for this one and
/// those it starts. Says what the operator accepted to do without.
pub(crate) fn begin(text: &NodeText) -> Result<Vec<Lack>, Lacks> {
    // Until the config was known, whatever was freed was wiped.
    heap::wipe_what_is_freed(text.amnesia);
    if !text.amnesia {
        return Ok(Vec::new());
    }
    let outputs = [(1, "standard output"), (2, "standard error")];
    let files: Vec<_> = outputs.into_iter().filter_map(to_a_file).collect();
    if !files.is_empty() {
        return Err(Lacks(files));
    }
    let parts = [
        no_writing(),
        no_file_grows(),
        no_core(),
        not_to_be_looked_into(),
    ];
    let lacks: Vec<_> = parts.into_iter().filter_map(Result::err).collect();
    match text.amnesia_enforcement {
        Enforcement::Strict if !lacks.is_empty() => Err(Lacks(lacks)),
        Enforcement::Strict | Enforcement::BestEffort => Ok(lacks),
    }
}

/// Whether the node forgets, and what of that holds.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Forgetting {
    on: bool,
    #[serde(flatten)]
    held: Option<Held>,
}

/// What holds at this moment, as the kernel says it.
#[derive(Serialize, JsonSchema)]
struct Held {
    landlock_interface: Option<i64>,
    writing_forbidden: bool,
    file_size_limit: Option<u64>,
    core_limit: Option<u64>,
    dumpable: bool,
    freed_memory_wiped: bool,
}

/// What is shown of it; nothing is looked up where it was not asked for.
pub(crate) fn facts(asked: bool) -> Forgetting {
    let held = || Held {
        landlock_interface: landlock::interface().ok(),
        writing_forbidden: landlock::is_forbidden(),
        file_size_limit: limit(libc::RLIMIT_FSIZE).ok(),
        core_limit: limit(libc::RLIMIT_CORE).ok(),
        dumpable: is_dumpable(),
        freed_memory_wiped: heap::is_wiped(),
    };
    Forgetting {
        on: asked,
        held: asked.then(held),
    }
}

/// A log in a file is on a disk.
fn to_a_file((number, what): (i32, &'static str)) -> Option<Lack> {
    // SAFETY: all of it may be zero, and fstat(2) writes within it.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for the whole call; a descriptor that is not open is an error.
    let known = unsafe { libc::fstat(number, &raw mut about) } == 0;
    let is_file = known && about.st_mode & libc::S_IFMT == libc::S_IFREG;
    is_file.then(|| Lack {
        what,
        why: "goes to a file".to_owned(),
        remedy: "let a pipe, the journal or a terminal take it",
    })
}

fn no_writing() -> Result<(), Lack> {
    let lack = |why| Lack {
        what: "landlock",
        why,
        remedy: OWN_KERNEL,
    };
    if !alone() {
        return Err(lack("other threads run already".to_owned()));
    }
    let interface = landlock::interface().map_err(|error| lack(landlock::reason(&error)))?;
    landlock::forbid_writing(interface).map_err(|error| lack(error.to_string()))?;
    match interface {
        landlock::WHOLE.. => Ok(()),
        older => Err(lack(format!("interface {older} cannot forbid truncation"))),
    }
}

/// Descriptors that were open before, and files in memory, are none of Landlock's business; this limit they all have.
fn no_file_grows() -> Result<(), Lack> {
    // SAFETY: no code of ours is called by it; what would be killed by the signal gets an error instead.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    to_nothing(libc::RLIMIT_FSIZE, "file size limit")
}

fn no_core() -> Result<(), Lack> {
    to_nothing(libc::RLIMIT_CORE, "core size limit")
}

/// Neither by a debugger of the same user nor by a core that a program takes over.
fn not_to_be_looked_into() -> Result<(), Lack> {
    if left_open() {
        return Ok(());
    }
    // SAFETY: prctl(2) with these arguments takes no memory.
    let done = unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0_u64, 0_u64, 0_u64, 0_u64) };
    match done {
        0 => Ok(()),
        _ => Err(Lack {
            what: "PR_SET_DUMPABLE",
            why: io::Error::last_os_error().to_string(),
            remedy: ACCEPT_LESS,
        }),
    }
}

/// A scan of the memory by somebody without privileges, which a test may want to be.
#[cfg(feature = "chaos")]
fn left_open() -> bool {
    crate::chaos::is_open_to_scans()
}

#[cfg(not(feature = "chaos"))]
fn left_open() -> bool {
    false
}

fn is_dumpable() -> bool {
    // SAFETY: prctl(2) with these arguments takes no memory.
    unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0_u64, 0_u64, 0_u64, 0_u64) == 1 }
}

/// A limit that can never be raised again.
fn to_nothing(which: libc::__rlimit_resource_t, what: &'static str) -> Result<(), Lack> {
    let nothing = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: setrlimit(2) reads one rlimit, to which the pointer is valid for the whole call.
    match unsafe { libc::setrlimit(which, &raw const nothing) } {
        0 => Ok(()),
        _ => Err(Lack {
            what,
            why: io::Error::last_os_error().to_string(),
            remedy: ACCEPT_LESS,
        }),
    }
}

fn limit(which: libc::__rlimit_resource_t) -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: getrlimit(2) writes one rlimit, to which the pointer is valid for the whole call.
    match unsafe { libc::getrlimit(which, &raw mut limit) } {
        0 => Ok(limit.rlim_max),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether this is the only thread of the process.
fn alone() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // req: ND-05
    #[test]
    fn every_lack_is_told_with_its_reason_and_its_remedy() {
        let lacks = Lacks(vec![
            Lack {
                what: "landlock",
                why: "not built into this kernel".to_owned(),
                remedy: OWN_KERNEL,
            },
            Lack {
                what: "standard error",
                why: "goes to a file".to_owned(),
                remedy: "let a pipe take it",
            },
        ]);
        let said = lacks.to_string();
        for part in [
            "cannot be enforced",
            "landlock: not built into this kernel",
            "Linux 6.2",
            "best-effort",
            "standard error: goes to a file",
            "remedy: let a pipe take it",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }

    // req: ND-05
    #[test]
    fn threads_that_run_already_could_write_so_it_is_too_late() {
        // The test itself has company.
        let (told, heard) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                told.wait();
                heard.wait();
            });
            told.wait();
            assert!(!alone());
            assert_eq!(no_writing().unwrap_err().what, "landlock");
            heard.wait();
        });
        assert!(!landlock::is_forbidden());
    }

    #[test]
    fn what_was_not_asked_for_is_not_claimed() {
        assert_eq!(json!(facts(false)), json!({ "on": false }));
        assert_eq!(json!(facts(true))["writing_forbidden"], false);
    }
}
