//! Heads as HTTP/2 packs them (RFC 7541).
//!
//! A [`Decoder`] unpacks what a peer says and keeps the table both sides agree on. What goes back is packed without a
//! table: [`status`] and [`field`] point at what the standard has fixed and write the rest out.

#[cfg(test)]
mod coded;
mod decode;
mod encode;
mod huffman;
mod input;
mod name;
mod shared;
mod statics;
mod table;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};

pub use decode::Decoder;
pub use encode::{field, field_bytes, forget_table, status};

/// One field of a request's head. Cheap to clone: its bytes are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// The method.
    Method(Method),
    /// The scheme, as said.
    Scheme(Bytes),
    /// The authority, as said.
    Authority(Bytes),
    /// The path, as said.
    Path(Bytes),
    /// Any other. A value that must never be indexed is sensitive.
    Header(HeaderName, HeaderValue),
    /// Unpacked well, and nothing a request may say: a name or value that is none, or a pseudo field of something else.
    Unfit,
}

/// Why a block cannot be unpacked. What the peer says next cannot be understood either, on all of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// There is no such entry.
    #[error("an index beyond the table")]
    Index,
    /// No number needs to be as large, or as long.
    #[error("too large an integer")]
    Integer,
    /// The block ends within a field.
    #[error("it ends early")]
    Short,
    /// A string has the end mark in it, or is not filled up with the beginning of one.
    #[error("bad Huffman code")]
    Huffman,
    /// The table is to be larger than it was allowed to be.
    #[error("too large a table")]
    TableSize,
    /// The table's size changes elsewhere than at the beginning of a block, or more often than makes sense.
    #[error("a misplaced change of the table's size")]
    Misplaced,
}
