//! A private key out of PEM, with nothing of it left behind: every buffer it passes through is wiped.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use zeroize::Zeroizing;

type Make = fn(Vec<u8>) -> PrivateKeyDer<'static>;

/// What a key is called in PEM, and what it is made into.
const KINDS: [(&str, Make); 3] = [
    ("PRIVATE KEY", |der| PrivatePkcs8KeyDer::from(der).into()),
    ("EC PRIVATE KEY", |der| PrivateSec1KeyDer::from(der).into()),
    ("RSA PRIVATE KEY", |der| {
        PrivatePkcs1KeyDer::from(der).into()
    }),
];

/// The first private key of a text.
pub(super) fn read_key(text: &[u8]) -> Result<Zeroizing<PrivateKeyDer<'static>>, pem::Error> {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let begins = |line: &[u8], kind: &str| line == format!("-----BEGIN {kind}-----").as_bytes();
    let begun = lines.find_map(|line| KINDS.iter().find(|(kind, _)| begins(line, kind)));
    let (kind, key) = begun.ok_or(pem::Error::NoItemsFound)?;
    let end = format!("-----END {kind}-----");
    // As large as it may become: growing would leave copies behind.
    let mut symbols = Zeroizing::new(Vec::with_capacity(text.len()));
    loop {
        let line = lines.next().ok_or_else(|| pem::Error::MissingSectionEnd {
            end_marker: end.clone().into_bytes(),
        })?;
        if line == end.as_bytes() {
            break;
        }
        symbols.extend_from_slice(line);
    }
    let mut der = Zeroizing::new(vec![0; symbols.len()]);
    let length = STANDARD
        .decode_slice(&symbols[..], &mut der)
        .map_err(|error| pem::Error::Base64Decode(error.to_string()))?;
    Ok(Zeroizing::new(key(der[..length].to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem(kind: &str, der: &[u8]) -> String {
        let text = STANDARD.encode(der);
        let lines: Vec<_> = text
            .as_bytes()
            .chunks(64)
            .map(String::from_utf8_lossy)
            .collect();
        format!(
            "-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n",
            lines.join("\r\n")
        )
    }

    #[test]
    fn a_key_of_any_kind_is_found_among_other_things() {
        let der: Vec<u8> = (0..=255).collect();
        for (kind, made) in KINDS {
            let text = format!(
                "Bag attributes\n{}{}",
                pem("CERTIFICATE", &[1]),
                pem(kind, &der)
            );
            assert_eq!(*read_key(text.as_bytes()).unwrap(), made(der.clone()));
        }
    }

    #[test]
    fn what_holds_no_key_says_why() {
        let whole = pem("PRIVATE KEY", b"0123456789");
        let error = |text: &str| read_key(text.as_bytes()).unwrap_err();
        let none = error(&pem("ENCRYPTED PRIVATE KEY", &[1]));
        assert!(matches!(none, pem::Error::NoItemsFound));
        assert!(matches!(error(""), pem::Error::NoItemsFound));
        let cut = error(&whole[..whole.len() - 10]);
        assert!(matches!(cut, pem::Error::MissingSectionEnd { .. }));
        let odd = error(&whole.replace("MDEy", "M?Ey"));
        assert!(matches!(odd, pem::Error::Base64Decode(_)), "{odd:?}");
    }

    // req: ND-06
    #[test]
    fn a_key_is_wiped_when_it_is_dropped() {
        fn wiped<T: zeroize::ZeroizeOnDrop>(_: &T) {}
        wiped(&read_key(pem("PRIVATE KEY", b"0123456789").as_bytes()).unwrap());
    }
}
