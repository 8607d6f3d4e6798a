//! What in a `[gateway]` section contradicts itself, or names what is not there.

use http::header::{CONTENT_LENGTH, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TRAILER};
use http::{HeaderName, HeaderValue};
use http_rules::forward::is_hop_by_hop;
use strict_config::Report;

use super::{
    ClientCertificates, GatewayText, IdentityText, RouteText, TlsText, UpstreamText, network,
};
use crate::policy::Policy;
use crate::rewrite::Rewrite;
use crate::routes::{Matcher, MatcherError};

pub(super) fn check(text: &GatewayText, report: &mut Report) {
    doors(text, report);
    targets(text, report);
    for hop in &text.trusted_hops {
        if let Err(what) = network(hop) {
            report.contradiction(
                &["trusted_hops"],
                what,
                "write a network such as 10.0.0.0/8",
            );
        }
    }
    if text.proxy_protocol && text.trusted_hops.is_empty() {
        let what = "nobody is trusted to send a PROXY protocol header";
        report.contradiction(
            &["proxy_protocol", "trusted_hops"],
            what,
            "set trusted_hops",
        );
    }
    report.within("identity", |report| identity(text, &text.identity, report));
    if let Some(tls) = &text.tls {
        report.within("tls", |report| check_tls(tls, report));
    }
    if let Some(policy) = &text.policy
        && let Err(what) = Policy::load(policy)
    {
        report.contradiction(
            &["policy"],
            what,
            "mend the rules, or the file they come from",
        );
    }
    if text.queue.per_tenant > text.queue.items {
        let what = "one tenant may not have more waiting than all together";
        let remedy = "lower queue.per_tenant, or raise queue.items";
        report.contradiction(&["queue.per_tenant", "queue.items"], what, remedy);
    }
    names(text, report);
    for (index, text_of_route) in text.routes.iter().enumerate() {
        report.within_item("routes", index, |report| route(text, text_of_route, report));
    }
    report.within("upstreams", |report| {
        for (name, upstream) in &text.upstreams {
            report.within(name, |report| check_upstream(upstream, report));
        }
    });
}

fn doors(text: &GatewayText, report: &mut Report) {
    let secure = text.tls.iter().flat_map(|tls| &tls.listen);
    let mut all: Vec<_> = text.listen.iter().chain(secure).collect();
    if all.is_empty() {
        let remedy = "set listen, or a [gateway.tls] section";
        report.contradiction(&["listen"], "the gateway has no door", remedy);
    }
    all.sort();
    // Port 0 is a different one each time.
    if let Some(twice) = all
        .windows(2)
        .find(|two| two[0] == two[1] && two[0].port() != 0)
    {
        let what = format!("{} is listened on twice", twice[0]);
        report.contradiction(&["listen", "tls.listen"], what, "remove one of them");
    }
}

fn targets(text: &GatewayText, report: &mut Report) {
    match &text.to {
        None if text.routes.is_empty() => {
            let remedy = "set to = \"http://host:port\", or write [[gateway.routes]]";
            report.contradiction(
                &["routes", "to"],
                "the gateway has nowhere to send requests",
                remedy,
            );
        }
        Some(_) if text.upstreams.contains_key("main") => {
            let what = "`to` is short for the upstream `main`, which is there too";
            report.contradiction(&["to", "upstreams.main"], what, "remove one of them");
        }
        Some(to) => {
            if let Err(error) = upstream::EndpointSpec::parse(to) {
                report.contradiction(&["to"], error.to_string(), "write http://host:port");
            }
        }
        None => {}
    }
}

fn identity(text: &GatewayText, identity: &IdentityText, report: &mut Report) {
    for (key, header) in [
        ("tenant_header", &identity.tenant_header),
        ("key_header", &identity.key_header),
    ] {
        if header
            .as_ref()
            .is_some_and(|name| name.parse::<HeaderName>().is_err())
        {
            report.contradiction(
                &[key],
                "this is no header name",
                "use letters, digits and hyphens",
            );
        }
    }
    if identity.tenant_header.is_some() && text.trusted_hops.is_empty() {
        let what = "a tenant header is believed from trusted hops only, and there are none";
        report.contradiction(&["tenant_header"], what, "set gateway.trusted_hops");
    }
    for (index, key) in identity.keys.iter().enumerate() {
        let hex = key.hash.strip_prefix("blake3:");
        if !hex
            .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
        {
            report.within_item("keys", index, |report| {
                let remedy =
                    "write blake3: and 64 hexadecimal digits, as `macronode key new` prints";
                report.contradiction(&["hash"], "this is no hash of a key", remedy);
            });
        }
    }
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

fn check_tls(tls: &TlsText, report: &mut Report) {
    if tls.client_certificates != ClientCertificates::Off && tls.client_ca.is_none() {
        let what = "client certificates are asked for, and nobody may sign them";
        report.contradiction(&["client_certificates", "client_ca"], what, "set client_ca");
    }
    if let Err(error) = tls.load() {
        report.contradiction(&["certificates"], error.to_string(), "mend the files named");
    }
}

fn names(text: &GatewayText, report: &mut Report) {
    let mut named: Vec<_> = text
        .routes
        .iter()
        .filter_map(|route| route.name.as_deref())
        .collect();
    named.sort_unstable();
    if let Some(twice) = named.windows(2).find(|two| two[0] == two[1]) {
        let what = format!("two routes are named `{}`", twice[0]);
        report.contradiction(&["routes"], what, "give each a name of its own");
    }
}

fn route(gateway: &GatewayText, text: &RouteText, report: &mut Report) {
    if let Err(MatcherError { key, what, remedy }) = Matcher::compile(text) {
        report.contradiction(&[key], what, remedy);
    } else if let Err(what) = Rewrite::compile(text) {
        let remedy = "write a path such as /v2; in an expression's, ${1} is a group";
        report.contradiction(&["rewrite"], what, remedy);
    }
    let ways = [
        text.upstream.is_some(),
        !text.split.is_empty(),
        text.redirect.is_some(),
    ];
    if ways.iter().filter(|way| **way).count() != 1 {
        let what = "a route leads to one of upstream, split and redirect";
        report.contradiction(
            &[
                "upstream", "split", "redirect", "path", "exact", "regex", "name",
            ],
            what,
            "set exactly one of them",
        );
    }
    let split = text.split.iter().map(|part| &part.upstream);
    for name in text.upstream.iter().chain(split) {
        let short = name == "main" && gateway.to.is_some();
        if !short && !gateway.upstreams.contains_key(name) {
            let known: Vec<_> = gateway.upstreams.keys().map(String::as_str).collect();
            let remedy = match known.is_empty() {
                true => format!("write [gateway.upstreams.{name}]"),
                false => format!("known are: {}", known.join(", ")),
            };
            report.contradiction(
                &["upstream", "split"],
                format!("there is no upstream `{name}`"),
                remedy,
            );
        }
    }
    if !text.split.is_empty() && text.split.iter().all(|part| part.weight == 0) {
        report.contradiction(
            &["split"],
            "no part of the split gets any request",
            "raise a weight",
        );
    }
    if text
        .redirect_status
        .is_some_and(|status| !matches!(status, 301 | 302 | 303 | 307 | 308))
    {
        report.contradiction(
            &["redirect_status"],
            "this status is no redirect",
            "use 301, 302, 303, 307 or 308",
        );
    }
    if text.waiting.is_some() && text.inflight.is_none() {
        let what = "nobody waits for a route that has no bound";
        report.contradiction(&["waiting", "inflight"], what, "set inflight too");
    }
    headers(text, report);
}

fn headers(text: &RouteText, report: &mut Report) {
    let set = text.set_request.iter().chain(&text.set_response);
    for (name, value) in set {
        let parsed = name.parse::<HeaderName>();
        if parsed.is_err() || HeaderValue::from_str(value).is_err() {
            let what = format!("`{name}` or its value is no header");
            report.contradiction(&["set_request", "set_response"], what, "use visible ASCII");
        } else if parsed.is_ok_and(|name| is_ours(&name)) {
            let what = format!("`{name}` is about a connection, or how a message is framed on it");
            report.contradiction(&["set_request", "set_response"], what, "leave it out");
        }
    }
    for name in text.remove_request.iter().chain(&text.remove_response) {
        if name.parse::<HeaderName>().is_err() {
            let what = format!("`{name}` is no header name");
            report.contradiction(
                &["remove_request", "remove_response"],
                what,
                "use letters, digits and hyphens",
            );
        }
    }
}

/// What only who speaks on a connection can say.
fn is_ours(name: &HeaderName) -> bool {
    let to_the_next = matches!(*name, PROXY_AUTHENTICATE | PROXY_AUTHORIZATION);
    matches!(*name, CONTENT_LENGTH | TRAILER) || is_hop_by_hop(name) && !to_the_next
}

fn check_upstream(text: &UpstreamText, report: &mut Report) {
    if let Err(what) = crate::backend::trust(text) {
        report.contradiction(&["ca"], what, "name a PEM file that can be read");
    }
    for endpoint in &text.endpoints {
        if let Err(error) = upstream::EndpointSpec::parse(endpoint) {
            let what = format!("`{endpoint}`: {error}");
            report.contradiction(&["endpoints"], what, "write http://host:port");
        }
    }
    if !text.weights.is_empty() && text.weights.len() != text.endpoints.len() {
        let what = "there are not as many weights as endpoints";
        report.contradiction(
            &["weights", "endpoints"],
            what,
            "give each endpoint one, or none at all",
        );
    }
    if text.limit.is_some_and(|limit| limit > text.max_limit) {
        let what = "the limit is above max_limit";
        report.contradiction(
            &["limit", "max_limit"],
            what,
            "raise max_limit, or lower the limit",
        );
    }
    if text
        .health
        .as_ref()
        .is_some_and(|health| !health.path.starts_with('/'))
    {
        report.contradiction(
            &["health.path"],
            "it does not begin at the root",
            "begin it with a slash",
        );
    }
}
