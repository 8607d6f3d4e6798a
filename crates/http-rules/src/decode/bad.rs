//! Why a coded body is refused.

use std::fmt;

/// What is wrong with a coded body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BadBody {
    /// A coding that is not known here.
    Unknown,
    /// More than one coding.
    Several,
    /// Not what the coding says it is, or a checksum is wrong.
    Broken,
    /// It ends before its coding does.
    Truncated,
    /// Something follows after the end of the coding.
    Trailing,
    /// It grows beyond the ratio.
    Ratio,
    /// It grows beyond the cap.
    Cap,
    /// Decoding it would need too much memory.
    Window,
}

impl BadBody {
    /// One of each.
    pub const ALL: &'static [BadBody] = &[
        BadBody::Unknown,
        BadBody::Several,
        BadBody::Broken,
        BadBody::Truncated,
        BadBody::Trailing,
        BadBody::Ratio,
        BadBody::Cap,
        BadBody::Window,
    ];

    /// HTTP status of the refusal.
    pub fn status(self) -> u16 {
        match self {
            BadBody::Unknown | BadBody::Several => 415,
            BadBody::Broken | BadBody::Truncated | BadBody::Trailing => 400,
            BadBody::Ratio | BadBody::Cap | BadBody::Window => 413,
        }
    }

    /// Stable code for the body, the log and the metric.
    pub fn reason(self) -> &'static str {
        match self {
            BadBody::Unknown => "unknown-coding",
            BadBody::Several => "several-codings",
            BadBody::Broken => "decoded-broken",
            BadBody::Truncated => "decoded-truncated",
            BadBody::Trailing => "decoded-trailing",
            BadBody::Ratio => "decoded-ratio",
            BadBody::Cap => "decoded-cap",
            BadBody::Window => "decoded-window",
        }
    }

    /// One sentence for people.
    pub fn detail(self) -> &'static str {
        match self {
            BadBody::Unknown => "The content coding is none of gzip, br and zstd.",
            BadBody::Several => "The body has more than one content coding.",
            BadBody::Broken => "The body is not what its content coding says.",
            BadBody::Truncated => "The body ends too early for its content coding.",
            BadBody::Trailing => "Something follows after the end of the coded body.",
            BadBody::Ratio => "The body grows too much when decoded.",
            BadBody::Cap => "The decoded body is too large.",
            BadBody::Window => "Decoding the body would need too much memory.",
        }
    }
}

impl fmt::Display for BadBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.detail())
    }
}

impl std::error::Error for BadBody {}
