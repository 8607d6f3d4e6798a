//! The sizes of the protocol; a connection may agree on less, never on more.

/// Bytes of a header.
pub const HEADER_BYTES: usize = 38;
/// Bytes of a frame, header included.
pub const FRAME_BYTES_MAX: u32 = 1024 * 1024;
/// The smallest frame limit that can be agreed on: a HELLO and any capability section fit.
pub const FRAME_BYTES_MIN: u32 = 8 * 1024;
/// Bytes of a capability section.
pub const CAP_BYTES_MAX: usize = 4096;
/// Payload of one frame of a stream.
pub const CHUNK_BYTES_MAX: usize = 64 * 1024;
/// Payload of a HELLO and of its answer.
pub const HELLO_BYTES_MAX: usize = 4096;
/// The smallest receive window of a stream: its first chunk never waits.
pub const WINDOW_BYTES_MIN: u32 = 64 * 1024;
/// The largest window, and the most that may be outstanding in credit.
pub const WINDOW_BYTES_MAX: u32 = i32::MAX as u32;
/// Requests that are in flight at a time on one connection, where HELLO does not say.
pub const INFLIGHT: u32 = 64;
/// Bytes of a reason in RESET and GOAWAY.
pub const REASON_BYTES_MAX: usize = 64;
/// Bytes of what a peer calls itself.
pub const UA_BYTES_MAX: usize = 128;
/// Bytes of the head of a bridged request or answer.
pub const HEAD_BYTES_MAX: usize = 32 * 1024;
/// Fields in the head of a bridged request or answer.
pub const HEAD_FIELDS_MAX: usize = 100;
/// What a compressed message may grow to.
pub const DECODED_BYTES_MAX: u64 = 8 * 1024 * 1024;

const _: () = {
    assert!(FRAME_BYTES_MIN as usize >= HEADER_BYTES + CAP_BYTES_MAX);
    assert!(FRAME_BYTES_MIN as usize >= HEADER_BYTES + HELLO_BYTES_MAX);
    assert!(FRAME_BYTES_MAX as usize >= HEADER_BYTES + CAP_BYTES_MAX + CHUNK_BYTES_MAX);
    assert!(WINDOW_BYTES_MIN as usize >= CHUNK_BYTES_MAX);
    assert!(HEAD_BYTES_MAX <= CHUNK_BYTES_MAX);
    assert!(CAP_BYTES_MAX <= u16::MAX as usize);
};
