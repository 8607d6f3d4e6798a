//! Headers that a config gives a meaning: what stands in for one of them is not passed on.

use std::collections::HashSet;

use http::header::HeaderName;

use crate::config::GatewayText;

/// Names in small letters, without those that have dots themselves: nothing with another dot stands in for these.
#[derive(Debug, Default)]
pub(crate) struct OwnNames(HashSet<String>);

impl OwnNames {
    /// What callers are known by, and what routes set for their upstreams or keep from them.
    pub(crate) fn of(text: &GatewayText) -> Self {
        let identity = &text.identity;
        let known_by = identity.tenant_header.iter().chain(&identity.key_header);
        let set = text
            .routes
            .iter()
            .flat_map(|route| route.set_request.keys());
        let kept = text.routes.iter().flat_map(|route| &route.remove_request);
        let names = known_by.chain(set).chain(kept);
        let names = names.map(|name| name.to_ascii_lowercase());
        Self(names.filter(|name| !name.contains('.')).collect())
    }

    /// Whether servers behind that read dots as dashes, or both as `_`, would take it for one of them.
    pub(crate) fn has_alias(&self, name: &HeaderName) -> bool {
        let text = name.as_str();
        text.contains('.') && self.0.contains(&text.replace('.', "-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RouteText;

    // attack: A-51
    #[test]
    fn a_dotted_name_that_reads_as_one_the_config_names_is_an_alias() {
        let mut text = GatewayText::default();
        text.identity.tenant_header = Some("Acme-Tenant".to_owned());
        text.identity.key_header = Some("acme.key-id".to_owned());
        text.routes.push(RouteText {
            set_request: [("X-User-Role".to_owned(), "guest".to_owned().into())].into(),
            remove_request: vec!["acme-debug".to_owned()],
            ..RouteText::default()
        });
        let names = OwnNames::of(&text);
        let is_alias = |name: &str| names.has_alias(&name.parse().expect("a name"));
        for name in ["acme.tenant", "x-user.role", "X.User.Role", "Acme.Debug"] {
            assert!(is_alias(name), "{name}");
        }
        for name in [
            "acme-tenant",
            "acme.tenants",
            "x-user-role",
            "com.example",
            "acme.key-id",
        ] {
            assert!(!is_alias(name), "{name}");
        }
    }
}
