//! Tokens and key sets for the tests: signed by keys of every kind, right or wrong as asked.

use std::sync::LazyLock;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    Ed25519KeyPair, KeyPair, RsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::keys::{Algorithm, KeySet};

/// An issuer's private keys, one of each kind.
pub(crate) struct Forge {
    rsa: RsaKeyPair,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    ed: Ed25519KeyPair,
}

/// Shared by the tests, since making RSA keys is slow.
pub(crate) static FORGE: LazyLock<Forge> = LazyLock::new(Forge::new);
/// Keys of somebody else.
pub(crate) static OTHER: LazyLock<Forge> = LazyLock::new(Forge::new);

impl Forge {
    fn new() -> Self {
        Self {
            rsa: RsaKeyPair::generate(KeySize::Rsa2048).unwrap(),
            p256: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap(),
            p384: EcdsaKeyPair::generate(&ECDSA_P384_SHA384_FIXED_SIGNING).unwrap(),
            ed: Ed25519KeyPair::generate().unwrap(),
        }
    }

    pub(crate) fn sign(&self, algorithm: Algorithm, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        let rsa = match algorithm {
            Algorithm::Es256 => return self.p256.sign(&random, message).unwrap().as_ref().into(),
            Algorithm::Es384 => return self.p384.sign(&random, message).unwrap().as_ref().into(),
            Algorithm::EdDsa => return self.ed.sign(message).as_ref().into(),
            Algorithm::Rs256 => &signature::RSA_PKCS1_SHA256,
            Algorithm::Rs384 => &signature::RSA_PKCS1_SHA384,
            Algorithm::Rs512 => &signature::RSA_PKCS1_SHA512,
            Algorithm::Ps256 => &signature::RSA_PSS_SHA256,
            Algorithm::Ps384 => &signature::RSA_PSS_SHA384,
            Algorithm::Ps512 => &signature::RSA_PSS_SHA512,
        };
        let mut signature = vec![0; self.rsa.public_modulus_len()];
        self.rsa
            .sign(rsa, &random, message, &mut signature)
            .unwrap();
        signature
    }

    /// The modulus, out of the one DER form that a key of 2,048 bits with exponent 65,537 has.
    pub(crate) fn modulus(&self) -> &[u8] {
        let der = self.rsa.public_key().as_ref();
        assert_eq!((der.len(), &der[265..]), (270, &[2, 3, 1, 0, 1][..]));
        &der[9..265]
    }

    pub(crate) fn jwk(&self, kid: &str, kind: &str) -> Value {
        let point = |key: &EcdsaKeyPair, curve: &str| {
            let numbers = &key.public_key().as_ref()[1..];
            let (x, y) = numbers.split_at(numbers.len() / 2);
            json!({"kty": "EC", "kid": kid, "crv": curve, "x": coded(x), "y": coded(y)})
        };
        match kind {
            "RSA" => {
                json!({"kty": "RSA", "kid": kid, "use": "sig", "n": coded(self.modulus()), "e": "AQAB"})
            }
            "P-256" => point(&self.p256, "P-256"),
            "P-384" => point(&self.p384, "P-384"),
            _ => {
                json!({"kty": "OKP", "kid": kid, "crv": "Ed25519", "x": coded(self.ed.public_key().as_ref())})
            }
        }
    }

    /// All four public keys, named after their kinds.
    pub(crate) fn key_set(&self) -> KeySet {
        let keys = ["RSA", "P-256", "P-384", "Ed25519"].map(|kind| self.jwk(kind, kind));
        key_set(&keys).unwrap()
    }

    pub(crate) fn token(&self, algorithm: Algorithm, header: Value, claims: &Value) -> String {
        let signed = format!(
            "{}.{}",
            coded(header.to_string()),
            coded(claims.to_string())
        );
        let signature = self.sign(algorithm, signed.as_bytes());
        format!("{signed}.{}", coded(signature))
    }

    /// With the header that goes with the algorithm.
    pub(crate) fn good_token(&self, algorithm: Algorithm, claims: &Value) -> String {
        let header = json!({"alg": algorithm.name(), "kid": kind_of(algorithm)});
        self.token(algorithm, header, claims)
    }
}

pub(crate) fn kind_of(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Es256 => "P-256",
        Algorithm::Es384 => "P-384",
        Algorithm::EdDsa => "Ed25519",
        _ => "RSA",
    }
}

pub(crate) fn key_set(keys: &[Value]) -> Result<KeySet, crate::KeySetError> {
    KeySet::parse(json!({ "keys": keys }).to_string().as_bytes())
}

pub(crate) fn coded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
