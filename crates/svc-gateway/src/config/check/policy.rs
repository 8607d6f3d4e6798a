//! What in the policy cannot be read, or is about what is not there.

use passport::{is_tag, is_tenant};
use strict_config::Report;

use super::super::{GatewayText, RuleText};
use super::identity::{TAG, TENANT};
use crate::plan::{route_name, with_shorthand};
use crate::policy::filed;
use crate::routes::{HOST, hosts, methods};

/// How many names are told to who has misspelt one.
const TOLD: usize = 20;

pub(super) fn policy(text: &GatewayText, report: &mut Report) {
    let Some(policy) = &text.policy else {
        return;
    };
    let routes = with_shorthand(text).routes;
    let routes = routes.iter().enumerate();
    let routes: Vec<_> = routes
        .map(|(index, route)| route_name(index, route))
        .collect();
    report.within("policy", |report| {
        for (index, rule) in policy.rules.iter().enumerate() {
            report.within_item("rules", index, |report| {
                for Fault { key, what, remedy } in faults(rule, &routes) {
                    report.contradiction(&[key, "verdict"], what, remedy);
                }
            });
        }
        let filed = match filed(policy) {
            Ok(filed) => filed,
            Err(what) => {
                return report.contradiction(
                    &["file"],
                    what,
                    "mend the rules, or name another file",
                );
            }
        };
        let file = policy.file.as_deref().unwrap_or_default();
        for (index, rule) in filed.iter().enumerate() {
            for Fault { what, remedy, .. } in faults(rule, &routes) {
                let what = format!("{file}: rule {}: {what}", index + 1);
                report.contradiction(&["file"], what, remedy);
            }
        }
    });
}

/// What is wrong with a rule, and at which of its keys.
struct Fault {
    key: &'static str,
    what: String,
    remedy: String,
}

fn faults(rule: &RuleText, routes: &[String]) -> impl Iterator<Item = Fault> {
    let route = unknown(rule, routes).map(|name| (no_route(name), known(routes)));
    let methods = methods(&rule.methods).err();
    let methods = methods.map(|what| (what, "write methods in capitals, such as GET".to_owned()));
    let hosts = hosts(&rule.hosts).err();
    let hosts = hosts.map(|what| (what, HOST.to_owned()));
    let tenant = rule.tenants.iter().find(|name| !is_tenant(name));
    let tenant = tenant.map(|name| (format!("`{name}` cannot be a tenant"), TENANT.to_owned()));
    let tag = rule.tags.iter().find(|name| !is_tag(name));
    let tag = tag.map(|name| (format!("`{name}` cannot be a tag"), TAG.to_owned()));
    let all = [
        ("routes", route),
        ("methods", methods),
        ("hosts", hosts),
        ("tenants", tenant),
        ("tags", tag),
    ];
    all.into_iter().filter_map(|(key, fault)| {
        let (what, remedy) = fault?;
        Some(Fault { key, what, remedy })
    })
}

/// A route that a rule is about and that there is not: what such a rule was to deny would pass.
fn unknown<'a>(rule: &'a RuleText, routes: &[String]) -> Option<&'a String> {
    rule.routes.iter().find(|name| !routes.contains(name))
}

fn no_route(name: &str) -> String {
    format!("there is no route `{name}`, so that this rule would not hold for what it is about")
}

fn known(routes: &[String]) -> String {
    let told: Vec<_> = routes.iter().take(TOLD).map(String::as_str).collect();
    let more = if routes.len() > TOLD {
        ", and others"
    } else {
        ""
    };
    format!("known are: {}{more}", told.join(", "))
}
