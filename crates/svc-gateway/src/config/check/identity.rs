//! What in the identities contradicts itself.

use std::collections::BTreeSet;

use http::HeaderName;
use http::header::HOST;
use http_rules::framing::is_refused;
use passport::{KeyHash, RootKey, is_tag, is_tenant};
use strict_config::{Report, masked_url};

use super::super::{ClientCertificates, GatewayText, IdentityText};
use super::route::is_ours;

/// What may name a tenant, and what a tag.
pub(super) const TENANT: &str = "use 1 to 128 letters of visible ASCII, without blanks";
pub(super) const TAG: &str = "use visible ASCII, without blanks and commas";

pub(super) fn identity(text: &GatewayText, identity: &IdentityText, report: &mut Report) {
    for (key, header) in [
        ("tenant_header", &identity.tenant_header),
        ("key_header", &identity.key_header),
    ] {
        let Some(name) = header else { continue };
        let remedy = "use letters, digits and hyphens";
        match name.parse::<HeaderName>() {
            Err(_) => report.contradiction(&[key], "this is no header name", remedy),
            Ok(name) if is_refused(&name) => {
                let what = format!("a request with a header `{name}` is refused");
                report.contradiction(&[key], what, remedy);
            }
            Ok(name) if name == HOST || is_ours(&name) => {
                let what = format!("`{name}` says where a request goes or how it is framed");
                report.contradiction(&[key], what, "name a header of its own, such as x-tenant");
            }
            Ok(_) => {}
        }
    }
    if identity.tenant_header.is_some() && text.trusted_hops.is_empty() {
        let what = "a tenant header is believed from trusted hops only, and there are none";
        report.contradiction(&["tenant_header"], what, "set gateway.trusted_hops");
    }
    if identity.required && !identity.has_means() {
        nobody_known(&["required"], report);
    }
    keys(identity, report);
    if let Some(jwt) = &identity.jwt
        && jwt.jwks_url.is_some() == jwt.jwks_file.is_some()
    {
        let what = "the keys come from one place: a URL or a file";
        report.contradiction(
            &["jwt.jwks_url", "jwt.jwks_file", "jwt.issuer"],
            what,
            "set exactly one of them",
        );
    }
    if let Some(url) = identity.jwt.as_ref().and_then(|jwt| jwt.jwks_url.as_ref())
        && let Err(what) = crate::keys::place(url)
    {
        let what = format!("`{}`: {what}", masked_url(url));
        report.contradiction(&["jwt.jwks_url"], what, "write https://host/path");
    }
    if let Some(passport) = &identity.passport
        && RootKey::new(&passport.key_id, &[0; 32]).is_err()
    {
        let what = format!("`{}` cannot name a root key", passport.key_id);
        let remedy = "use visible ASCII without blanks and commas, at most 32 letters";
        report.contradiction(&["passport.key_id"], what, remedy);
    }
    if let Some(passport) = &identity.passport
        && crate::caller::root_secret(passport.root_key.expose()).is_none()
    {
        let what = "the root key is not 64 hexadecimal digits";
        report.contradiction(
            &["passport.root_key"],
            what,
            "make one with `openssl rand -hex 32`",
        );
    }
    let certificates = text
        .tls
        .as_ref()
        .map_or(ClientCertificates::Off, |tls| tls.client_certificates);
    if !identity.certificates.is_empty() && certificates == ClientCertificates::Off {
        let what = "client certificates name the tenant, and none are asked for";
        report.contradiction(
            &["certificates"],
            what,
            "set gateway.tls.client_certificates",
        );
    }
}

/// Says that a caller must show who it is, and cannot.
pub(super) fn nobody_known(keys: &[&str], report: &mut Report) {
    let what =
        "callers must show who they are, and there is no way to: every request would be refused";
    let remedy = "set keys, jwt, passport, certificates or tenant_header under gateway.identity";
    report.contradiction(keys, what, remedy);
}

/// API keys and certificates: each shown by one, for a tenant that can be one.
fn keys(identity: &IdentityText, report: &mut Report) {
    let mut known = BTreeSet::new();
    for (index, key) in identity.keys.iter().enumerate() {
        report.within_item("keys", index, |report| {
            match key.hash.parse::<KeyHash>() {
                Err(_) => {
                    let remedy =
                        "write blake3: and 64 hexadecimal digits, as `macronode key new` prints";
                    report.contradiction(&["hash"], "this is no hash of a key", remedy);
                }
                Ok(_) if !known.insert(key.hash.to_ascii_lowercase()) => {
                    let what = "this key is listed before: whose it is would not be clear";
                    report.contradiction(&["hash"], what, "remove one of them");
                }
                Ok(_) => {}
            }
            names(&key.tenant, &key.tags, report);
        });
    }
    let mut known = BTreeSet::new();
    for (index, certificate) in identity.certificates.iter().enumerate() {
        report.within_item("certificates", index, |report| {
            if !known.insert(&certificate.subject) {
                let what = "this subject is listed before: whose it is would not be clear";
                report.contradiction(&["subject"], what, "remove one of them");
            }
            names(&certificate.tenant, &certificate.tags, report);
        });
    }
}

fn names(tenant: &str, tags: &[String], report: &mut Report) {
    if !is_tenant(tenant) {
        let what = format!("`{tenant}` cannot be a tenant");
        report.contradiction(&["tenant"], what, TENANT);
    }
    for tag in tags.iter().filter(|tag| !is_tag(tag)) {
        let what = format!("`{tag}` cannot be a tag");
        report.contradiction(&["tags"], what, TAG);
    }
}
