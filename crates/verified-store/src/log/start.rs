//! How a log is found at the start, or made.

use super::frame::Frame;
use super::scan::Scan;
use super::{Event, HEAD, Mark, Opened, STEP, Tail, rewrite};
use crate::shelf::Tree;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;

const TITLE: &[u8; 32] = b"verified-store log 1\n\0\0\0\0\0\0\0\0\0\0\0";

pub(super) fn open(tree: &Arc<Tree>, each: impl FnMut(Event)) -> io::Result<(Tail, u64)> {
    let (file, writable) = match find(&tree.log()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((rewrite::empty(tree, 0)?, 0));
        }
        found => found?,
    };
    let file = Arc::new(file);
    let mut scan = Scan::new(&*tree.files, &file)?;
    // Without its key nothing in it can be believed.
    let Some(key) = scan.head()?.and_then(key_of) else {
        return Ok((rewrite::empty(tree, 0)?, 1));
    };
    let scanned = scan.run(&key, events(each))?;
    let tail = Tail {
        len: file.metadata()?.len(),
        opened: Arc::new(Opened {
            files: Arc::clone(&tree.files),
            file,
            key,
        }),
        mark: Mark {
            generation: 0,
            end: scanned.end,
        },
        broken: !writable,
        not_before: 0,
    };
    Ok((tail, scanned.damaged))
}

/// The file, and whether it can be written to.
fn find(path: &Path) -> io::Result<(File, bool)> {
    match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            File::open(path).map(|file| (file, false))
        }
        opened => opened.map(|file| (file, true)),
    }
}

fn events(mut each: impl FnMut(Event)) -> impl FnMut(Frame<'_>, crate::index::Spot) {
    move |frame, spot| match frame {
        Frame::Set { key, objects, .. } => each(Event::Set(key, objects, spot)),
        Frame::Remove { key } => each(Event::Remove(key)),
    }
}

fn key_of(head: &[u8]) -> Option<[u8; 32]> {
    head.strip_prefix(TITLE)?.try_into().ok()
}

/// The first bytes of a new log, and its key.
pub(super) fn head() -> ([u8; HEAD], [u8; 32]) {
    let mut head = [0; HEAD];
    head[..32].copy_from_slice(TITLE);
    // The standard library seeds these from the system; a key needs to be unknown to those who fill the store, and
    // new for each log, so that what an older one left on the disk is not taken for part of it.
    for part in head[32..].chunks_exact_mut(8) {
        part.copy_from_slice(&RandomState::new().hash_one(STEP).to_le_bytes());
    }
    (head, key_of(&head).expect("just written"))
}
