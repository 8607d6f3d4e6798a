//! How bytes are compressed, and undoing it within a limit.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Compression of directories, metadata or tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// As they are.
    None,
    /// gzip.
    Gzip,
    /// Brotli.
    Brotli,
    /// Zstandard.
    Zstd,
}

/// Why bytes were not inflated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotInflated {
    /// They would become more than they may.
    TooLarge,
    /// They are damaged.
    Broken,
}

/// Zstandard frames may ask for windows of this many bits, 8 MiB, and no more.
const WINDOW_BITS_MAX: u32 = 23;
const BROTLI_BUFFER_BYTES: usize = 4096;

impl Coding {
    /// Its name in `Content-Encoding`; nothing for bytes as they are.
    pub const fn content_encoding(self) -> Option<&'static str> {
        match self {
            Coding::None => None,
            Coding::Gzip => Some("gzip"),
            Coding::Brotli => Some("br"),
            Coding::Zstd => Some("zstd"),
        }
    }

    /// What the first bytes look like. Brotli has no mark of its own and is never seen.
    pub fn sniff(bytes: &[u8]) -> Coding {
        match bytes {
            [0x1f, 0x8b, ..] => Coding::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Coding::Zstd,
            _ => Coding::None,
        }
    }

    /// The plain bytes, never more than `limit` of them.
    pub(crate) fn inflate(self, bytes: &[u8], limit: usize) -> Result<Vec<u8>, NotInflated> {
        match self {
            Coding::None if bytes.len() > limit => Err(NotInflated::TooLarge),
            Coding::None => Ok(bytes.to_vec()),
            Coding::Gzip => capped(GzDecoder::new(bytes), limit),
            Coding::Brotli => {
                let plain = brotli_decompressor::Decompressor::new(bytes, BROTLI_BUFFER_BYTES);
                capped(plain, limit)
            }
            Coding::Zstd => capped(zstd_reader(bytes).map_err(broken)?, limit),
        }
    }

    /// `bytes` in this coding; nothing for Brotli, which is only read here.
    pub(crate) fn deflate(self, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        match self {
            Coding::None => Ok(Some(bytes.to_vec())),
            Coding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(bytes)?;
                encoder.finish().map(Some)
            }
            Coding::Brotli => Ok(None),
            Coding::Zstd => zstd::stream::encode_all(bytes, 0).map(Some),
        }
    }
}

fn zstd_reader(bytes: &[u8]) -> io::Result<impl Read> {
    let mut reader = zstd::stream::read::Decoder::with_buffer(bytes)?;
    reader.window_log_max(WINDOW_BITS_MAX)?;
    Ok(reader)
}

fn capped(plain: impl Read, limit: usize) -> Result<Vec<u8>, NotInflated> {
    let mut inflated = Vec::new();
    // One byte more than allowed tells a full part from one that goes on.
    let mut plain = plain.take(limit as u64 + 1);
    plain.read_to_end(&mut inflated).map_err(broken)?;
    match inflated.len() > limit {
        true => Err(NotInflated::TooLarge),
        false => Ok(inflated),
    }
}

fn broken(_: io::Error) -> NotInflated {
    NotInflated::Broken
}

#[cfg(test)]
mod tests;
