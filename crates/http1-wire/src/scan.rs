//! Finds where a block of lines ends, a piece at a time.

use crate::fault::Fault;

/// Lines whose ends are remembered; most blocks have no more.
const MARKS: usize = 24;

/// How far a block has been looked through; each byte is looked at once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scan {
    seen: usize,
    /// Where the line begins that is being looked at.
    line: usize,
    pub(crate) lines: usize,
    /// Where the first lines end; zero is not known.
    marks: [u16; MARKS],
}

impl Scan {
    /// The length of the block with the empty line that ends it, once that is there; no more than `most`.
    ///
    /// A line ends in CRLF. Who takes a bare LF for an end sees other lines than who does not, so there is none.
    pub(crate) fn find(&mut self, bytes: &[u8], most: usize) -> Result<Option<usize>, Fault> {
        let (bytes, whole) = (&bytes[..bytes.len().min(most)], bytes.len());
        while let Some(found) = memchr::memchr(b'\n', &bytes[self.seen..]) {
            let at = self.seen + found;
            if at == self.line || bytes[at - 1] != b'\r' {
                return Err(Fault::Garbage("a line ends in a bare line feed"));
            }
            self.seen = at + 1;
            if at == self.line + 1 {
                return Ok(Some(at + 1));
            }
            if let Some(mark) = self.marks.get_mut(self.lines) {
                *mark = u16::try_from(at).unwrap_or(0);
            }
            self.line = at + 1;
            self.lines += 1;
        }
        self.seen = bytes.len();
        match whole > most {
            true => Err(Fault::Oversized("no end of the fields")),
            false => Ok(None),
        }
    }

    /// Where the line feed of a line is that begins at `from`, in a block that was found.
    #[inline]
    pub(crate) fn end(&self, line: usize, block: &[u8], from: usize) -> usize {
        match self.marks.get(line) {
            Some(&mark) if mark > 0 => usize::from(mark),
            _ => from + memchr::memchr(b'\n', &block[from..]).unwrap_or(0),
        }
    }
}
