//! The header of a token: what it may ask for is little.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::denied::Denied;
use crate::keys::Algorithm;

/// Fields given twice are refused. Keys that a token brings along (`jwk`, `x5c`) or points to (`jku`, `x5u`) are never
/// looked at.
#[derive(Deserialize)]
pub(super) struct Header {
    alg: String,
    pub(super) kid: Option<String>,
    typ: Option<String>,
    // Presence is what counts, `null` included: a plain `Option` would not see that.
    #[serde(default, deserialize_with = "present")]
    crit: bool,
    #[serde(default, deserialize_with = "present")]
    b64: bool,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

impl Header {
    pub(super) fn read(json: &[u8]) -> Result<Self, Denied> {
        let header: Self = serde_json::from_slice(json).map_err(|_| Denied::Malformed)?;
        if header.crit || header.b64 || !header.is_access_token() {
            return Err(Denied::Header);
        }
        Ok(header)
    }

    pub(super) fn algorithm(&self) -> Result<Algorithm, Denied> {
        self.alg.parse().map_err(|_| Denied::Algorithm)
    }

    /// Other types are signed by the same keys for other ends, such as logout tokens.
    fn is_access_token(&self) -> bool {
        let Some(typ) = self.typ.as_deref() else {
            return true;
        };
        let typ = typ.to_ascii_lowercase();
        let typ = typ.strip_prefix("application/").unwrap_or(&typ);
        matches!(typ, "jwt" | "at+jwt")
    }
}
