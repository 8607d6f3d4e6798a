//! Reads a log from its start to its end, over whatever damage there is.

use super::HEAD;
use super::frame::{ALIGN, Frame, HEADER, claimed_len, decode};
use crate::files::Files;
use crate::index::Spot;
use std::fs::File;
use std::io;

const WINDOW: usize = 1 << 20;

/// A log's bytes, a part of them at a time.
pub(super) struct Scan<'a> {
    files: &'a dyn Files,
    file: &'a File,
    len: u64,
    window: Vec<u8>,
    /// Where the window starts.
    start: u64,
}

/// What a scan came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Behind the last good frame.
    pub(super) end: u64,
    pub(super) damaged: u64,
}

impl<'a> Scan<'a> {
    pub(super) fn new(files: &'a dyn Files, file: &'a File) -> io::Result<Self> {
        Ok(Self {
            files,
            file,
            len: file.metadata()?.len(),
            window: Vec::new(),
            start: 0,
        })
    }

    /// The first bytes of the file, if it is that long.
    pub(super) fn head(&mut self) -> io::Result<Option<&[u8]>> {
        self.part(0, HEAD)
    }

    /// Shows each good frame and where it is. A stretch of bytes that are neither frames nor zeros is one damage;
    /// so is what a crash left of a frame that nobody was promised.
    pub(super) fn run(
        &mut self,
        key: &[u8; 32],
        mut each: impl FnMut(Frame<'_>, Spot),
    ) -> io::Result<Scanned> {
        let mut scanned = Scanned {
            end: HEAD as u64,
            damaged: 0,
        };
        let (mut at, mut in_damage) = (HEAD as u64, false);
        while at < self.len {
            if let Some(len) = self.frame_at(at, key, &mut each)? {
                at += u64::from(len);
                scanned.end = at;
                in_damage = false;
                continue;
            }
            let blank = self
                .part(at, ALIGN)?
                .is_none_or(|bytes| bytes.iter().all(|byte| *byte == 0));
            if !blank && !in_damage {
                scanned.damaged += 1;
                in_damage = true;
            }
            at += ALIGN as u64;
        }
        Ok(scanned)
    }

    fn frame_at(
        &mut self,
        at: u64,
        key: &[u8; 32],
        each: &mut impl FnMut(Frame<'_>, Spot),
    ) -> io::Result<Option<u32>> {
        let Some(len) = self.part(at, HEADER)?.and_then(claimed_len) else {
            return Ok(None);
        };
        let Some(frame) = self.part(at, len)?.and_then(|bytes| decode(bytes, key)) else {
            return Ok(None);
        };
        let len = u32::try_from(len).map_err(io::Error::other)?;
        each(frame, Spot { at, len });
        Ok(Some(len))
    }

    /// The bytes at `at`, or none if the log ends before.
    fn part(&mut self, at: u64, len: usize) -> io::Result<Option<&[u8]>> {
        if self
            .len
            .checked_sub(at)
            .is_none_or(|left| left < len as u64)
        {
            return Ok(None);
        }
        let within = usize::try_from(at.wrapping_sub(self.start)).unwrap_or(usize::MAX);
        let have = self.window.len().checked_sub(within);
        if have.is_none_or(|have| have < len) {
            return self.refill(at, len).map(Some);
        }
        Ok(Some(&self.window[within..within + len]))
    }

    fn refill(&mut self, at: u64, len: usize) -> io::Result<&[u8]> {
        let left = usize::try_from(self.len - at).unwrap_or(usize::MAX);
        self.window.resize(WINDOW.max(len).min(left), 0);
        self.start = at;
        if let Err(error) = self.files.read(self.file, &mut self.window, at) {
            self.window.clear();
            return Err(error);
        }
        Ok(&self.window[..len])
    }
}
