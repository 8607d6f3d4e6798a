//! How a part of an object is checked without the rest of it.
//!
//! BLAKE3 is a tree. The values of its subtrees of 64 KiB are kept behind the object's bytes; merged they give the
//! object's hash, so they need no trust of their own, and each of them vouches for its 64 KiB. It costs 1/2048 of
//! the space. An object of up to 64 KiB is one group, and its file is its bytes and nothing else.

use crate::Hash;
use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root,
};

/// The bytes that are checked together. A power of two times 1 KiB, so that a group is a subtree.
pub(crate) const GROUP: u64 = 64 * 1024;
const VALUE: u64 = 32;

const _: () = assert!(GROUP.is_power_of_two() && GROUP >= 1024);

/// In how many groups an object of `len` bytes is checked.
pub(crate) const fn groups(len: u64) -> u64 {
    if len == 0 { 1 } else { len.div_ceil(GROUP) }
}

/// The bytes of the values behind an object of `len` bytes.
pub(crate) const fn values_len(len: u64) -> u64 {
    match groups(len) {
        1 => 0,
        groups => groups * VALUE,
    }
}

/// The length of the object in a file of `file_len` bytes; none for a length that no file of ours has.
pub(crate) fn content_len(file_len: u64) -> Option<u64> {
    if file_len <= GROUP {
        return Some(file_len);
    }
    let groups = file_len.div_ceil(GROUP + VALUE);
    let len = file_len.checked_sub(groups * VALUE)?;
    (groups > 1 && self::groups(len) == groups).then_some(len)
}

/// Hashes an object while it streams by, and keeps the values of its groups.
pub(crate) struct Hasher {
    group: blake3::Hasher,
    /// Bytes in the group so far.
    filled: u64,
    values: Vec<ChainingValue>,
}

impl Hasher {
    pub(crate) fn new() -> Self {
        Self {
            group: blake3::Hasher::new(),
            filled: 0,
            values: Vec::new(),
        }
    }

    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.filled == GROUP {
                self.next_group();
            }
            let room = usize::try_from(GROUP - self.filled).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.group.update(now);
            self.filled += now.len() as u64;
            bytes = later;
        }
    }

    /// Only when a byte follows: the last group is finished as the root if it is the only one.
    fn next_group(&mut self) {
        self.values.push(self.group.finalize_non_root());
        let offset = self.values.len() as u64 * GROUP;
        self.group = blake3::Hasher::new();
        self.group.set_input_offset(offset);
        self.filled = 0;
    }

    /// The hash, and the bytes that go behind the object.
    pub(crate) fn finish(mut self) -> (Hash, Vec<u8>) {
        if self.values.is_empty() {
            return (Hash::from_bytes(self.group.finalize().into()), Vec::new());
        }
        self.values.push(self.group.finalize_non_root());
        (root(&self.values), self.values.concat())
    }
}

/// What an object's bytes are checked against.
#[derive(Debug)]
pub(crate) enum Proof {
    Whole(Hash),
    Groups(Vec<ChainingValue>),
}

impl Proof {
    /// From the bytes behind an object; none if they do not merge to its hash.
    pub(crate) fn read(hash: &Hash, values: &[u8]) -> Option<Self> {
        if values.is_empty() {
            return Some(Self::Whole(*hash));
        }
        let (values, rest) = values.as_chunks::<{ VALUE as usize }>();
        let good = rest.is_empty() && values.len() > 1 && root(values) == *hash;
        good.then(|| Self::Groups(values.to_vec()))
    }

    /// Whether `bytes` are the group of that number.
    pub(crate) fn vouches(&self, group: u64, bytes: &[u8]) -> bool {
        match self {
            Self::Whole(hash) => group == 0 && Hash::of(bytes) == *hash,
            // An empty group is no subtree.
            Self::Groups(_) if bytes.is_empty() => false,
            Self::Groups(values) => {
                let mut hasher = blake3::Hasher::new();
                hasher.set_input_offset(group * GROUP).update(bytes);
                let expected = usize::try_from(group).ok().and_then(|at| values.get(at));
                expected == Some(&hasher.finalize_non_root())
            }
        }
    }
}

/// Of at least two values.
fn root(values: &[ChainingValue]) -> Hash {
    let (left, right) = halves(values);
    let root = merge_subtrees_root(&merged(left), &merged(right), Mode::Hash);
    Hash::from_bytes(root.into())
}

fn merged(values: &[ChainingValue]) -> ChainingValue {
    match values {
        [value] => *value,
        _ => {
            let (left, right) = halves(values);
            merge_subtrees_non_root(&merged(left), &merged(right), Mode::Hash)
        }
    }
}

/// The left one is the largest full subtree that leaves something for the right one.
fn halves(values: &[ChainingValue]) -> (&[ChainingValue], &[ChainingValue]) {
    values.split_at(values.len().div_ceil(2).next_power_of_two())
}

#[cfg(test)]
mod tests;
