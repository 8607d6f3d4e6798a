//! Whom a client's certificate is for, as text.

use rustls::pki_types::CertificateDer;

/// Whom a client's certificate is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The subject, as in `CN=billing,O=Example`; parts of kinds that have no short name are left out.
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
            subject: subject(certificate.subject()),
            dns_names: certificate.valid_dns_names().map(str::to_owned).collect(),
            uris: certificate.valid_uri_names().map(str::to_owned).collect(),
        })
    }
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;

/// The parts of a distinguished name that people use, as RFC 4514 writes them: the last one first.
fn subject(name: &[u8]) -> String {
    let mut parts = Vec::new();
    let mut sets = Der(name);
    while let Some((SET, set)) = sets.next() {
        let mut pairs = Der(set);
        let mut together = Vec::new();
        while let Some((SEQUENCE, pair)) = pairs.next() {
            let mut pair = Der(pair);
            let kind = pair.next().and_then(|(tag, id)| short(tag, id));
            if let (Some(kind), Some((_, value))) = (kind, pair.next()) {
                together.push(format!("{kind}={}", escaped(value)));
            }
        }
        if !together.is_empty() {
            parts.push(together.join("+"));
        }
    }
    parts.reverse();
    parts.join(",")
}

fn short(tag: u8, id: &[u8]) -> Option<&'static str> {
    if tag != OBJECT_ID {
        return None;
    }
    Some(match id {
        [0x55, 4, 3] => "CN",
        [0x55, 4, 6] => "C",
        [0x55, 4, 7] => "L",
        [0x55, 4, 8] => "ST",
        [0x55, 4, 10] => "O",
        [0x55, 4, 11] => "OU",
        _ => return None,
    })
}

/// A value that cannot be mistaken for several: RFC 4514, with everything escaped that could end a part.
fn escaped(value: &[u8]) -> String {
    let mut text = String::new();
    for symbol in String::from_utf8_lossy(value).chars() {
        match symbol {
            ',' | '+' | '"' | '\\' | '<' | '>' | ';' | '=' => text.extend(['\\', symbol]),
            symbol if symbol.is_control() => text.push('\u{fffd}'),
            symbol => text.push(symbol),
        }
    }
    text
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
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_written_the_last_part_first_and_cannot_be_forged_by_its_values() {
        let part = |kind: u8, value: &str| {
            let mut pair = vec![OBJECT_ID, 3, 0x55, 4, kind, 0x0c, value.len() as u8];
            pair.extend_from_slice(value.as_bytes());
            let mut set = vec![SET, pair.len() as u8 + 2, SEQUENCE, pair.len() as u8];
            set.append(&mut pair);
            set
        };
        let name = [part(10, "Example"), part(5, "serial"), part(3, "a,O=Other")].concat();
        assert_eq!(subject(&name), "CN=a\\,O\\=Other,O=Example");
        assert_eq!(subject(&name[..name.len() - 1]), "O=Example", "cut off");
        assert_eq!(subject(&[0x31, 0x84]), "");
        let (unit, name) = (part(11, "one"), part(3, "two"));
        let together = [&unit[2..], &name[2..]].concat();
        let set = [&[SET, together.len() as u8][..], &together].concat();
        let name = [part(10, "Example"), set].concat();
        assert_eq!(subject(&name), "OU=one+CN=two,O=Example");
    }
}
