//! Who is asking: known at once, or verified at the expense of where it came from.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fair_queue::{Class, Work};
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use http_rules::forward::{Trail, client_address, is_trusted};
use passport::{Credential, Denied, Identity, Offered, Verifier, credential_of};

use crate::heads::Heads;
use crate::plan::{Plan, Terms};
use crate::quota::address_key;
use crate::reject::Refusal;
use front_door::{TlsFacts, Visit};

mod settings;

/// Who is asking, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Where the request came from, as far as trusted hops say.
    pub(crate) address: IpAddr,
    /// Whether the other end of the socket is one of them.
    pub(crate) trusted: bool,
    /// Absent for callers without identity: their address stands for them.
    pub(crate) identity: Option<Arc<Identity>>,
    pub(crate) key: u64,
    pub(crate) class: Class,
    pub(crate) weight: u32,
}

/// Where a request came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// As far as trusted hops say.
    pub(crate) address: IpAddr,
    /// Whether the other end of the socket is one of them.
    pub(crate) trusted: bool,
}

impl Origin {
    pub(crate) fn of(plan: &Plan, parts: &Parts, visit: &Visit, heads: Heads) -> Self {
        let peer = visit.peer.ip();
        let trusted = !plan.trusted.is_empty() && is_trusted(peer, &plan.trusted);
        let address = match trusted && heads.has(Heads::FORWARDED) {
            true => client_address(
                &parts.headers,
                peer,
                &plan.trusted,
                Trail::of(&parts.headers),
            ),
            false => peer,
        };
        Self { address, trusted }
    }
}

/// What a request that came by another way claims of who asks: told the tenant, if any, it says whether that is the one
/// it means. Goes with the request as an extension.
#[derive(Clone)]
pub struct Claim(pub Arc<IsMeant>);

type IsMeant = dyn Fn(Option<&str>) -> bool + Send + Sync;

impl Caller {
    /// Refuses a claim that is not true.
    pub(crate) fn believes(&self, parts: &Parts) -> Result<(), Refusal> {
        match parts.extensions.get::<Claim>() {
            Some(claim) if !(claim.0)(self.tenant()) => Err(Refusal::Forbidden),
            _ => Ok(()),
        }
    }

    /// The work of this caller as the fair queue sees it.
    pub(crate) fn work(&self, deadline: Duration) -> Work {
        Work::of(self.class, self.key)
            .weight(self.weight)
            .deadline(deadline)
    }

    /// What the tenant is called, if anything.
    pub(crate) fn tenant(&self) -> Option<&str> {
        self.identity.as_ref().map(|identity| &*identity.tenant)
    }

    /// What is known of the tenant by name.
    pub(crate) fn terms<'p>(&self, plan: &'p Plan) -> Option<&'p Terms> {
        plan.tenants.get(self.tenant()?)
    }
}

pub(crate) use settings::{root_secret, verifier};

/// All that is to be seen of who asks.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) visit: &'a Visit,
    pub(crate) from: Origin,
    pub(crate) heads: Heads,
    pub(crate) now: Duration,
}

/// Sees who is asking. A credential that was good before costs nothing; another one is verified after its source was
/// charged for it, so that nobody draws on another's share by claiming to be them.
pub(crate) fn recognise(plan: &Plan, who: Sight<'_>, required: bool) -> Result<Caller, Refusal> {
    let Origin { address, trusted } = who.from;
    let shown = who.heads.has(Heads::CREDENTIAL) || who.visit.tls.is_some();
    let identity = match &plan.verifier {
        Some(verifier) if shown => {
            let credential = offered(plan, verifier, who, trusted);
            verified(
                plan,
                verifier,
                credential.map_err(Refusal::Unknown)?,
                address,
                who.now,
            )?
        }
        _ => None,
    };
    if required && identity.is_none() {
        return Err(Refusal::Unknown(Denied::Missing));
    }
    Ok(caller(plan, identity, address, trusted))
}

fn caller(plan: &Plan, identity: Option<Arc<Identity>>, address: IpAddr, trusted: bool) -> Caller {
    let mut caller = Caller {
        address,
        trusted,
        key: address_key(address),
        class: Class::ANON,
        weight: 1,
        identity: None,
    };
    if let Some(identity) = identity {
        caller.key = identity.key;
        caller.class = Class(identity.class.0);
        caller.identity = Some(identity);
        if let Some(terms) = caller.terms(plan) {
            caller.class = terms.class;
            caller.weight = terms.weight.load(Ordering::Relaxed);
        }
    }
    caller
}

fn offered<'a>(
    plan: &Plan,
    verifier: &Verifier,
    who: Sight<'a>,
    trusted: bool,
) -> Result<Credential<'a>, Denied> {
    let named = plan.tenant_header.as_ref().filter(|_| trusted);
    let lines = |what: Heads, name: Option<&HeaderName>| {
        let there = name.filter(|_| who.heads.has(what));
        let lines = there.map(|name| who.parts.headers.get_all(name));
        lines.into_iter().flatten().map(HeaderValue::as_bytes)
    };
    let offered = Offered {
        authorization: lines(Heads::AUTHORIZATION, Some(&AUTHORIZATION)),
        api_key: lines(Heads::KEY, plan.key_header.as_ref()),
        trusted_header: lines(Heads::TENANT, named),
        certificate: who.visit.tls.as_deref().and_then(name_of),
    };
    credential_of(offered, |kind| verifier.accepts(kind))
}

/// The first DNS name a certificate is made out to, else its first URI, else its subject.
fn name_of(tls: &TlsFacts) -> Option<&str> {
    let certificate = tls.client.as_ref()?;
    let named = certificate.dns_names.first().or(certificate.uris.first());
    Some(named.unwrap_or(&certificate.subject))
}

fn verified(
    plan: &Plan,
    verifier: &Verifier,
    credential: Credential<'_>,
    address: IpAddr,
    now: Duration,
) -> Result<Option<Arc<Identity>>, Refusal> {
    if credential == Credential::None {
        return Ok(None);
    }
    let seconds = plan.shared.wall.seconds(now);
    let known = match verifier.cached(credential, seconds) {
        Some(known) => known,
        None => {
            // The word of a trusted hop is taken as it is: there is nothing to verify. Who was good before is verified
            // again for reasons of ours.
            let by_word = matches!(credential, Credential::TrustedHeader(_));
            if !by_word && !verifier.was_good(credential) {
                let charged = plan
                    .quotas
                    .verifications
                    .check(address_key(address), 1, now);
                let wait = |denied: rate_quota::Denied| {
                    denied.retry_after().unwrap_or(Duration::from_secs(60))
                };
                charged.map_err(|denied| Refusal::Verifications(wait(denied)))?;
            }
            let verified = verifier.verify(credential, seconds);
            if let (Err(Denied::UnknownKey(_)), Some(keys)) = (&verified, &plan.keys) {
                keys.want(now);
            }
            verified
        }
    };
    known.map(Some).map_err(Refusal::Unknown)
}
