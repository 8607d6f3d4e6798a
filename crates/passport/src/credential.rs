//! What a caller offers to prove who it is, and how it is found among the headers.

use std::fmt;

use crate::api_key::API_KEY_PREFIX;
use crate::capability::PASSPORT_PREFIX;
use crate::denied::Denied;
use crate::tenant::is_visible;

/// Longest credential that is looked at.
pub const CREDENTIAL_BYTES_MAX: usize = 8 * 1024;

/// One credential, borrowed from the request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Credential<'a> {
    /// The value of `X-Api-Key`.
    ApiKey(&'a str),
    /// What follows `Bearer`: a passport, an API key or a JWT, told apart by their form.
    Bearer(&'a str),
    /// A client certificate that the TLS handshake has verified.
    ClientCertificate {
        /// The name the caller took from it: a SAN, or the whole subject.
        subject: &'a str,
    },
    /// A tenant id from a proxy whose word is good.
    TrustedHeader(&'a str),
    /// Nothing.
    None,
}

impl Credential<'_> {
    pub(crate) fn text(&self) -> &str {
        match *self {
            Self::ApiKey(text) | Self::Bearer(text) | Self::TrustedHeader(text) => text,
            Self::ClientCertificate { subject } => subject,
            Self::None => "",
        }
    }

    /// A number per kind, so that a text means nothing as a credential of another kind.
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::ApiKey(_) => 1,
            Self::Bearer(_) => 2,
            Self::ClientCertificate { .. } => 3,
            Self::TrustedHeader(_) => 4,
        }
    }
}

/// Names the kind only.
impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ApiKey(_) => "ApiKey(..)",
            Self::Bearer(_) => "Bearer(..)",
            Self::ClientCertificate { .. } => "ClientCertificate(..)",
            Self::TrustedHeader(_) => "TrustedHeader(..)",
            Self::None => "None",
        })
    }
}

/// What kind of credential it is, which is all that can be told before anybody knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A key, in its header or as a bearer's.
    ApiKey,
    /// A token of our own.
    Passport,
    /// A token of an identity provider: whatever a bearer shows that is neither of the others.
    Token,
    /// A client certificate.
    Certificate,
}

impl Kind {
    pub(crate) fn of_bearer(token: &[u8]) -> Self {
        match token {
            _ if token.starts_with(PASSPORT_PREFIX.as_bytes()) => Self::Passport,
            _ if token.starts_with(API_KEY_PREFIX.as_bytes()) => Self::ApiKey,
            _ => Self::Token,
        }
    }
}

/// What of a request may hold credentials: every value of each header, and what the connection says.
#[derive(Debug)]
pub struct Offered<'a, A, K, T> {
    /// All values of `Authorization`.
    pub authorization: A,
    /// All values of `X-Api-Key`.
    pub api_key: K,
    /// All values of the tenant header, or nothing unless the hop is one whose word is good.
    pub trusted_header: T,
    /// The name in the verified client certificate.
    pub certificate: Option<&'a str>,
}

/// Finds the one credential of a request among those of a kind that is good here.
///
/// Any other is the upstream's business, like `Authorization` in another scheme than `Bearer`: it is no credential,
/// whatever it looks like, and takes nothing from one that is.
///
/// The word of a trusted hop counts first, since such a proxy has verified the caller and may pass the caller's own
/// headers on; then what the request carries; then the certificate, which may be that of a hop between.
pub fn credential_of<'a, A, K, T>(
    offered: Offered<'a, A, K, T>,
    accepts: impl Fn(Kind) -> bool,
) -> Result<Credential<'a>, Denied>
where
    A: IntoIterator<Item = &'a [u8]>,
    K: IntoIterator<Item = &'a [u8]>,
    T: IntoIterator<Item = &'a [u8]>,
{
    if let Some(tenant) = only(offered.trusted_header)? {
        let tenant = text(tenant).map_err(|_| Denied::BadTenant)?;
        return Ok(Credential::TrustedHeader(tenant));
    }
    let bearer = sole_bearer(offered.authorization, &accepts)?;
    let key = match accepts(Kind::ApiKey) {
        true => only(offered.api_key)?,
        false => None,
    };
    let certificate = offered.certificate.filter(|_| accepts(Kind::Certificate));
    match (bearer, key, certificate) {
        (Some(_), Some(_), _) => Err(Denied::Ambiguous),
        (Some(token), None, _) => Ok(Credential::Bearer(text(token)?)),
        (None, Some(key), _) => Ok(Credential::ApiKey(text(key)?)),
        (None, None, Some(subject)) => Ok(Credential::ClientCertificate { subject }),
        (None, None, None) => Ok(Credential::None),
    }
}

fn only<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Result<Option<&'a [u8]>, Denied> {
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (first, None) => Ok(first),
        (_, Some(_)) => Err(Denied::Ambiguous),
    }
}

/// The bearer's credential that is ours, which nothing else may be beside.
fn sole_bearer<'a>(
    values: impl IntoIterator<Item = &'a [u8]>,
    accepts: impl Fn(Kind) -> bool,
) -> Result<Option<&'a [u8]>, Denied> {
    let (mut lines, mut found) = (0, None);
    for value in values {
        lines += 1;
        let ours = |token: &&[u8]| accepts(Kind::of_bearer(token));
        found = bearer(value).filter(ours).or(found);
    }
    match (found, lines) {
        (Some(_), 2..) => Err(Denied::Ambiguous),
        _ => Ok(found),
    }
}

/// What follows the scheme, when the scheme is `Bearer` in any case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(6)?;
    let ours = scheme.eq_ignore_ascii_case(b"bearer") && matches!(rest, [] | [b' ', ..]);
    ours.then(|| rest.trim_ascii_start())
}

fn text(value: &[u8]) -> Result<&str, Denied> {
    if value.len() > CREDENTIAL_BYTES_MAX {
        return Err(Denied::TooLong);
    }
    let text = std::str::from_utf8(value).map_err(|_| Denied::Malformed)?;
    let good = !text.is_empty() && is_visible(text);
    good.then_some(text).ok_or(Denied::Malformed)
}

#[cfg(test)]
mod tests;
