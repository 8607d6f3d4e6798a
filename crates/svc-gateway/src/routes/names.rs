//! What is found by a name, most of the time by its length alone: that it is not there.

use hashbrown::HashMap;

/// By name.
#[derive(Debug)]
pub(super) struct Names<T> {
    map: HashMap<Box<str>, T>,
    /// Which lengths there are among the names, one bit for each; the last is for all that are longer.
    lengths: u64,
    /// Those that share the last bit, the shortest first.
    long: Vec<usize>,
}

/// From this length on, names share a bit.
const LONG: usize = 63;

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self {
            map: HashMap::new(),
            lengths: 0,
            long: Vec::new(),
        }
    }
}

impl<T: Default> Names<T> {
    /// What is there under this name, or comes there.
    pub(super) fn entry(&mut self, name: &str) -> &mut T {
        self.lengths |= bit(name.len());
        if name.len() >= LONG
            && let Err(place) = self.long.binary_search(&name.len())
        {
            self.long.insert(place, name.len());
        }
        self.map.entry(name.into()).or_default()
    }
}

impl<T> Names<T> {
    #[inline]
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        if self.lengths & bit(name.len()) == 0 {
            return None;
        }
        self.map.get(name)
    }

    /// How long names are that are no longer than this, the longest first.
    pub(super) fn lengths(&self, most: usize) -> impl Iterator<Item = usize> {
        let long = self.long.iter().rev().copied();
        let mut short = self.lengths & ((bit(most) - 1) | bit(most)) & (bit(LONG) - 1);
        let short = std::iter::from_fn(move || {
            let length = short.checked_ilog2()?;
            short ^= 1 << length;
            Some(length as usize)
        });
        long.skip_while(move |length| *length > most).chain(short)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lengths == 0
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&Box<str>, &mut T)> {
        self.map.iter_mut()
    }
}

#[inline]
fn bit(length: usize) -> u64 {
    1 << length.min(LONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-01
    #[test]
    fn every_name_is_found_and_no_other_however_long_they_are() {
        let mut names = Names::<usize>::default();
        assert!(names.is_empty() && names.get("").is_none());
        let name = |length: usize| "n".repeat(length);
        for length in [0, 1, 62, 63, 64, 200] {
            *names.entry(&name(length)) = length;
        }
        for length in 0..300 {
            let known = [0, 1, 62, 63, 64, 200].contains(&length);
            let found = names.get(&name(length));
            assert_eq!(found, known.then_some(&length), "{length}");
            assert_eq!(names.get(&"m".repeat(length.max(1))), None);
            let mut lengths: Vec<_> = names.lengths(length).collect();
            lengths.reverse();
            let fitting = [0, 1, 62, 63, 64, 200].into_iter();
            let fitting: Vec<_> = fitting.filter(|known| *known <= length).collect();
            assert_eq!(lengths, fitting, "{length}");
        }
    }
}
