//! Watches the directory of the config file: editors and orchestrators replace files rather than write them.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::ReloadRequests;
use crate::blocking::Blocking;
use crate::readiness::ReadySignal;

/// Keeps a watch on the config file: a new one where the old has gone blind, or could not be had.
pub(super) struct Lookout {
    file: PathBuf,
    requests: ReloadRequests,
    blocking: Blocking,
    watch: Option<Watch>,
    /// Whether the file was watched before: then it may have changed unseen until it is again.
    watched: bool,
}

impl Lookout {
    pub(super) fn new(file: PathBuf, requests: ReloadRequests, blocking: Blocking) -> Self {
        Self {
            file,
            requests,
            blocking,
            watch: None,
            watched: false,
        }
    }

    /// Sees to it that the file is watched, and says whether it is.
    pub(super) async fn look(&mut self, ready: &ReadySignal) {
        let (watch, file, requests) = (self.watch.take(), self.file.clone(), self.requests.clone());
        let looked = self.blocking.run(move || renewed(watch, &file, requests));
        let renewed = match looked.await {
            Ok(Ok((watch, renewed))) => {
                self.watch = Some(watch);
                ready.ready();
                renewed
            }
            Ok(Err(error)) => return self.say_blind(ready, &error),
            Err(reject) => return self.say_blind(ready, &io::Error::other(reject)),
        };
        if renewed && std::mem::replace(&mut self.watched, true) {
            self.requests.request();
        }
    }

    fn say_blind(&self, ready: &ReadySignal, error: &io::Error) {
        let file = self.file.display();
        ready.degraded(format!(
            "cannot watch {file}: {error}; SIGHUP still reloads"
        ));
    }
}

/// The same watch as long as it sees, else a new one; and whether it is new.
fn renewed(
    watch: Option<Watch>,
    file: &Path,
    requests: ReloadRequests,
) -> io::Result<(Watch, bool)> {
    match watch.filter(|watch| !watch.is_blind()) {
        Some(watch) => Ok((watch, false)),
        None => Ok((Watch::begin(file, requests)?, true)),
    }
}

/// Asks for a reload whenever its file may have changed, for as long as it lives.
struct Watch {
    _watcher: RecommendedWatcher,
    directory: PathBuf,
    /// Which directory is watched: its path may come to lead to another, by a link or a rename.
    identity: (u64, u64),
    /// Set when the directory itself is removed or moved. A new one may get the identity of one that is gone.
    lost: Arc<AtomicBool>,
}

impl Watch {
    fn begin(file: &Path, requests: ReloadRequests) -> io::Result<Self> {
        let file = std::path::absolute(file)?;
        let directory = file.parent().unwrap_or(Path::new("/")).to_owned();
        let name = file.file_name().map(OsString::from).unwrap_or_default();
        let lost = Arc::new(AtomicBool::new(false));
        let (watched, gone) = (directory.clone(), lost.clone());
        let handler = move |event: notify::Result<Event>| match event {
            Ok(event) if is_about(&event, &watched) => gone.store(true, Ordering::Release),
            Ok(event) if event.need_rescan() || concerns(&event, &name) => requests.request(),
            Ok(_) => {}
            // Events were lost: look rather than guess.
            Err(_) => requests.request(),
        };
        let identity = identity(&directory)?;
        let mut watcher = notify::recommended_watcher(handler).map_err(io::Error::other)?;
        watcher
            .watch(&directory, RecursiveMode::NonRecursive)
            .map_err(io::Error::other)?;
        Ok(Self {
            _watcher: watcher,
            directory,
            identity,
            lost,
        })
    }

    /// Whether what happens at its path is no longer what it sees.
    fn is_blind(&self) -> bool {
        let same = identity(&self.directory).is_ok_and(|now| now == self.identity);
        self.lost.load(Ordering::Acquire) || !same
    }
}

fn identity(directory: &Path) -> io::Result<(u64, u64)> {
    let about = std::fs::metadata(directory)?;
    Ok((about.dev(), about.ino()))
}

/// Whether the directory itself is gone from where it was.
fn is_about(event: &Event, directory: &Path) -> bool {
    let gone = matches!(
        event.kind,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
    );
    gone && event.paths.iter().any(|path| path == directory)
}

/// The file itself, or one of the `..` links by which Kubernetes swaps whole directories.
fn concerns(event: &Event, name: &OsString) -> bool {
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    event
        .paths
        .iter()
        .filter_map(|path| path.file_name())
        .any(|changed| changed == name || changed.to_string_lossy().starts_with(".."))
}
