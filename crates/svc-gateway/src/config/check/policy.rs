//! What in the policy cannot be read, or is about what is not there.

use strict_config::Report;

use super::super::{GatewayText, RuleText};
use crate::plan::{route_name, with_shorthand};
use crate::policy::{self, Policy};

/// How many names are told to who has misspelt one.
const TOLD: usize = 20;

pub(super) fn policy(text: &GatewayText, report: &mut Report) {
    let Some(policy) = &text.policy else {
        return;
    };
    let remedy = "mend the rules, or the file they come from";
    let filed = match Policy::load(policy).and_then(|_| policy::filed(policy)) {
        Ok(filed) => filed,
        Err(what) => return report.contradiction(&["policy"], what, remedy),
    };
    let routes = with_shorthand(text).routes;
    let routes = routes.iter().enumerate();
    let routes: Vec<_> = routes
        .map(|(index, route)| route_name(index, route))
        .collect();
    report.within("policy", |report| {
        for (index, rule) in policy.rules.iter().enumerate() {
            let Some(name) = unknown(rule, &routes) else {
                continue;
            };
            report.within_item("rules", index, |report| {
                report.contradiction(&["routes", "verdict"], no_route(name), known(&routes));
            });
        }
        for (index, rule) in filed.iter().enumerate() {
            if let Some(name) = unknown(rule, &routes) {
                let file = policy.file.as_deref().unwrap_or_default();
                let what = format!("{file}: rule {}: {}", index + 1, no_route(name));
                report.contradiction(&["file"], what, known(&routes));
            }
        }
    });
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
