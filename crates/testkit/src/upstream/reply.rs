//! What an origin answers: a plain reply, and the one fault it may carry.

use crate::wire::RequestHead;
use std::time::Duration;

/// A larger `bytes=` is refused.
const MAX_FILLER_BYTES: usize = 64 << 20;

/// One way of answering badly. Byte counts are of the body as it is before framing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Takes the request and never answers.
    Silence,
    /// Resets the connection instead of answering.
    Reset,
    /// Sends the head and so many bytes of the body, then nothing more.
    StallAt(usize),
    /// Sends the head and so many bytes of the body, then resets.
    ResetAt(usize),
    /// Sends the head and so many bytes of the body, then ends its sending side and reads on.
    HalfCloseAt(usize),
    /// Sends bytes that are not HTTP and closes.
    Garbage,
    /// Declares so many bytes fewer than it sends, and stays open.
    LengthShort(usize),
    /// Declares so many bytes more than it sends, and closes.
    LengthLong(usize),
    /// Sends the body at this pace.
    Slow {
        /// Bytes of body a second.
        bytes_per_s: u32,
    },
    /// Adds header lines of so many bytes in all.
    HugeHeaders {
        /// Bytes of the added lines.
        bytes: usize,
    },
    /// Sends chunks for as long as the peer takes them.
    EndlessBody,
    /// Sends so many interim responses before the final one.
    InterimFlood {
        /// How many `103` responses.
        count: usize,
    },
}

/// A programmed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) chunked: bool,
    pub(super) delay: Duration,
    pub(super) fault: Option<Fault>,
}

impl Default for Reply {
    fn default() -> Self {
        Self::status(200)
    }
}

impl From<Fault> for Reply {
    fn from(fault: Fault) -> Self {
        Self::default().fault(fault)
    }
}

impl Reply {
    /// A reply with this status and a small body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: b"the origin answers\n".to_vec(),
            chunked: false,
            delay: Duration::ZERO,
            fault: None,
        }
    }

    /// Adds a header line; `connection: close` is obeyed.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends the body in chunks instead of with a length.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// Works so long before it answers, in one of the origin's places.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Answers badly.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// This reply as the request's query wants it; a query that makes no sense gets a 400.
    pub(super) fn adjusted(self, request: &RequestHead) -> Self {
        self.try_adjusted(request).unwrap_or_else(|key| {
            Self::status(400).body(format!("query key {key} has no sensible value\n"))
        })
    }

    fn try_adjusted(mut self, request: &RequestHead) -> Result<Self, &'static str> {
        if let Some(ms) = query(request, "delay_ms")? {
            self.delay = Duration::from_millis(ms);
        }
        if let Some(bytes) = query(request, "bytes")? {
            let bytes = usize::try_from(bytes)
                .ok()
                .filter(|bytes| *bytes <= MAX_FILLER_BYTES);
            self.body = filler(bytes.ok_or("bytes")?);
        }
        if let Some(status) = query(request, "status")? {
            let status = u16::try_from(status)
                .ok()
                .filter(|status| (200..=599).contains(status));
            self.status = status.ok_or("status")?;
        }
        Ok(self)
    }

    pub(super) fn closes(&self) -> bool {
        let is_close = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
        };
        self.headers.iter().any(is_close)
    }
}

/// A body in which every byte tells its place, so that a splice is seen.
#[must_use]
pub fn filler(bytes: usize) -> Vec<u8> {
    (b'a'..=b'z').cycle().take(bytes).collect()
}

fn query(request: &RequestHead, key: &'static str) -> Result<Option<u64>, &'static str> {
    request
        .query(key)
        .map(str::parse)
        .transpose()
        .map_err(|_| key)
}
