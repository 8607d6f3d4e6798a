//! Numbers of one to ten bytes, seven bits each, the lowest first.

/// Takes a number from the front of `bytes`; nothing when it does not end, or not within 64 bits.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().enumerate().take(10) {
        let low = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if at == 9 && low > 1 {
            return None;
        }
        value |= low << (7 * at);
        if byte < 0x80 {
            *bytes = &bytes[at + 1..];
            return Some(value);
        }
    }
    None
}

/// Puts a number at the end of `bytes`.
pub(crate) fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests;
