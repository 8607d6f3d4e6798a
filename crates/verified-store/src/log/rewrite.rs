//! A new file for the log, with nothing in it but what is alive.

use super::frame::{Frame, decode};
use super::{Mark, Opened, STEP, Tail, start};
use crate::Hash;
use crate::index::Spot;
use crate::shelf::{Temp, Tree};
use std::io;
use std::sync::Arc;

/// A log on its way to take over.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(super) tail: Tail,
    /// Which records went from where to where.
    pub(crate) moved: Vec<(Hash, Spot, Spot)>,
    /// Which could not be read.
    pub(crate) lost: Vec<(Hash, Spot)>,
}

/// A log without records.
pub(super) fn empty(tree: &Arc<Tree>, generation: u64) -> io::Result<Tail> {
    let tail = Draft::create(tree)?.finish(tree, generation)?;
    if tail.broken {
        return Err(io::Error::other(
            "the directory of the store could not be synced",
        ));
    }
    Ok(tail)
}

pub(super) fn rewrite(
    tree: &Arc<Tree>,
    old: &Tail,
    alive: Vec<(Hash, Spot)>,
) -> io::Result<Rewritten> {
    let mut draft = Draft::create(tree)?;
    let (mut moved, mut lost) = (Vec::with_capacity(alive.len()), Vec::new());
    for (key, from) in alive {
        match copied(&old.opened, &draft.key, from) {
            Some(frame) => moved.push((key, from, draft.push(&frame)?)),
            None => lost.push((key, from)),
        }
    }
    Ok(Rewritten {
        tail: draft.finish(tree, old.mark.generation + 1)?,
        moved,
        lost,
    })
}

/// A frame as the new log checks it. What cannot be read is lost, as any damaged record is.
fn copied(old: &Opened, key: &[u8; 32], from: Spot) -> Option<Vec<u8>> {
    let mut bytes = vec![0; from.len as usize];
    old.files.read(&old.file, &mut bytes, from.at).ok()?;
    let frame = decode(&bytes, &old.key)?;
    matches!(frame, Frame::Set { .. }).then(|| frame.encode(key))
}

struct Draft {
    temp: Temp,
    key: [u8; 32],
    buffer: Vec<u8>,
}

impl Draft {
    fn create(tree: &Arc<Tree>) -> io::Result<Self> {
        let (head, key) = start::head();
        Ok(Self {
            temp: Temp::create(Arc::clone(&tree.files), tree.fresh())?,
            key,
            buffer: head.to_vec(),
        })
    }

    fn push(&mut self, frame: &[u8]) -> io::Result<Spot> {
        let spot = Spot {
            at: self.end(),
            len: u32::try_from(frame.len()).map_err(io::Error::other)?,
        };
        self.buffer.extend_from_slice(frame);
        if self.buffer.len() >= STEP {
            self.flush()?;
        }
        Ok(spot)
    }

    fn end(&self) -> u64 {
        self.temp.len() + self.buffer.len() as u64
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temp.write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self, tree: &Arc<Tree>, generation: u64) -> io::Result<Tail> {
        let end = self.end();
        self.buffer.resize(self.buffer.len() + STEP, 0);
        self.flush()?;
        self.temp.sync()?;
        let len = self.temp.len();
        let file = self.temp.rename(&tree.log())?;
        // The old file has lost its name, so there is no way back: this is the log, but nothing can be promised of it.
        let broken = tree.files.sync_dir(tree.dir()).is_err();
        Ok(Tail {
            opened: Arc::new(Opened {
                files: Arc::clone(&tree.files),
                file,
                key: self.key,
            }),
            mark: Mark { generation, end },
            len,
            broken,
            not_before: 0,
        })
    }
}
