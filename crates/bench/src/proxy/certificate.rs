//! A certificate for the length of a run.

use rcgen::{CertifiedKey, generate_simple_self_signed};

/// Whom clients ask for.
pub(crate) const HOST: &str = "localhost";

/// In the forms the servers take.
#[derive(Debug)]
pub(crate) struct Certificate {
    pub(crate) der: Vec<u8>,
    chain: String,
    key: String,
    both: String,
}

impl Certificate {
    /// ECDSA on P-256, as public certificates are by default today.
    pub(crate) fn make() -> Result<Self, String> {
        let made = generate_simple_self_signed([HOST.to_owned()]);
        let CertifiedKey { cert, signing_key } =
            made.map_err(|error| format!("no certificate could be made: {error}"))?;
        let (chain, key) = (cert.pem(), signing_key.serialize_pem());
        Ok(Self {
            der: cert.der().to_vec(),
            both: format!("{chain}{key}"),
            chain,
            key,
        })
    }

    pub(crate) fn files(&self) -> [(&str, &[u8]); 3] {
        [
            ("cert.pem", self.chain.as_bytes()),
            ("key.pem", self.key.as_bytes()),
            ("both.pem", self.both.as_bytes()),
        ]
    }
}
