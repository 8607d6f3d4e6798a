//! A disk for tests: fails at a chosen step, or loses power there and with it whatever was not synced.

mod power;

use super::{Disk, Files};
use power::Volatile;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Barrier, Mutex, MutexGuard};

/// What happens at which step. Steps are counted from 0; reading is no step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    Nothing,
    /// The step is done half, and nothing after it is done at all.
    PowerCut(u64),
    /// The step is refused with this error number, and the next ones are not.
    Error(u64, i32),
    /// All steps from this one on.
    ErrorsFrom(u64, i32),
    /// All steps of that name.
    Always(&'static str, i32),
}

#[derive(Debug)]
pub(crate) struct Faulty {
    state: Mutex<State>,
    /// Who comes to a step of that name waits there, and once more to go on.
    stall: Mutex<Option<(&'static str, Arc<Barrier>)>>,
}

#[derive(Debug)]
struct State {
    plan: Plan,
    steps: u64,
    dead: bool,
    /// No file grows beyond this.
    room: u64,
    volatile: Volatile,
}

enum Fate {
    Done,
    Half,
}

impl Faulty {
    /// `aside` is a directory of the same file system, in which the disk remembers what a power cut brings back.
    pub(crate) fn new(plan: Plan, aside: &Path) -> Self {
        let state = State {
            plan,
            steps: 0,
            dead: false,
            room: u64::MAX,
            volatile: Volatile::new(aside),
        };
        Self {
            state: Mutex::new(state),
            stall: Mutex::new(None),
        }
    }

    pub(crate) fn steps(&self) -> u64 {
        self.state().steps
    }

    pub(crate) fn plan(&self, plan: Plan) {
        self.state().plan = plan;
    }

    /// The next step of that name stalls between two meetings at the barrier.
    pub(crate) fn stall(&self, name: &'static str, barrier: &Arc<Barrier>) {
        *self.stall.lock().expect("no test panics in here") = Some((name, Arc::clone(barrier)));
    }

    fn perhaps_stall(&self, name: &'static str) {
        let mut stall = self.stall.lock().expect("no test panics in here");
        let here = stall.take_if(|(at, _)| *at == name);
        drop(stall);
        if let Some((_, barrier)) = here {
            barrier.wait();
            barrier.wait();
        }
    }

    /// From now on the disk has no block for a byte from there on.
    pub(crate) fn full_beyond(&self, room: u64) {
        self.state().room = room;
    }

    /// Undoes some of what was not synced, as the seed has it. Nothing may be open for writing any more.
    pub(crate) fn lose_power(&self, seed: u64) {
        let mut state = self.state();
        state.dead = true;
        state.volatile.lose(&mut fastrand::Rng::with_seed(seed));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics in here")
    }

    fn step(&self, name: &'static str) -> io::Result<(MutexGuard<'_, State>, Fate)> {
        self.perhaps_stall(name);
        let mut state = self.state();
        if state.dead {
            return Err(cut());
        }
        let now = state.steps;
        state.steps += 1;
        match state.plan {
            Plan::PowerCut(at) if at == now => {
                state.dead = true;
                return Ok((state, Fate::Half));
            }
            Plan::Error(at, number) if at == now => {
                return Err(io::Error::from_raw_os_error(number));
            }
            Plan::ErrorsFrom(from, number) if from <= now => {
                return Err(io::Error::from_raw_os_error(number));
            }
            Plan::Always(which, number) if which == name => {
                return Err(io::Error::from_raw_os_error(number));
            }
            _ => (),
        }
        Ok((state, Fate::Done))
    }

    /// A step that a power cut does or does not do: both have their turn, by the parity of the step.
    fn whole_step(
        &self,
        name: &'static str,
        act: impl FnOnce(&mut Volatile) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut state, fate) = self.step(name)?;
        match fate {
            Fate::Done => act(&mut state.volatile),
            Fate::Half => {
                if state.steps % 2 == 0 {
                    act(&mut state.volatile)?;
                }
                Err(cut())
            }
        }
    }
}

fn cut() -> io::Error {
    io::Error::other("no power")
}

impl Files for Faulty {
    fn create(&self, path: &Path) -> io::Result<File> {
        let mut made = None;
        self.whole_step("create", |volatile| {
            let file = Disk.create(path)?;
            volatile.created(path, &file)?;
            made = Some(file);
            Ok(())
        })?;
        made.ok_or_else(cut)
    }

    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        let (mut state, fate) = self.step("write")?;
        if at + bytes.len() as u64 > state.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.volatile.writes(file)?;
        match fate {
            Fate::Done => Disk.write(file, bytes, at),
            Fate::Half => {
                Disk.write(file, &bytes[..bytes.len() / 2], at)?;
                Err(cut())
            }
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let stepped = self.step("sync");
        match stepped {
            Ok((mut state, Fate::Done)) => state.volatile.synced(file),
            Ok((_, Fate::Half)) => Err(cut()),
            Err(error) => {
                self.state().volatile.sync_failed(file)?;
                Err(error)
            }
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.whole_step("rename", |volatile| {
            volatile.renames(from, to)?;
            Disk.rename(from, to)
        })
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.whole_step("sync_dir", |volatile| {
            volatile.synced_dir(path);
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.whole_step("remove", |volatile| {
            volatile.removes(path)?;
            Disk.remove(path)
        })
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.whole_step("make_dir", |volatile| {
            Disk.make_dir(path)?;
            volatile.made_dir(path);
            Ok(())
        })
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        self.reading("open")?;
        Disk.open(path)
    }

    fn read(&self, file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.reading("read")?;
        Disk.read(file, bytes, at)
    }

    fn touch(&self, file: &File) -> io::Result<()> {
        Disk.touch(file)
    }
}

impl Faulty {
    fn reading(&self, name: &'static str) -> io::Result<()> {
        match self.state().plan {
            Plan::Always(which, number) if which == name => {
                Err(io::Error::from_raw_os_error(number))
            }
            _ => Ok(()),
        }
    }
}
