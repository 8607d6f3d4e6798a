//! Bytes that came from a peer, cut into heads and bodies; a message stays whole until it is taken.

use super::{Framing, Malformed};
use crate::http::Failure;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A head larger than this is refused.
pub(crate) const MAX_HEAD_BYTES: usize = 4 << 20;
/// A message larger than this is refused, so that an endless body ends somewhere.
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 << 20;

const READ_BYTES: usize = 16 << 10;

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    buffer: Vec<u8>,
    /// End of what the message under way has been parsed up to.
    at: usize,
}

impl Inbox {
    /// Whether bytes wait that belong to no message taken so far.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Whatever has come and was not taken, parsed or not.
    pub(crate) fn take_all(&mut self) -> Vec<u8> {
        self.at = 0;
        std::mem::take(&mut self.buffer)
    }

    /// The raw bytes of the message parsed so far; the next message starts after them.
    pub(crate) fn take_message(&mut self) -> Vec<u8> {
        let rest = self.buffer.split_off(self.at);
        self.at = 0;
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Reads up to and including the next empty line.
    pub(crate) async fn head(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
    ) -> Result<Vec<u8>, Failure> {
        let mut searched = self.at;
        loop {
            let from = searched.saturating_sub(3).max(self.at);
            if let Some(end) = find(&self.buffer[from..], b"\r\n\r\n") {
                return Ok(self.advance(from + end + 4).to_vec());
            }
            searched = self.buffer.len();
            if searched - self.at > MAX_HEAD_BYTES {
                return Err(Failure::TooLarge);
            }
            self.fill(reader).await?;
        }
    }

    /// Reads the body that follows the head, decoded.
    pub(crate) async fn body(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
        framing: Framing,
    ) -> Result<Vec<u8>, Failure> {
        match framing {
            Framing::Empty => Ok(Vec::new()),
            Framing::Length(bytes) => {
                let bytes = usize::try_from(bytes).map_err(|_| Failure::TooLarge)?;
                self.exactly(reader, bytes).await
            }
            Framing::Chunked => self.chunks(reader).await,
            Framing::UntilClose => self.until_close(reader).await,
        }
    }

    async fn exactly(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
        bytes: usize,
    ) -> Result<Vec<u8>, Failure> {
        if bytes > MAX_MESSAGE_BYTES {
            return Err(Failure::TooLarge);
        }
        while self.buffer.len() - self.at < bytes {
            self.fill(reader).await?;
        }
        Ok(self.advance(self.at + bytes).to_vec())
    }

    async fn chunks(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        loop {
            let line = self.line(reader).await?;
            let size = chunk_size(&line)?;
            if size == 0 {
                break;
            }
            body.extend(self.exactly(reader, size).await?);
            if !self.line(reader).await?.is_empty() {
                return Err(Malformed("chunk longer than its size").into());
            }
        }
        while !self.line(reader).await?.is_empty() {}
        Ok(body)
    }

    async fn line(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, Failure> {
        loop {
            if let Some(end) = find(&self.buffer[self.at..], b"\r\n") {
                return Ok(self.advance(self.at + end + 2)[..end].to_vec());
            }
            if self.buffer.len() - self.at > MAX_HEAD_BYTES {
                return Err(Failure::TooLarge);
            }
            self.fill(reader).await?;
        }
    }

    async fn until_close(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
    ) -> Result<Vec<u8>, Failure> {
        loop {
            match self.fill(reader).await {
                Ok(()) => {}
                Err(Failure::Truncated) => break,
                Err(other) => return Err(other),
            }
        }
        Ok(self.advance(self.buffer.len()).to_vec())
    }

    fn advance(&mut self, to: usize) -> &[u8] {
        let start = std::mem::replace(&mut self.at, to);
        &self.buffer[start..to]
    }

    /// Reads something, or says in which way the peer went away.
    async fn fill(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> Result<(), Failure> {
        if self.buffer.len() > MAX_MESSAGE_BYTES {
            return Err(Failure::TooLarge);
        }
        self.buffer.reserve(READ_BYTES);
        match reader.read_buf(&mut self.buffer).await {
            Ok(0) if self.buffer.is_empty() => Err(Failure::ClosedBeforeByte),
            Ok(0) => Err(Failure::Truncated),
            Ok(_) => Ok(()),
            Err(_) if self.buffer.is_empty() => Err(Failure::ResetBeforeByte),
            Err(_) => Err(Failure::ResetMidResponse),
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}

fn chunk_size(line: &[u8]) -> Result<usize, Failure> {
    let digits = line
        .split(|b| *b == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    let all_hex = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let size = std::str::from_utf8(digits).ok().filter(|_| all_hex);
    let size = size.and_then(|digits| usize::from_str_radix(digits, 16).ok());
    size.ok_or(Failure::Malformed(Malformed("chunk size")))
}
