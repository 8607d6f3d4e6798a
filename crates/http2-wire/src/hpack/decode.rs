//! Unpacks blocks, and keeps the table that they refer to.

use super::input::Input;
use super::name::Name;
use super::table::{Entry, Table};
use super::{Broken, Field};

/// How often a table's size may change before a block: down to the least it had, and up to what it is to be (§4.2).
const UPDATES_MAX: usize = 2;

/// Unpacks what one peer says on one connection. Its blocks depend on each other: all are to be unpacked once and in
/// order, those of refused requests too.
#[derive(Debug, Default)]
pub struct Decoder {
    table: Table,
}

/// What to do with a literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Remember,
    Forget,
    /// Nobody on the way may remember it.
    Hide,
}

impl Decoder {
    /// With an empty table, of the size that the protocol begins with.
    pub fn new() -> Self {
        Self::default()
    }

    /// Unpacks a whole block. Each field is shown with its size as a list of fields counts it: its name, its value and
    /// 32. A block that breaks has shown what came before that.
    #[inline]
    pub fn decode(
        &mut self,
        block: &[u8],
        mut seen: impl FnMut(&Field, usize),
    ) -> Result<(), Broken> {
        let mut input = Input::new(block);
        if input.peek().is_some_and(is_update) {
            self.update(&mut input)?;
        }
        while let Some(first) = input.take() {
            if first & 0x80 != 0 {
                let index = input.integer(first, 7)?;
                let entry = self.table.get(index).ok_or(Broken::Index)?;
                seen(&entry.field, entry.size());
                continue;
            }
            let (entry, keep) = self.literal(first, &mut input)?;
            seen(&entry.field, entry.size());
            if keep == Keep::Remember {
                self.table.insert(entry);
            }
        }
        Ok(())
    }

    #[cold]
    fn update(&mut self, input: &mut Input<'_>) -> Result<(), Broken> {
        for _ in 0..UPDATES_MAX {
            let Some(first) = input.peek().filter(|first| is_update(*first)) else {
                break;
            };
            let _same = input.take();
            self.table.resize(input.integer(first, 5)?)?;
        }
        Ok(())
    }

    fn literal(&self, first: u8, input: &mut Input<'_>) -> Result<(Entry, Keep), Broken> {
        let (keep, bits) = match first {
            0x40.. => (Keep::Remember, 6),
            0x20.. => return Err(Broken::Misplaced),
            0x10.. => (Keep::Hide, 4),
            _ => (Keep::Forget, 4),
        };
        let (name, name_bytes) = match input.integer(first, bits)? {
            0 => input.string(|text| (Name::read(text), text.len()))?,
            index => self.table.get(index).ok_or(Broken::Index)?.name(),
        };
        let entry = input.string(|text| {
            let made = name.with(text, keep == Keep::Hide);
            Entry::new(made, name_bytes, text.len())
        })?;
        Ok((entry, keep))
    }
}

fn is_update(first: u8) -> bool {
    first & 0xe0 == 0x20
}

#[cfg(test)]
mod tests;
