//! Why somebody was not recognised.

use thiserror::Error;

use crate::settings::IssuerId;

/// A refusal. None of them carries any part of the credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Denied {
    /// Nothing was offered.
    #[error("no credential was given")]
    Missing,
    /// Two credentials, or one twice.
    #[error("more than one credential was given")]
    Ambiguous,
    /// Longer than [`crate::CREDENTIAL_BYTES_MAX`].
    #[error("the credential is too long")]
    TooLong,
    /// Not of any known form.
    #[error("the credential cannot be read")]
    Malformed,
    /// A kind of credential the settings do not speak of.
    #[error("this kind of credential is not accepted here")]
    NotAccepted,
    /// A tenant id that is empty, too long, or not visible ASCII.
    #[error("the tenant id is not 1 to 128 visible ASCII characters")]
    BadTenant,
    /// No such API key.
    #[error("the API key is not known")]
    UnknownApiKey,
    /// No such client certificate.
    #[error("the certificate's subject is not known")]
    UnknownSubject,
    /// `none`, a symmetric algorithm, or one the issuer or key does not use.
    #[error("the token's algorithm is not accepted")]
    Algorithm,
    /// A header that asks for more than is understood here.
    #[error("the token's header asks for what is not supported")]
    Header,
    /// Signed by nobody we know.
    #[error("the token's issuer is not known")]
    UnknownIssuer,
    /// The issuer's keys have not been fetched yet.
    #[error("the keys of the token's issuer are not at hand")]
    KeysUnavailable(IssuerId),
    /// The issuer has no such key: maybe it has a new one.
    #[error("the token's key is not among its issuer's keys")]
    UnknownKey(IssuerId),
    /// No root key has this id.
    #[error("the passport's root key is not known")]
    UnknownRoot,
    /// The signature or chain of tags does not fit.
    #[error("the signature does not fit")]
    Signature,
    /// Past its time.
    #[error("the credential has expired")]
    Expired,
    /// Before its time.
    #[error("the credential is not valid yet")]
    NotYet,
    /// A token that would never end.
    #[error("the token has no expiry")]
    NoExpiry,
    /// Meant for somebody else.
    #[error("the token is meant for another audience")]
    Audience,
    /// A claim that is missing or of the wrong kind.
    #[error("a claim that is needed is missing or odd")]
    Claims,
    /// A caveat that is not understood, or that nothing satisfies.
    #[error("a caveat of the passport is not understood or cannot be met")]
    Caveat,
}

impl Denied {
    /// A stable code, for metrics, logs and clients.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Missing => "credential-missing",
            Self::Ambiguous => "credential-ambiguous",
            Self::TooLong => "credential-too-long",
            Self::Malformed => "credential-malformed",
            Self::NotAccepted => "credential-not-accepted",
            Self::BadTenant => "tenant-malformed",
            Self::UnknownApiKey => "api-key-unknown",
            Self::UnknownSubject => "certificate-unknown",
            Self::Algorithm => "token-algorithm",
            Self::Header => "token-header",
            Self::UnknownIssuer => "token-issuer",
            Self::KeysUnavailable(_) => "token-keys-unavailable",
            Self::UnknownKey(_) => "token-key",
            Self::UnknownRoot => "passport-key",
            Self::Signature => "token-signature",
            Self::Expired => "token-expired",
            Self::NotYet => "token-not-yet",
            Self::NoExpiry => "token-no-expiry",
            Self::Audience => "token-audience",
            Self::Claims => "token-claims",
            Self::Caveat => "passport-caveat",
        }
    }

    /// The HTTP status that fits: 400 for a request that contradicts itself, 503 while keys are missing, else 401.
    pub fn status(self) -> u16 {
        match self {
            Self::Ambiguous | Self::TooLong | Self::BadTenant => 400,
            Self::KeysUnavailable(_) => 503,
            _ => 401,
        }
    }

    /// Whether the same credential gets the same answer for a while, so that the answer may be kept.
    ///
    /// Keys come with the next fetch and times come by themselves; what has not even the right form costs nothing to
    /// refuse again.
    pub(crate) fn keeps(self) -> bool {
        !matches!(
            self,
            Self::Missing
                | Self::Ambiguous
                | Self::TooLong
                | Self::Malformed
                | Self::BadTenant
                | Self::KeysUnavailable(_)
                | Self::UnknownKey(_)
                | Self::NotYet
        )
    }
}
