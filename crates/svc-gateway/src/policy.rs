//! Who may send what where: the first rule that matches decides, and what no rule matches is denied.

use http::Method;
use serde::Deserialize;

use crate::config::{PolicyText, RuleText, Verdict};
use crate::routes;

/// The rules in force.
#[derive(Debug, Default)]
pub(crate) struct Policy {
    rules: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    verdict: Verdict,
    routes: Vec<String>,
    methods: Vec<Method>,
    hosts: Vec<String>,
    tenants: Vec<String>,
    tags: Vec<String>,
    body_over: Option<u64>,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case<'a> {
    pub(crate) route: &'a str,
    pub(crate) method: &'a Method,
    pub(crate) host: &'a str,
    /// Absent for callers without identity.
    pub(crate) tenant: Option<&'a str>,
    pub(crate) tags: &'a [Box<str>],
    /// What the body says it is long, as it is sent on; absent when it does not say.
    pub(crate) body: Option<u64>,
}

/// A file of rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    rules: Vec<RuleText>,
}

impl Policy {
    /// Reads the rules, and those of the file it names; a file that is missing or bad is an error.
    pub(crate) fn load(text: &PolicyText) -> Result<Self, String> {
        let mut texts = text.rules.clone();
        texts.extend(filed(text)?);
        let rules: Result<_, String> = texts.iter().map(Rule::compile).collect();
        Ok(Self { rules: rules? })
    }

    /// Whether a request may pass.
    pub(crate) fn permits(&self, case: Case<'_>) -> bool {
        let decided = self.rules.iter().find(|rule| rule.matches(case));
        decided.is_some_and(|rule| rule.verdict == Verdict::Allow)
    }
}

/// The rules of the file, if there is one.
pub(crate) fn filed(text: &PolicyText) -> Result<Vec<RuleText>, String> {
    let Some(path) = &text.file else {
        return Ok(Vec::new());
    };
    let file = strict_config::read_file(path.as_ref()).map_err(|error| error.to_string())?;
    let parsed: Result<RulesFile, _> = toml::from_str(file.text());
    match parsed {
        Ok(file) => Ok(file.rules),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

impl Rule {
    fn compile(text: &RuleText) -> Result<Self, String> {
        Ok(Self {
            verdict: text.verdict,
            routes: text.routes.clone(),
            methods: routes::methods(&text.methods).map_err(|wrong| wrong.join("; "))?,
            hosts: routes::hosts(&text.hosts).map_err(|wrong| wrong.join("; "))?,
            tenants: text.tenants.clone(),
            tags: text.tags.clone(),
            body_over: text.body_over,
        })
    }

    fn matches(&self, case: Case<'_>) -> bool {
        let among = |list: &[String], word: &str| list.iter().any(|known| known == word);
        (self.routes.is_empty() || among(&self.routes, case.route))
            && (self.methods.is_empty() || self.methods.contains(case.method))
            && (self.hosts.is_empty() || self.hosts.iter().any(|host| below(host, case.host)))
            && (self.tenants.is_empty() || case.tenant.is_some_and(|name| among(&self.tenants, name)))
            && (self.tags.is_empty() || case.tags.iter().any(|tag| among(&self.tags, tag)))
            // A body that does not say how long it is may be any length.
            && self.body_over.is_none_or(|most| case.body.is_none_or(|length| length > most))
    }
}

fn below(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(suffix) => host
            .strip_suffix(suffix)
            .is_some_and(|rest| rest.ends_with('.')),
        None => pattern == host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(rules: &str) -> Policy {
        let text: PolicyText = toml::from_str(rules).unwrap();
        Policy::load(&text).unwrap()
    }

    const CASE: Case<'static> = Case {
        route: "api",
        method: &Method::GET,
        host: "a.example.com",
        tenant: Some("acme"),
        tags: &[],
        body: Some(0),
    };

    // req: GW-13
    #[test]
    fn what_no_rule_matches_is_denied() {
        assert!(!policy("").permits(CASE));
        assert!(!policy("[[rules]]\nverdict = 'allow'\ntenants = ['other']").permits(CASE));
        assert!(policy("[[rules]]\nverdict = 'allow'").permits(CASE));
    }

    // req: GW-13
    #[test]
    fn the_first_rule_that_matches_decides() {
        let rules =
            "[[rules]]\nverdict = 'deny'\nmethods = ['DELETE']\n[[rules]]\nverdict = 'allow'\n";
        let policy = policy(rules);
        assert!(policy.permits(CASE));
        let method = &Method::DELETE;
        assert!(!policy.permits(Case { method, ..CASE }));
    }

    // req: GW-13
    #[test]
    fn every_condition_of_a_rule_must_hold() {
        let rules = "[[rules]]\nverdict = 'allow'\nhosts = ['*.example.com']\ntenants = ['acme']\n\
                     tags = ['ops']\nroutes = ['api']";
        let policy = policy(rules);
        let tags = ["ops".into()];
        let full = Case {
            tags: &tags,
            ..CASE
        };
        assert!(policy.permits(full));
        assert!(!policy.permits(CASE), "no tag");
        assert!(!policy.permits(Case {
            tenant: None,
            ..full
        }));
        let host = "evil-example.com";
        assert!(!policy.permits(Case { host, ..full }));
        let route = "other";
        assert!(!policy.permits(Case { route, ..full }));
    }

    // req: GW-13
    #[test]
    fn a_body_that_does_not_say_its_length_counts_as_too_long() {
        let rules = "[[rules]]\nverdict = 'deny'\nbody_over = 100\n[[rules]]\nverdict = 'allow'";
        let policy = policy(rules);
        for (body, permitted) in [(Some(100), true), (Some(101), false), (None, false)] {
            assert_eq!(policy.permits(Case { body, ..CASE }), permitted, "{body:?}");
        }
    }

    // req: GW-13
    #[test]
    fn a_file_that_is_missing_or_bad_is_an_error() {
        let with = |path: &str| {
            let file = Some(path.to_owned());
            Policy::load(&PolicyText {
                file,
                rules: vec![],
            })
        };
        assert!(with("no-such-file.toml").is_err());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rules.toml");
        let name = path.to_str().unwrap();
        std::fs::write(&path, "[[rules]]\nverdict = 'maybe'").unwrap();
        assert!(with(name).unwrap_err().contains("maybe"));
        std::fs::write(&path, "[[rules]]\nverdict = 'allow'").unwrap();
        assert!(with(name).unwrap().permits(CASE));
    }
}
