//! Every entry of a PMTiles file, in the order of its tiles.

use std::ops::RangeInclusive;

use crate::error::{Fault, PackError, Part};
use crate::limits::Wait;

use super::{Entry, PmTiles, Section, malformed};

/// A walk. Numbers only ascend along it, so a directory that leads back to itself ends it: what it holds was passed,
/// or it nests too deep.
struct Walk<'a> {
    pack: &'a PmTiles,
    wanted: RangeInclusive<u64>,
    /// Everything below was passed.
    free: u64,
}

/// A directory to walk through.
#[derive(Clone, Copy)]
struct Step {
    place: Section,
    part: Part,
    depth: u8,
    /// The entry after it begins here, so its own do not.
    end: u64,
}

impl PmTiles {
    /// Visits the entries that hold any of the wanted tiles.
    pub(crate) fn each_entry<E: From<PackError>>(
        &self,
        wanted: RangeInclusive<u64>,
        visit: &mut impl FnMut(&Entry) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut walk = Walk {
            pack: self,
            wanted,
            free: 0,
        };
        let root = Step {
            place: self.header.root,
            part: Part::Root,
            depth: 0,
            end: u64::MAX,
        };
        walk.through(root, visit)
    }
}

impl Walk<'_> {
    fn through<E: From<PackError>>(
        &mut self,
        step: Step,
        visit: &mut impl FnMut(&Entry) -> Result<(), E>,
    ) -> Result<(), E> {
        let fault = |fault| malformed(fault, step.part, step.place);
        let directory = self.pack.directory(step.place, step.part, Wait::Allowed)?;
        let entries = directory.entries();
        for (at, entry) in entries.iter().enumerate() {
            let last = entry.id + u64::from(entry.run).saturating_sub(1);
            if entry.id < self.free || last >= step.end {
                return Err(fault(Fault::Order).into());
            }
            let next = entries.get(at + 1).map_or(step.end, |next| next.id);
            let reach = if entry.is_leaf() { next - 1 } else { last };
            if *self.wanted.start() > reach || *self.wanted.end() < entry.id {
                continue;
            }
            if !entry.is_leaf() {
                self.free = last + 1;
                visit(entry)?;
                continue;
            }
            if step.depth == self.pack.limits.depth {
                return Err(fault(Fault::Depth).into());
            }
            self.free = entry.id;
            let leaf = Step {
                place: self.pack.place(entry),
                part: Part::Leaf,
                depth: step.depth + 1,
                end: next,
            };
            self.through(leaf, visit)?;
        }
        Ok(())
    }
}
