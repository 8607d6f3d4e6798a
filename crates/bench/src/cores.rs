//! Keeps a thread on one core, so that the scheduler does not decide what is measured.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Pins the calling thread to the core; to the last one there is if that number does not exist.
///
/// Two threads that wake each other are many times slower on one core than on two, and a busy
/// machine would choose anew in every round.
pub fn pin(core: usize) {
    // Not `available_parallelism`: a thread started by a pinned one would count a single core.
    // SAFETY: asks for a number, touches no memory of ours.
    let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }
        .max(1)
        .unsigned_abs() as usize;
    // SAFETY: an all-zero set is a valid empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the core's number is below that of cores, far below the size of the set.
    unsafe { libc::CPU_SET(core.min(cores - 1), &mut set) };
    // SAFETY: the set is valid and its true size is given; thread 0 is the caller.
    let status = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
    if status != 0 {
        let reason = std::io::Error::last_os_error();
        eprintln!("cannot pin to core {core}, numbers will be noisier: {reason}");
    }
}

/// Who goes before whom where both want the same core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// A measured server that has the load's core too: what the load is late by is not the server's.
    Server = 9,
    /// The load, and what it starts: the measured servers.
    Load = 10,
    /// The origin: it has to be there when it is due, whatever the load is busy with.
    Origin = 11,
}

/// Set where nothing is measured: other work need not stand back then.
const UNMEASURED: &str = "BENCH_UNMEASURED";

/// Goes before all ordinary work where that is allowed, with every process started from here on: a
/// build beside a measurement would else be measured too. Elsewhere numbers are noisier, and the
/// generator says how late it was.
pub fn go_first(rank: Rank) {
    if std::env::var_os(UNMEASURED).is_some() {
        return;
    }
    let place = libc::sched_param {
        sched_priority: rank as i32,
    };
    // SAFETY: the parameters live for the length of the call; thread 0 is the caller.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &place) };
}

/// Goes back among ordinary work.
pub fn stand_back() {
    let place = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters live for the length of the call; thread 0 is the caller.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &place) };
}

/// Starts what is no part of a measurement as ordinary work on any core: a build that goes first on one core may wait
/// for ever for what the system has to do there.
pub fn set_aside(command: &mut Command) -> &mut Command {
    let aside = || {
        stand_back();
        // SAFETY: an all-zero set is a valid empty set.
        let mut all: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        for core in 0..libc::CPU_SETSIZE as usize {
            // SAFETY: the core's number is below the size of the set.
            unsafe { libc::CPU_SET(core, &mut all) };
        }
        // SAFETY: the set is valid and its true size is given; cores that do not exist are left out.
        unsafe { libc::sched_setaffinity(0, size_of_val(&all), &all) };
        Ok(())
    };
    // SAFETY: plain system calls, which may be made between fork and exec.
    unsafe { command.pre_exec(aside) }
}

/// Ends this process when the one that started it ends.
pub fn follow_parent() {
    // SAFETY: plain system call that takes numbers only; it cannot fail with a valid signal.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}
