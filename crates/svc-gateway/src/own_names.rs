//! Headers that a config gives a meaning: what stands in for one of them is not passed on.

use std::collections::HashSet;

use http::header::{HeaderMap, HeaderName};
use kernel::serve::problem::REASON_HEADER;

use crate::config::{GatewayText, IdentityText, RouteText};

/// What upstreams are told the tenant in, unless the config says otherwise.
pub(crate) static TENANT_HEADER: HeaderName = HeaderName::from_static("x-tenant");
/// What a key is shown in, unless the config says otherwise.
pub(crate) static KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// Names in small letters.
#[derive(Debug, Default)]
pub(crate) struct OwnNames(HashSet<String>);

impl OwnNames {
    /// What callers are known by, and what routes set for their upstreams or keep from them.
    pub(crate) fn of(text: &GatewayText) -> Self {
        let routes = text.routes.iter().flat_map(in_requests);
        Self::named(known_by(&text.identity).chain(routes))
    }

    /// What a request says in its head or nowhere.
    pub(crate) fn of_requests(text: &GatewayText, route: &RouteText) -> Self {
        Self::named(known_by(&text.identity).chain(in_requests(route)))
    }

    /// The same for an answer.
    pub(crate) fn of_answers(route: &RouteText) -> Self {
        let names = route.set_response.keys().chain(&route.remove_response);
        Self::named(names.map(String::as_str).chain([REASON_HEADER.as_str()]))
    }

    fn named<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Self(names.map(str::to_ascii_lowercase).collect())
    }

    /// Takes them out of what follows a body, and what stands in for them.
    pub(crate) fn strip(&self, trailers: &mut HeaderMap) {
        let own = |name: &&HeaderName| self.0.contains(name.as_str()) || self.has_alias(name);
        let gone: Vec<HeaderName> = trailers.keys().filter(own).cloned().collect();
        for name in gone {
            trailers.remove(name);
        }
    }

    /// Whether servers behind that read dots as dashes, or both as `_`, would take it for one of them.
    pub(crate) fn has_alias(&self, name: &HeaderName) -> bool {
        let text = name.as_str();
        // A name of ours with dots itself is never met: nothing with another dot stands in for it.
        text.contains('.') && self.0.contains(&text.replace('.', "-"))
    }
}

fn known_by(identity: &IdentityText) -> impl Iterator<Item = &str> {
    let tenant = identity.tenant_header.as_deref();
    let key = identity.key_header.as_deref();
    [
        tenant.unwrap_or(TENANT_HEADER.as_str()),
        key.unwrap_or(KEY_HEADER.as_str()),
    ]
    .into_iter()
}

fn in_requests(route: &RouteText) -> impl Iterator<Item = &str> {
    let names = route.set_request.keys().chain(&route.remove_request);
    names.map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

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
