//! Packs by the book, for tests: integers, strings and what a peer may make of both.

use std::collections::VecDeque;

use super::huffman::BITS;

/// An integer behind the first bits of an octet.
pub(super) fn integer(kind: u8, bits: u32, value: u32) -> Vec<u8> {
    let full = (1 << bits) - 1;
    if value < full {
        return vec![kind | value as u8];
    }
    let (mut octets, mut left) = (vec![kind | full as u8], value - full);
    while left >= 128 {
        octets.push((left % 128 + 128) as u8);
        left /= 128;
    }
    octets.push(left as u8);
    octets
}

/// The code of each octet and of the end mark, as text.
fn codes() -> Vec<String> {
    let mut order: Vec<usize> = (0..BITS.len()).collect();
    order.sort_by_key(|symbol| (BITS[*symbol], *symbol));
    let mut codes = vec![String::new(); BITS.len()];
    let (mut next, mut before) = (0_u64, 0);
    for symbol in order {
        next <<= BITS[symbol] - before;
        before = BITS[symbol];
        codes[symbol] = format!("{next:0width$b}", width = before.into());
        next += 1;
    }
    codes
}

/// Octets of zeros and ones.
pub(super) fn octets(bits: &str) -> Vec<u8> {
    let octet = |bits: &[u8]| u8::from_str_radix(std::str::from_utf8(bits).unwrap(), 2).unwrap();
    bits.as_bytes().chunks(8).map(octet).collect()
}

/// The codes of some octets, as zeros and ones; 256 is the end mark.
pub(super) fn bits(symbols: impl IntoIterator<Item = usize>) -> String {
    let codes = codes();
    let codes = symbols.into_iter().map(|symbol| codes[symbol].as_str());
    codes.collect()
}

/// A text, coded and filled up with ones.
pub(super) fn huffman(text: &[u8]) -> Vec<u8> {
    let mut bits = bits(text.iter().map(|byte| usize::from(*byte)));
    bits.push_str(&"1".repeat(bits.len().next_multiple_of(8) - bits.len()));
    octets(&bits)
}

pub(super) fn string(text: &[u8], coded: bool) -> Vec<u8> {
    let (kind, text) = match coded {
        true => (0x80, huffman(text)),
        false => (0, text.to_vec()),
    };
    let mut octets = integer(kind, 7, text.len().try_into().unwrap());
    octets.extend_from_slice(&text);
    octets
}

/// How a peer says a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// 0x40 to be remembered, 0x10 never to be, 0 neither.
    pub(super) kind: u8,
    /// Whether it points at the whole field, or at the name, where it can.
    pub(super) whole: bool,
    pub(super) by_name: bool,
    pub(super) coded: (bool, bool),
}

pub(super) type Said = (Vec<u8>, Vec<u8>);

/// The other side of a connection.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// What it believes to be remembered, newest first.
    pub(super) table: VecDeque<Said>,
    pub(super) most: usize,
}

impl Peer {
    pub(super) fn resize(&mut self, most: u32) -> Vec<u8> {
        self.most = most as usize;
        self.evict(0);
        integer(0x20, 5, most)
    }

    pub(super) fn say(&mut self, said: &Said, manner: Manner) -> Vec<u8> {
        let at =
            |is: &dyn Fn(&Said) -> bool| self.known().iter().position(is).map(|at| at as u32 + 1);
        let same = at(&|one| one == said).filter(|_| manner.whole);
        if let Some(index) = same {
            return integer(0x80, 7, index);
        }
        let bits = if manner.kind == 0x40 { 6 } else { 4 };
        let name = at(&|one| one.0 == said.0).filter(|_| manner.by_name);
        let mut octets = integer(manner.kind, bits, name.unwrap_or(0));
        if name.is_none() {
            octets.extend(string(&said.0, manner.coded.0));
        }
        octets.extend(string(&said.1, manner.coded.1));
        if manner.kind == 0x40 {
            self.evict(size(said));
            if size(said) <= self.most {
                self.table.push_front(said.clone());
            }
        }
        octets
    }

    /// Leaves room for an entry of this size.
    fn evict(&mut self, room: usize) {
        while !self.table.is_empty() && self.size() + room > self.most {
            self.table.pop_back();
        }
    }

    pub(super) fn size(&self) -> usize {
        self.table.iter().map(size).sum()
    }

    fn known(&self) -> Vec<Said> {
        let fixed = fixed().into_iter();
        fixed.chain(self.table.iter().cloned()).collect()
    }
}

pub(super) fn size((name, value): &Said) -> usize {
    name.len() + value.len() + 32
}

/// The entries of Appendix A.
pub(super) fn fixed() -> Vec<Said> {
    let entry = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        (name.as_bytes().to_vec(), value.as_bytes().to_vec())
    };
    FIXED.trim().lines().map(str::trim).map(entry).collect()
}

const FIXED: &str = "
:authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate
";
