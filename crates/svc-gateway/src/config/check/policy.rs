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
    // What a rule about a route that is not there was to deny would pass.
    let unknown = rule.routes.iter().filter(|name| !routes.contains(name));
    let unknown: Vec<_> = unknown.map(|name| no_route(name)).collect();
    let known = match unknown.is_empty() {
        true => String::new(),
        false => known(routes),
    };
    let tenants = rule.tenants.iter().filter(|name| !is_tenant(name));
    let tenants = tenants.map(|name| format!("`{name}` cannot be a tenant"));
    let tags = rule.tags.iter().filter(|name| !is_tag(name));
    let tags = tags.map(|name| format!("`{name}` cannot be a tag"));
    let methods = methods(&rule.methods).err().unwrap_or_default();
    let hosts = hosts(&rule.hosts).err().unwrap_or_default();
    let all = [
        ("routes", unknown, known),
        (
            "methods",
            methods,
            "write methods in capitals, such as GET".to_owned(),
        ),
        ("hosts", hosts, HOST.to_owned()),
        ("tenants", tenants.collect(), TENANT.to_owned()),
        ("tags", tags.collect(), TAG.to_owned()),
    ];
    all.into_iter().flat_map(|(key, whats, remedy)| {
        whats.into_iter().map(move |what| Fault {
            key,
            what,
            remedy: remedy.clone(),
        })
    })
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
