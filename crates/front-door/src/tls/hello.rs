//! What a hello says of its age, read where it lies: the library looks first for what such clients never knew, and
//! would say that instead of what is wrong.

/// A record of a handshake.
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// The extension in which clients of TLS 1.3 say which versions they know.
const SUPPORTED_VERSIONS: [u8; 2] = [0, 43];
/// TLS 1.2.
const OLDEST: [u8; 2] = [3, 3];
/// The random bytes of a hello.
const RANDOM: usize = 32;

/// The version of a client that knows none we speak, if these records are the hello of one.
pub(super) fn outdated(records: &[u8]) -> Option<[u8; 2]> {
    let message = message(records);
    let mut rest = message.strip_prefix(&[CLIENT_HELLO])?.get(3..)?;
    let version = *take(&mut rest, 2)?.as_array()?;
    (version < OLDEST && !says_versions(rest).unwrap_or(false)).then_some(version)
}

/// All that is there of the first message.
fn message(mut records: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    while let [HANDSHAKE, _, _, high, low, rest @ ..] = records {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (part, next) = rest.split_at(length.min(rest.len()));
        message.extend_from_slice(part);
        records = next;
    }
    message
}

/// Whether it says so elsewhere; nothing where it is not all there, or no hello.
fn says_versions(mut rest: &[u8]) -> Option<bool> {
    take(&mut rest, RANDOM)?;
    // Its session, its cipher suites, its compressions.
    for width in [1, 2, 1] {
        field(&mut rest, width)?;
    }
    let mut extensions = field(&mut rest, 2)?;
    while !extensions.is_empty() {
        let kind = take(&mut extensions, 2)?;
        field(&mut extensions, 2)?;
        if kind == SUPPORTED_VERSIONS {
            return Some(true);
        }
    }
    Some(false)
}

/// What follows a length of so many bytes.
fn field<'a>(rest: &mut &'a [u8], width: usize) -> Option<&'a [u8]> {
    let length = take(rest, width)?.iter();
    let length = length.fold(0, |length, byte| length << 8 | usize::from(*byte));
    take(rest, length)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, more) = rest.split_at_checked(length)?;
    *rest = more;
    Some(taken)
}

#[cfg(test)]
mod tests;
