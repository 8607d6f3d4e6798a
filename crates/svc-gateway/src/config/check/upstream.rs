//! What in an upstream contradicts itself.

use http::HeaderName;
use strict_config::{Report, masked_url};

use super::super::{Balance, UpstreamText};

pub(super) fn check_upstream(text: &UpstreamText, report: &mut Report) {
    if let Err(what) = crate::backend::trust(text) {
        report.contradiction(&["ca"], what, "name a PEM file that can be read");
    }
    for endpoint in &text.endpoints {
        if let Err(error) = ::upstream::EndpointSpec::parse(endpoint) {
            let what = format!("`{}`: {error}", masked_url(endpoint));
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
    if let Some(health) = &text.health
        && !crate::rewrite::is_target(&health.path)
    {
        let path = masked_url(&health.path);
        let what = format!("`{path}` is no path that can be asked for");
        report.contradiction(&["health.path"], what, "write a path such as /healthz");
    }
    let hashes = text.balance == Balance::Hash;
    match &text.hash_header {
        Some(name) if name.parse::<HeaderName>().is_err() => {
            let what = format!("`{name}` is no header name");
            report.contradiction(&["hash_header"], what, "use letters, digits and hyphens");
        }
        Some(_) if !hashes => {
            let what = "a header decides where requests go, and nobody asks for it";
            let remedy = "set balance = \"hash\", or leave hash_header out";
            report.contradiction(&["hash_header", "balance"], what, remedy);
        }
        _ => {}
    }
}
