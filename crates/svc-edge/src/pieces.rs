//! Parts of files on their way out: read as they are taken, on this thread where no disk has to be waited for.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use kernel::blocking::Blocking;
use tile_pack::{Pack, PackError, Wait};
use verified_store::Object;

use crate::body::BrokenOff;
use crate::reject::Refusal;

/// Bytes read at once, and so the most an answer keeps of its file.
const PIECE: u64 = 128 * 1024;

/// A file that can be read at any place, and is the same file until it says otherwise.
#[derive(Clone)]
pub(crate) enum Source {
    /// A whole pack. Only made of packs that have raw bytes.
    Pack(Arc<Pack>),
    /// An object of the store, which checks what it reads.
    Object(Arc<Object>),
}

impl Source {
    pub(crate) fn length(&self) -> u64 {
        match self {
            Source::Pack(pack) => pack.raw().map_or(0, |raw| raw.length()),
            Source::Object(object) => object.len(),
        }
    }

    /// Bytes from there; nothing if they would have to be waited for.
    fn read(&self, offset: u64, length: u64, wait: Wait) -> Result<Option<Bytes>, Refusal> {
        let read = match self {
            Source::Pack(pack) => match pack.raw() {
                Some(raw) => raw.read_at(offset, length as usize, wait),
                None => return Err(Refusal::Internal),
            },
            Source::Object(_) if wait == Wait::Never => return Ok(None),
            Source::Object(object) => return checked(object, offset, length).map(Some),
        };
        match read {
            Ok(bytes) if bytes.len() as u64 == length => Ok(Some(bytes)),
            Ok(_) => Err(Refusal::PackChanged),
            Err(PackError::WouldBlock) if wait == Wait::Never => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn checked(object: &Object, offset: u64, length: u64) -> Result<Bytes, Refusal> {
    let mut bytes = vec![0; length as usize];
    match object.read_at(offset, &mut bytes) {
        Ok(read) if read as u64 == length => Ok(bytes.into()),
        // What was damaged has gone from the store.
        Ok(_) | Err(_) => Err(Refusal::UnknownObject),
    }
}

/// Something to send.
pub(crate) enum Piece {
    Bytes(Bytes),
    Span(Span),
}

/// Bytes of a file.
pub(crate) struct Span {
    pub(crate) source: Source,
    pub(crate) offset: u64,
    pub(crate) left: u64,
}

type Reading = Pin<Box<dyn Future<Output = Result<Bytes, Refusal>> + Send>>;

/// What is sent, in order.
pub(crate) struct Pieces {
    queue: VecDeque<Piece>,
    left: u64,
    disk: Blocking,
    reading: Option<Reading>,
}

impl Pieces {
    pub(crate) fn new(queue: VecDeque<Piece>, disk: &Blocking) -> Self {
        let length = |piece: &Piece| match piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Span(span) => span.left,
        };
        Self {
            left: queue.iter().map(length).sum(),
            queue,
            disk: disk.clone(),
            reading: None,
        }
    }

    /// Bytes still to be sent.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Reads the first bytes of the first file, while it can still be said that they cannot be had.
    pub(crate) async fn begin(&mut self) -> Result<(), Refusal> {
        let first = self
            .queue
            .iter()
            .position(|piece| matches!(piece, Piece::Span(_)));
        let Some(first) = first else { return Ok(()) };
        let Some(Piece::Span(span)) = self.queue.get_mut(first) else {
            return Ok(());
        };
        let bytes = match span.take(&self.disk) {
            Taken::Here(bytes) => bytes?,
            Taken::Coming(reading) => reading.await?,
        };
        if span.left == 0 {
            self.queue.remove(first);
        }
        self.queue.insert(first, Piece::Bytes(bytes));
        Ok(())
    }

    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        loop {
            if let Some(reading) = &mut self.reading {
                let read = ready!(reading.as_mut().poll(cx));
                self.reading = None;
                return Poll::Ready(Some(self.sent(read)));
            }
            match self.queue.pop_front() {
                None => return Poll::Ready(None),
                Some(Piece::Bytes(bytes)) => return Poll::Ready(Some(self.sent(Ok(bytes)))),
                Some(Piece::Span(span)) if span.left == 0 => {}
                Some(Piece::Span(mut span)) => {
                    let taken = span.take(&self.disk);
                    self.queue.push_front(Piece::Span(span));
                    match taken {
                        Taken::Here(bytes) => return Poll::Ready(Some(self.sent(bytes))),
                        Taken::Coming(reading) => self.reading = Some(reading),
                    }
                }
            }
        }
    }

    fn sent(&mut self, read: Result<Bytes, Refusal>) -> Result<Bytes, BrokenOff> {
        match read {
            Ok(bytes) => {
                self.left -= bytes.len() as u64;
                Ok(bytes)
            }
            Err(refusal) => {
                tracing::debug!(reason = refusal.reason(), "an answer broke off");
                self.queue.clear();
                Err(BrokenOff::Unreadable)
            }
        }
    }
}

enum Taken {
    Here(Result<Bytes, Refusal>),
    Coming(Reading),
}

impl Span {
    /// Takes the next bytes off its front.
    fn take(&mut self, disk: &Blocking) -> Taken {
        let length = self.left.min(PIECE);
        let (source, offset) = (self.source.clone(), self.offset);
        self.offset += length;
        self.left -= length;
        match source.read(offset, length, Wait::Never) {
            Ok(Some(bytes)) => Taken::Here(Ok(bytes)),
            Err(refusal) => Taken::Here(Err(refusal)),
            Ok(None) => {
                let disk = disk.clone();
                Taken::Coming(Box::pin(async move {
                    let read = disk.run(move || source.read(offset, length, Wait::Allowed));
                    let read = read.await.map_err(|_| Refusal::DiskBusy)??;
                    read.ok_or(Refusal::DiskBusy)
                }))
            }
        }
    }
}

impl From<PackError> for Refusal {
    fn from(error: PackError) -> Self {
        match error {
            PackError::WouldBlock | PackError::Busy => Refusal::DiskBusy,
            PackError::Slow => Refusal::Timeout,
            PackError::Changed | PackError::Unfinished => Refusal::PackChanged,
            PackError::TooLarge { .. } => Refusal::DecodedTooLarge,
            // Its file is not what it was taken for.
            _ => Refusal::PackBroken,
        }
    }
}
