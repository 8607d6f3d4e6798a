//! HTTP/2 frames as they pass: enough to see what kinds come how often, and which streams are not finished.

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) length: u32,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    /// The first word a reset, an update of a window or a priority carries; of nothing else.
    pub(crate) word: u32,
}

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// What a client says before its first frame.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const HEAD: usize = 9;
const WORD: usize = 4;
/// Of a stream whose peer has said nothing else.
const INITIAL_WINDOW: u32 = 65_535;
/// What a priority carries: a stream and a weight.
pub(crate) const PRIORITY_BYTES: u32 = 5;

impl Frame {
    fn parse(head: &[u8; HEAD + WORD]) -> Self {
        let [a, b, c, kind, flags, d, e, f, g, ..] = *head;
        Self {
            length: u32::from_be_bytes([0, a, b, c]),
            kind,
            flags,
            stream: u32::from_be_bytes([d, e, f, g]) & (u32::MAX >> 1),
            word: 0,
        }
    }

    fn carries_word(&self) -> bool {
        match self.kind {
            RST_STREAM | WINDOW_UPDATE => self.length as usize == WORD,
            PRIORITY => self.length == PRIORITY_BYTES,
            _ => false,
        }
    }

    pub(crate) fn ends_stream(&self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0
    }

    /// Whether a block of fields is left open that only a CONTINUATION can close.
    fn leaves_block_open(&self) -> bool {
        matches!(self.kind, HEADERS | CONTINUATION) && self.flags & END_HEADERS == 0
    }
}

/// Walks over one direction of a connection, split anywhere.
#[derive(Debug)]
pub(crate) struct Walker {
    /// Of a frame, and behind it the word it carries.
    head: [u8; HEAD + WORD],
    /// How much of that has passed.
    have: usize,
    /// Bytes of the frame, or the preface, that are still to pass.
    left: usize,
    last: Option<Frame>,
    settings: Settings,
}

/// What settings say of windows, entry by entry.
#[derive(Debug)]
struct Settings {
    entry: [u8; 6],
    have: usize,
    initial_window: u32,
}

impl Settings {
    const INITIAL_WINDOW: u16 = 4;

    fn pass(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.entry[self.have] = *byte;
            self.have = (self.have + 1) % self.entry.len();
            let [a, b, value @ ..] = self.entry;
            if self.have == 0 && u16::from_be_bytes([a, b]) == Self::INITIAL_WINDOW {
                self.initial_window = u32::from_be_bytes(value);
            }
        }
    }
}

impl Walker {
    /// Of what a client sends.
    pub(crate) fn incoming() -> Self {
        Self {
            left: PREFACE.len(),
            ..Self::outgoing()
        }
    }

    /// Of what a server sends.
    pub(crate) fn outgoing() -> Self {
        Self {
            head: [0; HEAD + WORD],
            have: 0,
            left: 0,
            last: None,
            settings: Settings {
                entry: [0; 6],
                have: 0,
                initial_window: INITIAL_WINDOW,
            },
        }
    }

    /// Shows each frame whose head is complete with these bytes; what carries a word once that is. And how many
    /// bytes a window begins with, as the settings that passed say.
    pub(crate) fn walk(&mut self, mut bytes: &[u8], mut seen: impl FnMut(Frame, u32)) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let skipped = self.left.min(bytes.len());
                if self.last.is_some_and(|frame| frame.kind == SETTINGS) {
                    self.settings.pass(&bytes[..skipped]);
                }
                self.left -= skipped;
                bytes = &bytes[skipped..];
                continue;
            }
            let wanted = if self.have < HEAD { HEAD } else { HEAD + WORD };
            let taken = (wanted - self.have).min(bytes.len());
            self.head[self.have..self.have + taken].copy_from_slice(&bytes[..taken]);
            self.have += taken;
            bytes = &bytes[taken..];
            if self.have < wanted {
                return;
            }
            let mut frame = Frame::parse(&self.head);
            self.left = frame.length as usize;
            if frame.carries_word() {
                if wanted == HEAD {
                    self.left = 0;
                    continue;
                }
                let [.., a, b, c, d] = self.head;
                frame.word = u32::from_be_bytes([a, b, c, d]);
                self.left -= WORD;
            }
            self.have = 0;
            self.settings.have = 0;
            self.last = Some(frame);
            seen(frame, self.settings.initial_window);
        }
    }

    /// What the peer has begun and not ended.
    pub(crate) fn unfinished(&self) -> Unfinished {
        match self.last {
            Some(frame) if self.left > 0 && frame.kind == DATA => Unfinished::Data,
            Some(frame) if frame.leaves_block_open() => Unfinished::Other,
            _ if self.left > 0 || self.have > 0 => Unfinished::Other,
            _ => Unfinished::Nothing,
        }
    }
}

/// A part of a message that is not all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfinished {
    Nothing,
    /// A piece of a body, which has a pace of its own.
    Data,
    /// A preface, a head of a frame, a block of fields.
    Other,
}

#[cfg(test)]
mod tests;
