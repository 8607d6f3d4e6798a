//! A body in chunks, as it comes.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;

use crate::fault::Fault;
use crate::fields;
use crate::scan::Scan;

/// A line that says a chunk's size, with its extensions, at most.
const LINE_BYTES: usize = 4 * 1024;
/// Extensions of all chunks of a body: they carry nothing, and cost who reads them.
const EXTENSION_BYTES: usize = 16 * 1024;
/// The trailers, at most.
const TRAILER_BYTES: usize = 16 * 1024;

/// Where in the chunks the reader is.
#[derive(Debug)]
pub(crate) struct Chunks {
    at: At,
    extensions_left: usize,
}

#[derive(Debug)]
enum At {
    Size,
    /// Bytes of the chunk that are still to come.
    Data(u64),
    /// The end of the line after a chunk's data.
    Gap,
    Trailers(Scan),
    End,
}

/// What was found.
pub(crate) enum Step {
    Data(Bytes),
    Trailers(HeaderMap),
    /// More has to come first.
    Wait,
    End,
}

impl Chunks {
    pub(crate) fn new() -> Self {
        Self {
            at: At::Size,
            extensions_left: EXTENSION_BYTES,
        }
    }

    pub(crate) fn next(&mut self, inbox: &mut BytesMut) -> Result<Step, Fault> {
        loop {
            let step = match &mut self.at {
                At::Size => self.size(inbox)?,
                At::Data(left) => {
                    let here = usize::try_from(*left)
                        .unwrap_or(usize::MAX)
                        .min(inbox.len());
                    if here == 0 {
                        return Ok(Step::Wait);
                    }
                    *left -= here as u64;
                    if *left == 0 {
                        self.at = At::Gap;
                    }
                    return Ok(Step::Data(inbox.split_to(here).freeze()));
                }
                At::Gap => self.gap(inbox)?,
                At::Trailers(_) => return self.trailers(inbox),
                At::End => return Ok(Step::End),
            };
            if let Some(step) = step {
                return Ok(step);
            }
        }
    }

    /// Reads the line that begins a chunk.
    fn size(&mut self, inbox: &mut BytesMut) -> Result<Option<Step>, Fault> {
        let most = inbox.len().min(LINE_BYTES);
        let Some(end) = memchr::memchr(b'\n', &inbox[..most]) else {
            return match most < LINE_BYTES {
                true => Ok(Some(Step::Wait)),
                false => Err(Fault::Garbage("no end of a chunk's size")),
            };
        };
        if end == 0 || inbox[end - 1] != b'\r' {
            return Err(Fault::Garbage("a chunk's size"));
        }
        let (size, extension) = size(&inbox[..end - 1])?;
        let left = self.extensions_left.checked_sub(extension);
        self.extensions_left = left.ok_or(Fault::Garbage("too many chunk extensions"))?;
        let _line = inbox.split_to(end + 1);
        self.at = match size {
            0 => At::Trailers(Scan::default()),
            size => At::Data(size),
        };
        Ok(None)
    }

    fn gap(&mut self, inbox: &mut BytesMut) -> Result<Option<Step>, Fault> {
        match &inbox[..inbox.len().min(2)] {
            b"\r\n" => {
                let _line = inbox.split_to(2);
                self.at = At::Size;
                Ok(None)
            }
            b"" | b"\r" => Ok(Some(Step::Wait)),
            _ => Err(Fault::Garbage("a chunk is longer than its size")),
        }
    }

    fn trailers(&mut self, inbox: &mut BytesMut) -> Result<Step, Fault> {
        let At::Trailers(scan) = &mut self.at else {
            return Ok(Step::End);
        };
        let Some(length) = scan.find(inbox, TRAILER_BYTES)? else {
            return Ok(Step::Wait);
        };
        let scan = *scan;
        self.at = At::End;
        let block = inbox.split_to(length);
        if scan.lines == 0 {
            return Ok(Step::End);
        }
        let mut trailers = HeaderMap::new();
        // What they say of framing is too late to mean anything.
        fields::read(&block, &scan, (0, 0), &mut trailers, |_, _| Ok(true))?;
        Ok(Step::Trailers(trailers))
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.at, At::End)
    }
}

/// A size in hexadecimal digits, and the length of what follows it.
fn size(line: &[u8]) -> Result<(u64, usize), Fault> {
    let bad = Fault::Garbage("a chunk's size");
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let count = digits.count();
    if count == 0 || count > 16 {
        return Err(bad);
    }
    let (digits, extension) = line.split_at(count);
    let digit =
        |size: u64, byte: &u8| size << 4 | u64::from(char::from(*byte).to_digit(16).unwrap_or(0));
    let size = digits.iter().fold(0, digit);
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let opens = extension.iter().find(|byte| !blank(byte));
    let printable = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    if !matches!(opens, None | Some(b';')) || !extension.iter().all(printable) {
        return Err(bad);
    }
    Ok((size, extension.len()))
}

#[cfg(test)]
mod tests;
