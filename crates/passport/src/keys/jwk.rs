//! One JSON web key: parsed once, bound to its algorithms, ready to verify.

use std::fmt;

use aws_lc_rs::signature::{ParsedPublicKey, RsaPublicKeyComponents};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;

use super::algorithm::{Algorithm, Family};

const KID_BYTES_MAX: usize = 256;
/// From 2,048 to 8,192 bits; less is breakable, more is a way to keep a verifier busy.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;
/// 65,537 needs three; a long exponent makes verifying as slow as signing.
const EXPONENT_BYTES_MAX: usize = 4;

/// A key and what it may verify.
pub(crate) struct Key {
    kid: Option<Box<str>>,
    /// One parsed key per algorithm it serves: an algorithm that is not here cannot be used with it.
    uses: Vec<(Algorithm, ParsedPublicKey)>,
    /// The public numbers, to tell keys apart.
    material: Box<[u8]>,
}

impl Key {
    pub(super) fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    pub(super) fn serves(&self, algorithm: Algorithm) -> bool {
        self.uses.iter().any(|(own, _)| *own == algorithm)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        let algorithms = |key: &Self| -> Vec<Algorithm> {
            key.uses.iter().map(|(algorithm, _)| *algorithm).collect()
        };
        self.kid == other.kid
            && self.material == other.material
            && algorithms(self) == algorithms(other)
    }

    /// Whether a token's `kid` and `alg` could mean either.
    pub(super) fn is_mistakable_for(&self, other: &Self) -> bool {
        let shared = self
            .uses
            .iter()
            .any(|(algorithm, _)| other.serves(*algorithm));
        self.kid.is_some() && self.kid == other.kid && shared
    }

    pub(crate) fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let key = self.uses.iter().find(|(own, _)| *own == algorithm);
        key.is_some_and(|(_, key)| key.verify_sig(message, signature).is_ok())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let algorithms = self.uses.iter().map(|(algorithm, _)| algorithm.name());
        write!(f, "Key({:?}, ", self.kid)?;
        f.debug_list().entries(algorithms).finish()?;
        f.write_str(")")
    }
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<Box<str>>,
    alg: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// `None` for a key that is not for verifying, not of a kind that is supported, or weak.
pub(super) fn read(value: Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    let verifies = jwk.usage.as_deref().is_none_or(|usage| usage == "sig")
        && jwk
            .key_ops
            .as_ref()
            .is_none_or(|ops| ops.iter().any(|op| op == "verify"))
        && jwk
            .kid
            .as_ref()
            .is_none_or(|kid| kid.len() <= KID_BYTES_MAX);
    if !verifies {
        return None;
    }
    let named =
        |algorithm: &Algorithm| jwk.alg.as_deref().is_none_or(|alg| alg == algorithm.name());
    let uses: Vec<_> = Algorithm::ALL
        .into_iter()
        .filter(named)
        .filter_map(|algorithm| Some((algorithm, parsed(&jwk, algorithm.family())?)))
        .collect();
    (!uses.is_empty()).then(|| Key {
        material: material(&jwk),
        kid: jwk.kid,
        uses,
    })
}

fn parsed(jwk: &Jwk, family: Family) -> Option<ParsedPublicKey> {
    match (family, jwk.kty.as_str()) {
        (Family::Rsa(parameters), "RSA") => {
            let (n, e) = (decoded(&jwk.n)?, decoded(&jwk.e)?);
            let sound = MODULUS_BYTES.contains(&n.len()) && e.len() <= EXPONENT_BYTES_MAX;
            let components = RsaPublicKeyComponents { n, e };
            sound.then(|| components.to_parsed_public_key(parameters).ok())?
        }
        (Family::Ec(_, curve), "EC") if jwk.crv.as_deref() == Some(curve) => {
            let (x, y) = (decoded(&jwk.x)?, decoded(&jwk.y)?);
            // Uncompressed, so x and y of other lengths would shift into each other; the parser sees the sum only.
            let point = [&[4], &x[..], &y[..]].concat();
            (x.len() == y.len()).then(|| ParsedPublicKey::new(family.verification(), point).ok())?
        }
        (Family::Ed25519(_), "OKP") if jwk.crv.as_deref() == Some("Ed25519") => {
            ParsedPublicKey::new(family.verification(), decoded(&jwk.x)?).ok()
        }
        _ => None,
    }
}

fn decoded(part: &Option<String>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part.as_ref()?).ok()
}

fn material(jwk: &Jwk) -> Box<[u8]> {
    let parts = [&jwk.crv, &jwk.n, &jwk.e, &jwk.x, &jwk.y];
    let texts = parts.map(|part| part.as_deref().unwrap_or_default());
    texts.join(".").into_bytes().into()
}
