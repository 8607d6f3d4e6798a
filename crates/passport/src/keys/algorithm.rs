//! The signature algorithms a token may name: asymmetric ones, and no others exist here.

use std::str::FromStr;

use aws_lc_rs::signature::{
    self, EcdsaVerificationAlgorithm, EdDSAParameters, RsaParameters, VerificationAlgorithm,
};

/// An algorithm by its JOSE name.
///
/// Neither `none` nor the symmetric `HS*` have a value here, so nothing can be verified by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

/// What kind of key an algorithm needs: a key serves only algorithms of its own family.
#[derive(Clone, Copy)]
pub(super) enum Family {
    Rsa(&'static RsaParameters),
    Ec(&'static EcdsaVerificationAlgorithm, &'static str),
    Ed25519(&'static EdDSAParameters),
}

impl Algorithm {
    /// All there are.
    pub const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];

    /// As `alg` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }

    pub(super) fn family(self) -> Family {
        match self {
            Self::Rs256 => Family::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Family::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Family::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Family::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Family::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Family::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            Self::Es256 => Family::Ec(&signature::ECDSA_P256_SHA256_FIXED, "P-256"),
            Self::Es384 => Family::Ec(&signature::ECDSA_P384_SHA384_FIXED, "P-384"),
            Self::EdDsa => Family::Ed25519(&signature::ED25519),
        }
    }
}

/// Not an algorithm that is accepted here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("accepted are RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 and EdDSA")]
pub struct UnknownAlgorithm;

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        let known = Self::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or(UnknownAlgorithm)
    }
}

impl Family {
    pub(super) fn verification(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::Rsa(parameters) => parameters,
            Self::Ec(algorithm, _) => algorithm,
            Self::Ed25519(algorithm) => algorithm,
        }
    }
}
