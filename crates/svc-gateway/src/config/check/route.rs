//! What in a route contradicts itself, or names what is not there.

use std::collections::HashMap;

use http::header::{CONTENT_LENGTH, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TRAILER};
use http::{HeaderName, HeaderValue};
use http_rules::authority::Authority;
use http_rules::forward::is_hop_by_hop;
use strict_config::Report;

use super::super::{GatewayText, RouteText};
use super::identity::nobody_known;
use crate::rewrite::{Redirect, Rewrite};
use crate::routes::{Matcher, MatcherError};

/// Checks each, and all together.
pub(super) fn routes(gateway: &GatewayText, report: &mut Report) {
    let texts = gateway.routes.iter();
    let matchers: Vec<_> = texts.clone().map(Matcher::compile).collect();
    for (index, (text, matcher)) in texts.zip(&matchers).enumerate() {
        report.within_item("routes", index, |report| {
            route(gateway, text, matcher, report)
        });
    }
    unreachable(&matchers, report);
}

fn route(
    gateway: &GatewayText,
    text: &RouteText,
    matcher: &Result<Matcher, Vec<MatcherError>>,
    report: &mut Report,
) {
    let wrong = matcher.as_ref().err().map_or(&[][..], Vec::as_slice);
    for MatcherError { key, what, remedy } in wrong {
        report.contradiction(&[key], what, *remedy);
    }
    // A path that is wrong is wrong for the rewrite too, and has been told.
    if let Err(what) = Rewrite::compile(text)
        && wrong.iter().all(|told| told.what != what)
    {
        let remedy = "write a path such as /v2; in an expression's, ${1} is a group";
        report.contradiction(&["rewrite"], what, remedy);
    }
    redirect(text, report);
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
    if let Some(name) = &text.upstream {
        upstream(gateway, name, report);
    }
    for (index, part) in text.split.iter().enumerate() {
        report.within_item("split", index, |report| {
            upstream(gateway, &part.upstream, report);
        });
    }
    if !text.split.is_empty() && text.split.iter().all(|part| part.weight == 0) {
        report.contradiction(
            &["split"],
            "no part of the split gets any request",
            "raise a weight",
        );
    }
    if let Some(host) = &text.upstream_host
        && Authority::parse(host).is_none()
    {
        let what = format!("`{host}` is no host");
        let remedy = "write a name or an address, with a port if it needs one: api.internal:8080";
        report.contradiction(&["upstream_host"], what, remedy);
    }
    if text.identity == Some(true) && !gateway.identity.has_means() {
        nobody_known(&["identity"], report);
    }
    if text.waiting.is_some() && text.inflight.is_none() {
        let what = "nobody waits for a route that has no bound";
        report.contradiction(&["waiting", "inflight"], what, "set inflight too");
    }
    headers(text, report);
}

/// An upstream that a route, or a part of its split, leads to.
fn upstream(gateway: &GatewayText, name: &str, report: &mut Report) {
    let short = name == "main" && gateway.to.is_some();
    if short || gateway.upstreams.contains_key(name) {
        return;
    }
    let known: Vec<_> = gateway.upstreams.keys().map(String::as_str).collect();
    let remedy = match known.is_empty() {
        true => format!("write [gateway.upstreams.{name}]"),
        false => format!("known are: {}", known.join(", ")),
    };
    let what = format!("there is no upstream `{name}`");
    report.contradiction(&["upstream"], what, remedy);
}

/// Routes that never get a request, since one written before them asks for no less.
fn unreachable(matchers: &[Result<Matcher, Vec<MatcherError>>], report: &mut Report) {
    // Looked up by path and one host each, so that many routes cost little more than one each.
    let mut before = HashMap::<_, Vec<(usize, &Matcher)>>::new();
    for (index, matcher) in matchers.iter().enumerate() {
        let Ok(matcher) = matcher else { continue };
        let place = |host| (matcher.path.key(), host);
        let first = matcher.hosts.first().map(String::as_str);
        let rivals = before.get(&place(first)).into_iter().flatten();
        if let Some((rival, _)) = { rivals }.find(|(_, rival)| rival.leaves_nothing_for(matcher)) {
            let what = format!("this route gets no request: routes[{rival}] has them all");
            report.within_item("routes", index, |report| {
                let keys = [
                    "exact", "path", "regex", "hosts", "upstream", "split", "redirect",
                ];
                let remedy =
                    "remove one of them, or ask for other paths, hosts, methods or headers";
                report.contradiction(&keys, what, remedy);
            });
        }
        let hosts = matcher.hosts.iter().map(|host| Some(host.as_str()));
        for host in hosts.chain(matcher.hosts.is_empty().then_some(None)) {
            before
                .entry(place(host))
                .or_default()
                .push((index, matcher));
        }
    }
}

fn redirect(text: &RouteText, report: &mut Report) {
    if let Err(what) = Redirect::compile(text) {
        let remedy =
            "write a URL or path in visible ASCII; {host}, {path} and {query} are filled in";
        report.contradiction(&["redirect"], what, remedy);
    }
    let status = text.redirect_status;
    if status.is_some_and(|status| !matches!(status, 301 | 302 | 303 | 307 | 308)) {
        let what = "this status is no redirect";
        report.contradiction(&["redirect_status"], what, "use 301, 302, 303, 307 or 308");
    } else if status.is_some() && text.redirect.is_none() {
        let what = "a route that is no redirect has no status of one";
        let remedy = "set redirect, or leave redirect_status out";
        report.contradiction(&["redirect_status"], what, remedy);
    }
    if text.redirect.is_some() && text.rewrite.is_some() {
        let what = "a redirect sends no request on, so that no path is rewritten";
        let remedy = "write the path into redirect, or leave rewrite out";
        report.contradiction(&["rewrite", "redirect"], what, remedy);
    }
}

fn headers(text: &RouteText, report: &mut Report) {
    let set = [
        ("set_request", &text.set_request),
        ("set_response", &text.set_response),
    ]
    .map(|(key, set)| set.iter().map(move |header| (key, header)));
    for (key, (name, value)) in set.into_iter().flatten() {
        let parsed = name.parse::<HeaderName>();
        if parsed.is_err() || HeaderValue::from_str(value.expose()).is_err() {
            let what = format!("`{name}` or its value is no header");
            report.contradiction(&[key], what, "use visible ASCII");
        } else if parsed.is_ok_and(|name| is_ours(&name)) {
            let what = format!("`{name}` is about a connection, or how a message is framed on it");
            report.contradiction(&[key], what, "leave it out");
        }
    }
    let removed = [
        ("remove_request", &text.remove_request),
        ("remove_response", &text.remove_response),
    ];
    for (key, names) in removed {
        for name in names
            .iter()
            .filter(|name| name.parse::<HeaderName>().is_err())
        {
            let what = format!("`{name}` is no header name");
            report.contradiction(&[key], what, "use letters, digits and hyphens");
        }
    }
}

/// What only who speaks on a connection can say.
pub(super) fn is_ours(name: &HeaderName) -> bool {
    let to_the_next = matches!(*name, PROXY_AUTHENTICATE | PROXY_AUTHORIZATION);
    matches!(*name, CONTENT_LENGTH | TRAILER) || is_hop_by_hop(name) && !to_the_next
}
