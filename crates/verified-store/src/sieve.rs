//! SIEVE: a queue of insertion order, a mark for what was visited, and a hand that looks for what was not.
//!
//! Chosen over LRU because a visit only sets a mark, and over S3-FIFO because it needs no list of ghosts; on web
//! workloads both are ahead of LRU. Nodes are numbered, so that callers can hold on to one.

const NONE: u32 = u32::MAX;

/// What is kept, in the order in which it came.
#[derive(Debug)]
pub(crate) struct Sieve<T> {
    nodes: Vec<Node<T>>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    hand: u32,
    len: usize,
}

#[derive(Debug)]
struct Node<T> {
    value: Option<T>,
    newer: u32,
    older: u32,
    visited: bool,
}

impl<T> Sieve<T> {
    pub(crate) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            hand: NONE,
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let id = self.slot(value);
        self.link(id);
        self.len += 1;
        id
    }

    fn slot(&mut self, value: T) -> u32 {
        let node = Node {
            value: Some(value),
            newer: NONE,
            older: self.newest,
            visited: false,
        };
        match self.free.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                id
            }
            None => {
                let id = u32::try_from(self.nodes.len()).expect("limits count in 32 bits");
                self.nodes.push(node);
                id
            }
        }
    }

    fn link(&mut self, id: u32) {
        match self.newest {
            NONE => self.oldest = id,
            newest => self.nodes[newest as usize].newer = id,
        }
        self.newest = id;
    }

    /// Takes a node out of the queue and gives its number free.
    pub(crate) fn remove(&mut self, id: u32) -> T {
        let node = &mut self.nodes[id as usize];
        let value = node.value.take().expect("a number is removed once");
        let (newer, older) = (node.newer, node.older);
        match newer {
            NONE => self.newest = older,
            newer => self.nodes[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.nodes[older as usize].newer = newer,
        }
        if self.hand == id {
            self.hand = newer;
        }
        self.free.push(id);
        self.len -= 1;
        value
    }

    pub(crate) fn get(&self, id: u32) -> &T {
        self.nodes[id as usize]
            .value
            .as_ref()
            .expect("a number in use")
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> &mut T {
        self.nodes[id as usize]
            .value
            .as_mut()
            .expect("a number in use")
    }

    /// Marks; says whether it was unmarked before.
    pub(crate) fn visit(&mut self, id: u32) -> bool {
        !std::mem::replace(&mut self.nodes[id as usize].visited, true)
    }

    /// The node that is to go next, among those that `may_go`. Two rounds at most: the first clears all marks.
    pub(crate) fn victim(&mut self, may_go: impl Fn(&T) -> bool) -> Option<u32> {
        for _ in 0..2 * self.len {
            if self.hand == NONE {
                self.hand = self.oldest;
            }
            let id = self.hand;
            let node = &mut self.nodes[id as usize];
            self.hand = node.newer;
            let spared = std::mem::replace(&mut node.visited, false);
            if !spared && node.value.as_ref().is_some_and(&may_go) {
                return Some(id);
            }
        }
        None
    }

    /// All of them, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let mut next = self.oldest;
        std::iter::from_fn(move || {
            let node = self.nodes.get(next as usize)?;
            next = node.newer;
            node.value.as_ref()
        })
    }
}

#[cfg(test)]
mod tests;
