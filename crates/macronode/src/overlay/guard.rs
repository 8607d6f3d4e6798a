//! Who asks, and whether they may: tokens compared in constant time, client certificates, and loopback for reading.

use std::collections::BTreeMap;

use front_door::{ClientCertificate, Visit};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use http_rules::authority::Authority;
use kernel::admin::is_local;
use strict_config::Secret;

use super::config::{OverlayText, Role};
use super::reject::Refusal;

/// What browsers say of who made them ask.
static FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Who may do what.
#[derive(Debug)]
pub(crate) struct Guard {
    tokens: Vec<(String, Role, Secret)>,
    certificates: BTreeMap<String, Role>,
}

/// Who may not, where they are known, and why not.
#[derive(Debug)]
pub(crate) struct Turned {
    pub(crate) who: Option<Who>,
    pub(crate) why: Refusal,
}

impl From<Refusal> for Turned {
    fn from(why: Refusal) -> Self {
        Self { who: None, why }
    }
}

/// Who asks, as the log knows them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    /// `token NAME`, `certificate NAME`, or `loopback` for who has shown nothing.
    pub(crate) name: String,
    pub(crate) role: Role,
}

impl Guard {
    pub(crate) fn new(text: &OverlayText) -> Self {
        let tokens = text.tokens.iter();
        Self {
            tokens: tokens
                .map(|(name, token)| (name.clone(), token.role, token.secret.clone()))
                .collect(),
            certificates: text.certificates.clone(),
        }
    }

    /// Who asks, if they may do what needs this role.
    pub(crate) fn admit(
        &self,
        need: Role,
        headers: &HeaderMap,
        authority: &Authority<'_>,
        visit: &Visit,
    ) -> Result<Who, Turned> {
        let who = match self.identify(headers, visit)? {
            Some(who) => who,
            None if need == Role::Read && visit.local.ip().is_loopback() => {
                local(authority)?;
                Who {
                    name: "loopback".to_owned(),
                    role: Role::Read,
                }
            }
            None => return Err(Refusal::Unauthorized.into()),
        };
        let why = match need {
            _ if who.role < need => Refusal::Forbidden,
            Role::Operate if is_cross_site(headers) => Refusal::CrossSite,
            _ => return Ok(who),
        };
        let who = Some(who);
        Err(Turned { who, why })
    }

    /// Whoever shows a token is judged by it alone, right or wrong; a certificate counts where none is shown.
    fn identify(&self, headers: &HeaderMap, visit: &Visit) -> Result<Option<Who>, Refusal> {
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        match (shown.next(), shown.next()) {
            (Some(value), None) => {
                let token = value.to_str().ok().and_then(bearer);
                let who = token.and_then(|token| self.holder(token));
                who.map(Some).ok_or(Refusal::BadToken)
            }
            (Some(_), Some(_)) => Err(Refusal::BadToken),
            (None, _) => {
                let tls = visit.tls.as_ref();
                let certificate = tls.and_then(|tls| tls.client.as_ref());
                let Some(certificate) = certificate else {
                    return Ok(None);
                };
                let known = self.owner(certificate);
                known.map(Some).ok_or(Refusal::Forbidden)
            }
        }
    }

    /// Looks at every token, so that the time it takes tells nothing of which was nearly right.
    fn holder(&self, token: &str) -> Option<Who> {
        let shown = Secret::from(token.to_owned());
        let mut found = None;
        for (name, role, secret) in &self.tokens {
            if *secret == shown {
                found = Some(Who {
                    name: format!("token {name}"),
                    role: *role,
                });
            }
        }
        found
    }

    fn owner(&self, certificate: &ClientCertificate) -> Option<Who> {
        let names = certificate.dns_names.iter().chain(&certificate.uris);
        let names = names.chain([&certificate.subject]);
        let known = names.filter_map(|name| Some((*self.certificates.get(name)?, name)));
        let (role, name) = known.max_by_key(|(role, _)| *role)?;
        Some(Who {
            name: format!("certificate {name}"),
            role,
        })
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim_start_matches(' '))
}

/// A page in a browser can have its own name lead to this machine; it cannot ask by the machine's address.
fn local(authority: &Authority<'_>) -> Result<(), Refusal> {
    match is_local(&authority.host) {
        true => Ok(()),
        false => Err(Refusal::Misdirected),
    }
}

fn is_cross_site(headers: &HeaderMap) -> bool {
    let mut said = headers.get_all(&FETCH_SITE).iter();
    said.any(|site| site != "same-origin" && site != "none")
}

#[cfg(test)]
mod tests;
