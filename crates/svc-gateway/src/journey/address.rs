//! An address as text. Every line of the access log has one: the machinery of formatting would be a tenth of it.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};

/// Longer than any: eight groups of four digits, seven colons.
const MOST: usize = 46;

/// An address as text.
pub(crate) struct AddressText {
    text: [u8; MOST],
    length: usize,
}

impl AddressText {
    pub(crate) fn of(address: IpAddr) -> Self {
        let mut made = Self {
            text: [0; MOST],
            length: 0,
        };
        match address {
            IpAddr::V4(address) => made.write_v4(address),
            IpAddr::V6(_) => {
                let mut rest = &mut made.text[..];
                let _fits = write!(rest, "{address}");
                made.length = MOST - rest.len();
            }
        }
        made
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.text[..self.length]).unwrap_or("")
    }

    fn write_v4(&mut self, address: Ipv4Addr) {
        for (place, number) in address.octets().into_iter().enumerate() {
            if place > 0 {
                self.push(b'.');
            }
            if number >= 100 {
                self.push(b'0' + number / 100);
            }
            if number >= 10 {
                self.push(b'0' + number / 10 % 10);
            }
            self.push(b'0' + number % 10);
        }
    }

    fn push(&mut self, byte: u8) {
        self.text[self.length] = byte;
        self.length += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_said(address: IpAddr) {
        assert_eq!(AddressText::of(address).as_str(), address.to_string());
    }

    // req: GW-08
    #[test]
    fn addresses_are_written_as_the_standard_library_writes_them() {
        for number in 0..=255_u8 {
            assert_said([number, 0, 255 - number, number].into());
            let groups = [u16::from(number) << 8; 8];
            assert_said(groups.into());
            assert_said([0, 0, 0, 0, 0, 0xffff, 0xff00, u16::from(number)].into());
        }
        assert_said([0xffff_u16; 8].into());
        assert_said([0_u16; 8].into());
    }
}
