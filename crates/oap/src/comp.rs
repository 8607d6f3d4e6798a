//! Compressed messages: how they are made, and how they are read without letting them grow beyond measure.

use std::io::Write;

use bytes::{Bytes, BytesMut};
use http_rules::decode::{BadBody, Coding, Decoder, Limits};
use serde::{Deserialize, Serialize};

use crate::limits::DECODED_BYTES_MAX;

/// How the messages of a connection are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// RFC 8878.
    Zstd,
    /// RFC 1952.
    Gzip,
}

impl Codec {
    /// Best first.
    pub const ALL: &'static [Codec] = &[Codec::Zstd, Codec::Gzip];

    /// By its name in a HELLO.
    pub fn named(name: &str) -> Option<Codec> {
        Self::ALL.iter().copied().find(|codec| codec.name() == name)
    }

    /// The name in a HELLO.
    pub const fn name(self) -> &'static str {
        match self {
            Codec::Zstd => "zstd",
            Codec::Gzip => "gzip",
        }
    }

    /// A payload that stands for `plain`, checksum included; payloads one after another stand for the whole.
    pub fn compress(self, plain: &[u8]) -> std::io::Result<Bytes> {
        let room = Vec::with_capacity(plain.len() / 2 + 64);
        let packed = match self {
            Codec::Zstd => {
                let mut encoder = zstd::Encoder::new(room, 1)?;
                encoder.include_checksum(true)?;
                encoder.write_all(plain)?;
                encoder.finish()?
            }
            Codec::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(room, flate2::Compression::fast());
                encoder.write_all(plain)?;
                encoder.finish()?
            }
        };
        Ok(packed.into())
    }

    fn coding(self) -> Coding {
        match self {
            Codec::Zstd => Coding::Zstd,
            Codec::Gzip => Coding::Gzip,
        }
    }
}

/// One compressed message being read. Its frames are counted together: many small ones may not do what a large one
/// may not.
pub struct Inflater {
    decoder: Decoder,
}

impl Inflater {
    /// For one message.
    pub fn new(codec: Codec) -> Self {
        Self {
            decoder: Decoder::new(codec.coding(), Limits::capped(DECODED_BYTES_MAX)),
        }
    }

    /// The next piece of what the front of `payload` stands for, 64 KiB at most; nothing when all of it is used.
    pub fn next(&mut self, payload: &mut Bytes) -> Result<Option<Bytes>, BadBody> {
        self.decoder.push(payload)
    }

    /// All of what `payload` stands for, at once.
    pub fn inflate(&mut self, mut payload: Bytes) -> Result<Bytes, BadBody> {
        let Some(first) = self.next(&mut payload)? else {
            return Ok(Bytes::new());
        };
        let Some(second) = self.next(&mut payload)? else {
            return Ok(first);
        };
        let mut all = BytesMut::from(&first[..]);
        all.extend_from_slice(&second);
        while let Some(piece) = self.next(&mut payload)? {
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
    }

    /// Whether the message ended where its compression did.
    pub fn finish(&self) -> Result<(), BadBody> {
        self.decoder.finish()
    }
}

impl std::fmt::Debug for Inflater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inflater").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
