//! A peer that says exactly what it is told to.

use tokio::time::error::Elapsed;

use super::*;

pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const GOAWAY: u8 = 7;
pub(super) const ACK: u8 = 1;

/// HPACK: `:method GET`, `:scheme http`, `:path /`, `:authority a`.
pub(super) const GET: &[u8] = &[0x82, 0x86, 0x84, 0x41, 1, b'a'];

pub(super) fn post(path: &str) -> Vec<u8> {
    let mut block = vec![0x83, 0x86, 0x04, path.len() as u8];
    block.extend_from_slice(path.as_bytes());
    block.extend_from_slice(&[0x41, 1, b'a']);
    block
}

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A peer that says exactly what it is told to.
pub(super) struct Raw {
    pub(super) stream: TcpStream,
    read: Vec<u8>,
}

impl Raw {
    /// One that has said nothing yet.
    pub(super) fn over(stream: TcpStream) -> Self {
        let read = Vec::new();
        Self { stream, read }
    }

    pub(super) async fn open(house: &House, settings: &[u8]) -> Self {
        let mut stream = house.connect().await;
        stream.write_all(PREFACE).await.unwrap();
        stream
            .write_all(&frame(SETTINGS, 0, 0, settings))
            .await
            .unwrap();
        let mut raw = Self::over(stream);
        raw.until(|kind, flags, _, _| kind == SETTINGS && flags & ACK == 0)
            .await;
        raw.send(&frame(SETTINGS, ACK, 0, &[])).await;
        raw
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) {
        let _closed_is_seen_when_reading = self.stream.write_all(bytes).await.is_err();
    }

    /// The next frame; `None` when the door has closed.
    pub(super) async fn next(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        self.try_next().await.expect("the door says nothing")
    }

    /// As [`Raw::next`], or an error when nothing comes.
    pub(super) async fn try_next(&mut self) -> Result<Option<(u8, u8, u32, Vec<u8>)>, Elapsed> {
        loop {
            if let Some(head) = self.read.first_chunk::<9>() {
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                let (kind, flags) = (head[3], head[4]);
                let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                if self.read.len() >= 9 + length {
                    let payload = self.read[9..9 + length].to_vec();
                    self.read.drain(..9 + length);
                    return Ok(Some((kind, flags, stream, payload)));
                }
            }
            let mut bytes = vec![0; 16 << 10];
            let read = tokio::time::timeout(Duration::from_secs(5), self.stream.read(&mut bytes));
            match read.await? {
                Ok(0) | Err(_) => return Ok(None),
                Ok(read) => self.read.extend_from_slice(&bytes[..read]),
            }
        }
    }

    pub(super) async fn until(
        &mut self,
        wanted: impl Fn(u8, u8, u32, &[u8]) -> bool,
    ) -> Option<(u8, u8, u32, Vec<u8>)> {
        loop {
            let frame = self.next().await?;
            if wanted(frame.0, frame.1, frame.2, &frame.3) {
                return Some(frame);
            }
        }
    }

    /// How long the door keeps the connection, and whether it said goodbye.
    pub(super) async fn ends(&mut self) -> (Duration, bool) {
        let (began, mut goodbye) = (kernel::clock::now(), false);
        while let Some((kind, ..)) = self.next().await {
            goodbye |= kind == GOAWAY;
        }
        (kernel::clock::now() - began, goodbye)
    }
}
