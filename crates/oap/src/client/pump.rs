//! Moves the bytes of one connection, from HELLO to its end.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::time::timeout;

use super::dial::Stream;
use super::link::Link;
use super::{Failure, Settings};
use crate::{Decoder, Event, Frame, Session};

/// Payloads from here on are written from where they are.
const COPIED_BYTES_MAX: usize = 8 * 1024;
/// A batch of frames is written once it is this large.
const BATCH_BYTES: usize = 64 * 1024;

type Io = Box<dyn Stream>;

/// A connection that was greeted, and what has already come on it.
pub(super) struct Pump {
    pub(super) link: Arc<Link>,
    io: Io,
    inbox: BytesMut,
    write_timeout: Duration,
}

impl Pump {
    /// Introduces itself on a new connection.
    pub(super) async fn greet(mut io: Io, settings: &Settings) -> Result<Self, Failure> {
        let mut session = Session::client(settings.hello.clone());
        let mut out = BytesMut::new();
        session.hello(&settings.identity)?.encode(&mut out)?;
        io.write_all(&out).await.map_err(Failure::lost)?;
        io.flush().await.map_err(Failure::lost)?;
        let (mut inbox, decoder) = (BytesMut::new(), Decoder::new(settings.hello.max_frame));
        let answer = loop {
            if let Some(frame) = decoder.decode(&mut inbox)? {
                break frame;
            }
            fill(&mut io, &mut inbox, &decoder).await?;
        };
        if let Event::Failed { status, problem } = session.receive(answer)? {
            let reason = problem.map_or_else(String::new, |problem| problem.reason.into());
            return Err(Failure::Refused { status, reason });
        }
        let agreed = session.agreed().cloned();
        let agreed = agreed.ok_or_else(|| Failure::lost("it was not greeted"))?;
        Ok(Self {
            link: Arc::new(Link::new(session, agreed)),
            io,
            inbox,
            write_timeout: settings.write_timeout,
        })
    }

    /// Runs until the connection ends or has nothing left to do.
    pub(super) async fn run(self) {
        let (reader, mut writer) = tokio::io::split(self.io);
        let link = &self.link;
        let _end = End(link);
        let failure = tokio::select! {
            failure = read(reader, self.inbox, link) => failure,
            failure = write(&mut writer, self.write_timeout, link) => failure,
        };
        link.fail(&failure);
        // The peer may be gone, or not read; that is no reason to linger.
        let _ = timeout(self.write_timeout, writer.shutdown()).await;
    }
}

/// Whoever still waits is told, even when the task is aborted.
struct End<'a>(&'a Link);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.fail(&Failure::Closed);
    }
}

async fn read(mut reader: ReadHalf<Io>, mut inbox: BytesMut, link: &Link) -> Failure {
    let decoder = Decoder::new(link.agreed.max_frame);
    loop {
        let next = match decoder.decode(&mut inbox) {
            Ok(Some(frame)) => link.receive(frame),
            Ok(None) => fill(&mut reader, &mut inbox, &decoder).await,
            Err(violation) => Err(violation.into()),
        };
        if let Err(failure) = next {
            return failure;
        }
    }
}

async fn fill(
    reader: &mut (impl AsyncReadExt + Unpin),
    inbox: &mut BytesMut,
    decoder: &Decoder,
) -> Result<(), Failure> {
    decoder.make_room(inbox);
    match reader.read_buf(inbox).await {
        Ok(0) => Err(Failure::lost("the server closed")),
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::lost(error)),
    }
}

async fn write(writer: &mut WriteHalf<Io>, patience: Duration, link: &Link) -> Failure {
    let mut batch = BytesMut::with_capacity(BATCH_BYTES);
    loop {
        while let Some(frame) = link.next_out() {
            if let Err(failure) = put(writer, patience, &mut batch, frame).await {
                return failure;
            }
        }
        if let Err(failure) = flush(writer, patience, &mut batch).await {
            return failure;
        }
        if link.is_done() {
            return Failure::Closed;
        }
        link.stirred().await;
    }
}

async fn put(
    writer: &mut WriteHalf<Io>,
    patience: Duration,
    batch: &mut BytesMut,
    frame: Frame,
) -> Result<(), Failure> {
    let payload = frame.encode_head(batch)?;
    if payload.len() <= COPIED_BYTES_MAX {
        batch.extend_from_slice(&payload);
    } else {
        flush_to(writer, patience, batch).await?;
        patient(patience, writer.write_all(&payload)).await?;
    }
    match batch.len() >= BATCH_BYTES {
        true => flush_to(writer, patience, batch).await,
        false => Ok(()),
    }
}

async fn flush(
    writer: &mut WriteHalf<Io>,
    patience: Duration,
    batch: &mut BytesMut,
) -> Result<(), Failure> {
    flush_to(writer, patience, batch).await?;
    patient(patience, writer.flush()).await
}

async fn flush_to(
    writer: &mut WriteHalf<Io>,
    patience: Duration,
    batch: &mut BytesMut,
) -> Result<(), Failure> {
    if !batch.is_empty() {
        patient(patience, writer.write_all(batch)).await?;
        batch.clear();
    }
    Ok(())
}

async fn patient(
    patience: Duration,
    write: impl Future<Output = std::io::Result<()>>,
) -> Result<(), Failure> {
    match timeout(patience, write).await {
        Ok(written) => written.map_err(Failure::lost),
        Err(_) => Err(Failure::lost("the server does not read")),
    }
}
