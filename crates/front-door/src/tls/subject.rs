//! Whom a client's certificate is for, as text.

use rustls::pki_types::CertificateDer;

/// Whom a client's certificate is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The subject as RFC 4514 writes it: `CN=billing,O=Example`, and `2.5.4.5=#130137` for a part of a kind that has
    /// no name there. Empty for one that nobody could read.
    pub subject: String,
    /// DNS names.
    pub dns_names: Vec<String>,
    /// URIs, as those of SPIFFE.
    pub uris: Vec<String>,
}

impl ClientCertificate {
    /// Reads a certificate that has been verified.
    pub(super) fn read(certificate: &CertificateDer<'_>) -> Option<Self> {
        let certificate = webpki::EndEntityCert::try_from(certificate).ok()?;
        Some(Self {
            subject: subject(certificate.subject()).unwrap_or_default(),
            dns_names: certificate.valid_dns_names().map(str::to_owned).collect(),
            uris: certificate.valid_uri_names().map(str::to_owned).collect(),
        })
    }
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
/// What texts of names are encoded as whose bytes are those of UTF-8: UTF8String, NumericString, PrintableString,
/// TeletexString as far as anybody used it, IA5String, VisibleString.
const TEXTS: [u8; 6] = [0x0c, 0x12, 0x13, 0x14, 0x16, 0x1a];

/// A distinguished name as RFC 4514 writes it: the last part first, and none left out, since one that is left out makes
/// two who differ in it the same. Nothing for what is no name.
fn subject(name: &[u8]) -> Option<String> {
    let mut parts = Vec::new();
    for set in all(SET, name)? {
        let together: Option<Vec<_>> = all(SEQUENCE, set)?.into_iter().map(part).collect();
        let together = together.filter(|together| !together.is_empty())?;
        parts.push(together.join("+"));
    }
    parts.reverse();
    Some(parts.join(","))
}

/// A kind and its value, which is written as it is encoded where it cannot be written as text.
fn part(pair: &[u8]) -> Option<String> {
    let mut pair = Der(pair);
    let (_, kind) = pair.next().filter(|(tag, _)| *tag == OBJECT_ID)?;
    let encoded = pair.0;
    let (tag, value) = pair.next().filter(|_| !encoded.is_empty())?;
    if !pair.0.is_empty() {
        return None;
    }
    let name = short(kind);
    let text = name.filter(|_| TEXTS.contains(&tag));
    let text = text.and_then(|_| escaped(std::str::from_utf8(value).ok()?));
    let name = name.map_or_else(|| dotted(kind), |name| Some(name.to_owned()))?;
    Some(match text {
        Some(text) => format!("{name}={text}"),
        None => format!("{name}=#{}", hex(encoded)),
    })
}

/// The kinds that have a name in RFC 4514.
fn short(id: &[u8]) -> Option<&'static str> {
    Some(match id {
        [0x55, 4, 3] => "CN",
        [0x55, 4, 6] => "C",
        [0x55, 4, 7] => "L",
        [0x55, 4, 8] => "ST",
        [0x55, 4, 9] => "STREET",
        [0x55, 4, 10] => "O",
        [0x55, 4, 11] => "OU",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25] => "DC",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1] => "UID",
        _ => return None,
    })
}

/// The numbers of an object id, with dots between.
fn dotted(id: &[u8]) -> Option<String> {
    let (mut numbers, mut number) = (Vec::new(), 0_u128);
    for byte in id {
        number = number.checked_mul(128)? + u128::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    id.last().filter(|last| **last & 0x80 == 0)?;
    // The first two are one: there are no more than forty below 0 and 1.
    let first = (numbers[0] / 40).min(2);
    numbers[0] -= first * 40;
    let dotted = numbers.iter().map(|number| format!(".{number}"));
    Some(format!("{first}{}", dotted.collect::<String>()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value that cannot be mistaken for several, nor for one that is no text: RFC 4514, with everything escaped that
/// could end a part. Nothing for one that cannot be printed.
fn escaped(value: &str) -> Option<String> {
    let mut text = String::new();
    let last = value.len().saturating_sub(1);
    for (at, symbol) in value.char_indices() {
        match symbol {
            ',' | '+' | '"' | '\\' | '<' | '>' | ';' | '=' => text.extend(['\\', symbol]),
            '#' if at == 0 => text.push_str("\\#"),
            ' ' if at == 0 || at == last => text.push_str("\\ "),
            symbol if symbol.is_control() => return None,
            symbol => text.push(symbol),
        }
    }
    Some(text)
}

/// All that is in these bytes, if there is nothing but values of this kind.
fn all(kind: u8, bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut values, mut found) = (Der(bytes), Vec::new());
    while !values.0.is_empty() {
        let (_, value) = values.next().filter(|(tag, _)| *tag == kind)?;
        found.push(value);
    }
    Some(found)
}

/// Values of DER, one after another.
struct Der<'a>(&'a [u8]);

impl<'a> Iterator for Der<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81 => rest
                .split_first()
                .map(|(length, rest)| (usize::from(*length), rest))?,
            0x82 => rest
                .split_first_chunk::<2>()
                .map(|(length, rest)| (usize::from(u16::from_be_bytes(*length)), rest))?,
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, value))
    }
}

#[cfg(test)]
mod tests;
