//! What in a `[gateway]` section contradicts itself, or names what is not there.

use std::collections::HashMap;

use strict_config::Report;

use super::{ClientCertificates, GatewayText, TlsText, network};
use identity::identity;
use policy::policy;
use route::routes;
use upstream::check_upstream;

mod identity;
mod policy;
mod route;
mod upstream;

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
    policy(text, report);
    if text.queue.per_tenant > text.queue.items {
        let what = "one tenant may not have more waiting than all together";
        let remedy = "lower queue.per_tenant, or raise queue.items";
        report.contradiction(&["queue.per_tenant", "queue.items"], what, remedy);
    }
    names(text, report);
    routes(text, report);
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
    let two = all.windows(2).filter(|two| two[0] == two[1]);
    for twice in two.map(|two| two[0]).filter(|door| door.port() != 0) {
        let key = match text.listen.contains(twice) {
            true => "listen",
            false => "tls.listen",
        };
        let what = format!("{twice} is listened on twice");
        report.contradiction(&[key, "tls.listen"], what, "remove one of them");
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
            if let Err(error) = ::upstream::EndpointSpec::parse(to) {
                report.contradiction(&["to"], error.to_string(), "write http://host:port");
            }
        }
        None => {}
    }
}

fn check_tls(tls: &TlsText, report: &mut Report) {
    if tls.client_certificates != ClientCertificates::Off && tls.client_ca.is_none() {
        let what = "client certificates are asked for, and nobody may sign them";
        report.contradiction(&["client_certificates", "client_ca"], what, "set client_ca");
    }
    for error in tls.faults() {
        report.contradiction(&["certificates"], error.to_string(), "mend the files named");
    }
}

/// Names stand for routes in metrics, log and policy.
fn names(text: &GatewayText, report: &mut Report) {
    let mut known = HashMap::new();
    for (index, route) in text.routes.iter().enumerate() {
        let Some(name) = &route.name else { continue };
        if let Some(first) = known.insert(name, index) {
            let what = format!("two routes are named `{name}`: routes[{first}] is the other");
            report.within_item("routes", index, |report| {
                report.contradiction(&["name"], what, "give each a name of its own");
            });
        }
    }
}
