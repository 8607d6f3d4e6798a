//! Every "no" of the edge: each maps here, and only here, to status, reason, label, advice and words for people.

use std::time::Duration;

use http_rules::framing::Bad;
use http_rules::path::BadPath;

use crate::origin::failure::Failure;

pub use table::{Reason, reasons};

mod table;

/// Why a request is not, or not as asked, answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The head can be read in more than one way, or not at all.
    Framing(Bad),
    /// The head is no head of HTTP.
    Malformed,
    /// The target is too long.
    TargetTooLong,
    /// The head is too large.
    HeadTooLarge,
    /// The path is not one that two servers read alike.
    Path(BadPath),
    /// The host asked for is not the one the connection was made for.
    Misdirected,
    /// The body is longer than allowed.
    BodyTooLarge,
    /// The rate is used up.
    OverRate(Duration),
    /// The node has all it may have.
    NodeBusy,
    /// Memory runs out.
    MemoryFull,
    /// Nothing is here.
    NotFound,
    /// Something is here, and only read.
    OtherMethod,
    /// No pack of this name.
    UnknownPack,
    /// The pack cannot be served.
    PackUnready,
    /// The file of the pack changed under it.
    PackChanged,
    /// What the pack says of itself is not true.
    PackBroken,
    /// No tile can be there.
    TileAddress,
    /// The pack's tiles are of another kind.
    OtherKind,
    /// A tile decodes to more than a tile may have.
    DecodedTooLarge,
    /// The client takes none of the forms there are.
    NotAcceptable,
    /// A condition of the request does not hold.
    PreconditionFailed,
    /// The range is not in what there is, which has so many bytes.
    RangeOutside(u64),
    /// These are no digits of a hash.
    NoHash,
    /// No object of this hash.
    UnknownObject,
    /// Too many wait for the disk.
    DiskBusy,
    /// The disk did not answer in time.
    Timeout,
    /// An origin's answer cannot be given.
    Origin(Failure),
    /// A defect in the node; the log says more.
    Internal,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal::Origin(failure)
    }
}

/// How long a client that was turned away by the node itself should wait.
const SOON: Duration = Duration::from_secs(1);

impl Refusal {
    /// The status of the answer.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Refusal::Framing(bad) => bad.status(),
            Refusal::Path(bad) => bad.status(),
            Refusal::Origin(failure) => failure.status(),
            Refusal::Malformed | Refusal::TileAddress | Refusal::NoHash => 400,
            Refusal::NotFound
            | Refusal::UnknownPack
            | Refusal::OtherKind
            | Refusal::UnknownObject => 404,
            Refusal::OtherMethod => 405,
            Refusal::NotAcceptable => 406,
            Refusal::PreconditionFailed => 412,
            Refusal::BodyTooLarge => 413,
            Refusal::TargetTooLong => 414,
            Refusal::RangeOutside(_) => 416,
            Refusal::Misdirected => 421,
            Refusal::OverRate(_) => 429,
            Refusal::HeadTooLarge => 431,
            Refusal::Internal => 500,
            Refusal::PackBroken | Refusal::DecodedTooLarge => 502,
            Refusal::NodeBusy
            | Refusal::MemoryFull
            | Refusal::PackUnready
            | Refusal::PackChanged
            | Refusal::DiskBusy => 503,
            Refusal::Timeout => 504,
        }
    }

    /// The stable code in body, header and log.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Refusal::Framing(bad) => bad.reason(),
            Refusal::Path(bad) => bad.reason(),
            Refusal::Origin(failure) => failure.reason(),
            Refusal::Malformed => "malformed",
            Refusal::TargetTooLong => "target-too-long",
            Refusal::HeadTooLarge => "head-too-large",
            Refusal::Misdirected => "misdirected",
            Refusal::BodyTooLarge => "body-too-large",
            Refusal::OverRate(_) => "rate-global",
            Refusal::NodeBusy => "node-busy",
            Refusal::MemoryFull => "memory-full",
            Refusal::NotFound => "not-found",
            Refusal::OtherMethod => "method-not-allowed",
            Refusal::UnknownPack => "unknown-pack",
            Refusal::PackUnready => "pack-unready",
            Refusal::PackChanged => "pack-changed",
            Refusal::PackBroken => "pack-broken",
            Refusal::TileAddress => "tile-address",
            Refusal::OtherKind => "tile-kind",
            Refusal::DecodedTooLarge => "decoded-cap",
            Refusal::NotAcceptable => "not-acceptable",
            Refusal::PreconditionFailed => "precondition-failed",
            Refusal::RangeOutside(_) => "range-outside",
            Refusal::NoHash => "no-hash",
            Refusal::UnknownObject => "unknown-object",
            Refusal::DiskBusy => "disk-busy",
            Refusal::Timeout => "deadline",
            Refusal::Internal => "internal",
        }
    }

    /// The label of `edge_rejects_total`: the reason, or the shorter word that is promised there.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Refusal::BodyTooLarge => "body_cap",
            Refusal::OverRate(_) => "rate_limit",
            Refusal::DecodedTooLarge => "decompress_cap",
            Refusal::PreconditionFailed => "etag_invalid",
            Refusal::RangeOutside(_) => "invalid_range",
            Refusal::Timeout => "timeout",
            Refusal::Origin(failure) => failure.label(),
            other => other.reason(),
        }
    }

    /// What happened and what to do, for people. Nothing of the request, of files or of what stands behind is in it.
    pub(crate) fn detail(&self) -> &'static str {
        match self {
            Refusal::Framing(bad) => bad.detail(),
            Refusal::Path(bad) => bad.detail(),
            Refusal::Origin(failure) => failure.detail(),
            Refusal::Malformed => "the request head cannot be read, or can be read in two ways",
            Refusal::TargetTooLong => "the request target is too long",
            Refusal::HeadTooLarge => "the request head is too large",
            Refusal::Misdirected => "this host is not served on the connection it was asked on",
            Refusal::BodyTooLarge => "the request body is longer than allowed",
            Refusal::OverRate(_) => "the rate is used up; come again later",
            Refusal::NodeBusy => "the node has all it may have at once; come again later",
            Refusal::MemoryFull => "the node is short of memory; come again later",
            Refusal::NotFound => "nothing is at this path",
            Refusal::OtherMethod => "this path is only read",
            Refusal::UnknownPack => "no pack has this name; /packs lists those there are",
            Refusal::PackUnready => "the pack is there and cannot be served at the moment",
            Refusal::PackChanged => "the pack is being replaced; come again soon",
            Refusal::PackBroken => "the pack is damaged at this place",
            Refusal::TileAddress => "no tile can be at this address: /tiles/{pack}/{z}/{x}/{y}",
            Refusal::OtherKind => "the tiles of this pack are of another kind",
            Refusal::DecodedTooLarge => "the tile is larger than a tile may be",
            Refusal::NotAcceptable => "none of the codings that can be had is accepted",
            Refusal::PreconditionFailed => "a condition of the request does not hold",
            Refusal::RangeOutside(_) => "the range is not in what there is",
            Refusal::NoHash => "an object is named by the 64 hexadecimal digits of its hash",
            Refusal::UnknownObject => "no object has this hash",
            Refusal::DiskBusy => "too many requests wait for the disk; come again later",
            Refusal::Timeout => "the answer could not be begun in time",
            Refusal::Internal => "the node failed to answer; its log says why",
        }
    }

    /// When the same request may succeed; absent where waiting does not help.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Refusal::OverRate(wait) => Some(*wait),
            Refusal::Origin(failure) => failure.retry_after(),
            Refusal::NodeBusy
            | Refusal::MemoryFull
            | Refusal::PackUnready
            | Refusal::PackChanged
            | Refusal::DiskBusy => Some(SOON),
            _ => None,
        }
    }

    /// Whether the connection is of no further use: what follows on it cannot be told from what was refused.
    pub(crate) fn closes(&self) -> bool {
        matches!(
            self,
            Refusal::Framing(_)
                | Refusal::Malformed
                | Refusal::TargetTooLong
                | Refusal::HeadTooLarge
                | Refusal::BodyTooLarge
        )
    }
}
