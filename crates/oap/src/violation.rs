//! The rules a peer can break in such a way that its connection must end.

/// A broken rule of the protocol. A server says so in an error frame with `corr_id` 0 and closes; a client closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Violation {
    /// `len` is less than a header.
    #[error("a frame shorter than its header")]
    LengthShort,
    /// `len` is more than was agreed on.
    #[error("a frame longer than agreed")]
    LengthOver,
    /// Not version 1.
    #[error("a version other than 1")]
    Version,
    /// A flag that has no meaning.
    #[error("a reserved flag")]
    FlagsReserved,
    /// Not just one of REQ, RESP, EVENT.
    #[error("not just one of REQ, RESP and EVENT")]
    Kind,
    /// Flags and code that do not go together.
    #[error("flags and code do not go together")]
    Shape,
    /// An answer whose code is no final status.
    #[error("an answer without a final status")]
    Status,
    /// An event of another opcode space than control.
    #[error("an event outside the control space")]
    EventForeign,
    /// A capability section that is too long, or longer than its frame.
    #[error("a capability section that does not fit")]
    CapOver,
    /// Something before HELLO.
    #[error("a frame before HELLO")]
    HelloFirst,
    /// A second HELLO.
    #[error("a second HELLO")]
    HelloAgain,
    /// A HELLO, or its answer, that makes no sense.
    #[error("a HELLO that makes no sense")]
    HelloBad,
    /// No version in common.
    #[error("no version in common")]
    HelloVersion,
    /// A frame that only the other side may send.
    #[error("a frame of the other side's")]
    Role,
    /// A message without a `corr_id`.
    #[error("a message without a corr_id")]
    IdZero,
    /// A request whose `corr_id` is not above all before it.
    #[error("a corr_id that was used before")]
    IdUsed,
    /// A frame of an exchange that never was.
    #[error("a corr_id that never was opened")]
    IdUnknown,
    /// A frame of a message that has ended or has not begun.
    #[error("a frame out of sequence")]
    Sequence,
    /// A flag that HELLO did not agree on.
    #[error("a flag that was not agreed on")]
    FlagRefused,
    /// A capability section elsewhere than at the head of a request.
    #[error("a capability section in the wrong place")]
    CapMisplaced,
    /// A frame of a stream with more than a chunk.
    #[error("a chunk that is too large")]
    ChunkOver,
    /// A frame in the middle of a stream with nothing in it.
    #[error("an empty chunk that ends nothing")]
    DataEmpty,
    /// More than there was credit for.
    #[error("more bytes than there was credit for")]
    WindowOver,
    /// Credit of nothing, or beyond all measure.
    #[error("credit of nothing or beyond measure")]
    CreditBad,
    /// A control frame of an unknown code.
    #[error("an unknown control frame")]
    ControlUnknown,
    /// A control frame that is not of its form.
    #[error("a control frame that is not of its form")]
    ControlBad,
    /// A compressed payload that is not what it says, or whose checksum is wrong.
    #[error("a compressed payload that is broken")]
    PayloadBroken,
}

impl Violation {
    /// One of each, in the order of the specification.
    pub const ALL: &'static [Violation] = &[
        Violation::LengthShort,
        Violation::LengthOver,
        Violation::Version,
        Violation::FlagsReserved,
        Violation::Kind,
        Violation::Shape,
        Violation::Status,
        Violation::EventForeign,
        Violation::CapOver,
        Violation::HelloFirst,
        Violation::HelloAgain,
        Violation::HelloBad,
        Violation::HelloVersion,
        Violation::Role,
        Violation::IdZero,
        Violation::IdUsed,
        Violation::IdUnknown,
        Violation::Sequence,
        Violation::FlagRefused,
        Violation::CapMisplaced,
        Violation::ChunkOver,
        Violation::DataEmpty,
        Violation::WindowOver,
        Violation::CreditBad,
        Violation::ControlUnknown,
        Violation::ControlBad,
        Violation::PayloadBroken,
    ];

    /// Stable name for the error frame, the log and the metric.
    pub const fn reason(self) -> &'static str {
        match self {
            Violation::LengthShort => "length-short",
            Violation::LengthOver => "length-over",
            Violation::Version => "version",
            Violation::FlagsReserved => "flags-reserved",
            Violation::Kind => "kind",
            Violation::Shape => "shape",
            Violation::Status => "status",
            Violation::EventForeign => "event-foreign",
            Violation::CapOver => "cap-over",
            Violation::HelloFirst => "hello-first",
            Violation::HelloAgain => "hello-again",
            Violation::HelloBad => "hello-bad",
            Violation::HelloVersion => "hello-version",
            Violation::Role => "role",
            Violation::IdZero => "id-zero",
            Violation::IdUsed => "id-used",
            Violation::IdUnknown => "id-unknown",
            Violation::Sequence => "sequence",
            Violation::FlagRefused => "flag-refused",
            Violation::CapMisplaced => "cap-misplaced",
            Violation::ChunkOver => "chunk-over",
            Violation::DataEmpty => "data-empty",
            Violation::WindowOver => "window-over",
            Violation::CreditBad => "credit-bad",
            Violation::ControlUnknown => "control-unknown",
            Violation::ControlBad => "control-bad",
            Violation::PayloadBroken => "payload-broken",
        }
    }

    /// The code of the error frame.
    pub const fn status(self) -> u16 {
        match self {
            Violation::LengthOver | Violation::ChunkOver | Violation::WindowOver => 413,
            Violation::Version | Violation::HelloVersion => 505,
            Violation::IdUsed => 409,
            _ => 400,
        }
    }
}
