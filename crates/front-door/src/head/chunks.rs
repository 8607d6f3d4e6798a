//! Follows a chunked body to its end, step for step as the parser behind does.

/// How far the body has come.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Digits of a chunk's size; whether there has been one.
    Size(bool),
    /// Behind the digits: blanks, then perhaps an extension.
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the beginning of a line behind the last chunk.
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
}

/// A chunked body that is passing.
#[derive(Debug)]
pub(super) struct Chunks {
    step: Step,
    /// Bytes of the chunk that are still to come.
    left: u64,
}

/// Where the bytes that were shown lead.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Walk {
    /// All of them are of the body, and it goes on.
    More,
    /// The body ends after so many.
    End(usize),
    /// This is no chunked body.
    Broken,
}

impl Default for Chunks {
    fn default() -> Self {
        Self {
            step: Step::Size(false),
            left: 0,
        }
    }
}

impl Chunks {
    pub(super) fn walk(&mut self, bytes: &[u8]) -> Walk {
        let mut at = 0;
        while at < bytes.len() {
            if matches!(self.step, Step::Data) {
                at += self.skip(bytes.len() - at);
                continue;
            }
            match self.next(bytes[at]) {
                Some(Step::EndLf) if matches!(self.step, Step::EndLf) => return Walk::End(at + 1),
                Some(step) => self.step = step,
                None => return Walk::Broken,
            }
            at += 1;
        }
        Walk::More
    }

    fn skip(&mut self, available: usize) -> usize {
        let taken = available.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= taken as u64;
        if self.left == 0 {
            self.step = Step::DataCr;
        }
        taken
    }

    /// The step behind one byte; staying at the last one is the end.
    fn next(&mut self, byte: u8) -> Option<Step> {
        Some(match (self.step, byte) {
            (Step::Size(_), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                let digit = char::from(byte).to_digit(16)?;
                self.left = self.left.checked_mul(16)?.checked_add(digit.into())?;
                Step::Size(true)
            }
            (Step::Size(true) | Step::Extension, b'\r') => Step::SizeLf,
            (Step::Size(true), b' ' | b'\t' | b';') => Step::Extension,
            (Step::Extension, byte) if byte != b'\n' => Step::Extension,
            (Step::SizeLf, b'\n') if self.left > 0 => Step::Data,
            (Step::SizeLf, b'\n') => Step::TrailerStart,
            (Step::DataCr, b'\r') => Step::DataLf,
            (Step::DataLf, b'\n') => Step::Size(false),
            (Step::TrailerStart, b'\r') => Step::EndLf,
            (Step::Trailer, b'\r') => Step::TrailerLf,
            // The parser takes it for the end of the line, and forgets what follows.
            (Step::TrailerStart | Step::Trailer, b'\n') => return None,
            (Step::TrailerStart | Step::Trailer, _) => Step::Trailer,
            (Step::TrailerLf, b'\n') => Step::TrailerStart,
            (Step::EndLf, b'\n') => Step::EndLf,
            _ => return None,
        })
    }
}
