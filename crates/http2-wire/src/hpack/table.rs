//! The table: what the standard has fixed, and behind it what the peer has said before, newest first.

use std::collections::VecDeque;

use super::name::Name;
use super::statics::{self, FIXED};
use super::{Broken, Field};

/// The size that a table may have where nobody has agreed on another.
const SIZE_MAX: u32 = 4096;
/// What an entry counts beside its text (§4.1).
pub(super) const OVERHEAD: usize = 32;

/// A field as it is remembered.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) field: Field,
    /// The name of a field that is unfit for another reason.
    spared: Option<Box<Name>>,
    name_bytes: u32,
    size: u32,
}

impl Entry {
    /// The lengths are those on the wire.
    pub(super) fn new(made: Result<Field, Name>, name_bytes: usize, value_bytes: usize) -> Self {
        let (field, spared) = match made {
            Ok(field) => (field, None),
            Err(Name::Unfit) => (Field::Unfit, None),
            Err(name) => (Field::Unfit, Some(Box::new(name))),
        };
        let size = name_bytes
            .saturating_add(value_bytes)
            .saturating_add(OVERHEAD);
        Self {
            field,
            spared,
            name_bytes: u32::try_from(name_bytes).unwrap_or(u32::MAX),
            size: u32::try_from(size).unwrap_or(u32::MAX),
        }
    }

    /// One that the standard has fixed.
    pub(super) const fn fixed(field: Field, name: &str, value: &str) -> Self {
        Self {
            field,
            spared: None,
            name_bytes: name.len() as u32,
            size: (name.len() + value.len() + OVERHEAD) as u32,
        }
    }

    /// The length of the name and the value, and what is counted beside them.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }

    /// The name, and how long it is.
    pub(super) fn name(&self) -> (Name, usize) {
        let name = match &self.field {
            Field::Method(_) => Name::Method,
            Field::Scheme(_) => Name::Scheme,
            Field::Authority(_) => Name::Authority,
            Field::Path(_) => Name::Path,
            Field::Header(name, _) => Name::Header(name.clone()),
            Field::Unfit => self.spared.as_deref().cloned().unwrap_or(Name::Unfit),
        };
        (name, self.name_bytes as usize)
    }
}

/// Takes no memory before the peer has something remembered.
#[derive(Debug)]
pub(super) struct Table {
    entries: VecDeque<Entry>,
    /// What the entries count together; never more than `most`.
    size: u32,
    most: u32,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            size: 0,
            most: SIZE_MAX,
        }
    }
}

impl Table {
    /// Counted from one; nothing where there is no such entry.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Entry> {
        match index.checked_sub(statics::LAST + 1) {
            Some(nth) => self.entries.get(nth),
            None => FIXED.get(index.wrapping_sub(1)),
        }
    }

    /// Makes room and remembers; what is larger than the table leaves it empty, and is not remembered (§4.4).
    pub(super) fn insert(&mut self, entry: Entry) {
        if entry.size > self.most {
            return self.clear();
        }
        self.shrink(self.most - entry.size);
        self.size += entry.size;
        if self.entries.len() == self.entries.capacity() {
            // Connections wait longer than they grow: small steps.
            let step = (self.entries.len() / 4).max(2);
            self.entries.reserve_exact(step);
        }
        self.entries.push_front(entry);
    }

    /// How large it may be from now on.
    pub(super) fn resize(&mut self, most: usize) -> Result<(), Broken> {
        let most = u32::try_from(most).map_err(|_| Broken::TableSize)?;
        if most > SIZE_MAX {
            return Err(Broken::TableSize);
        }
        self.most = most;
        match most {
            0 => {
                *self = Self {
                    most,
                    ..Self::default()
                }
            }
            _ => self.shrink(most),
        }
        Ok(())
    }

    fn shrink(&mut self, most: u32) {
        while self.size > most {
            let Some(oldest) = self.entries.pop_back() else {
                return;
            };
            self.size -= oldest.size;
        }
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.size = 0;
    }
}

#[cfg(test)]
mod tests;
