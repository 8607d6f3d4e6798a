//! Where origins are mounted, what a path there means, and the rules each lives by.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, StatusCode, Uri};
use http_rules::cache::{Cookies, Lifetime, Rules, resolve};
use upstream::{EndpointSpec, Pool};

use crate::config::{CookiesText, OWN, OriginText, QueryText, RangesText, RedirectsText};

use super::failure::Failure;
use super::heads::Forward;

/// One mount, and who stands behind it.
pub(crate) struct Mount {
    pub(crate) name: Arc<str>,
    /// Without a slash at its end.
    pub(crate) prefix: String,
    /// Whether the first segment says which of them is asked.
    pub(crate) by_host: bool,
    pub(crate) origins: Vec<Origin>,
    pub(crate) settings: Settings,
}

/// One host.
pub(crate) struct Origin {
    pub(crate) scheme: &'static str,
    pub(crate) authority: String,
    pub(crate) pool: Arc<Pool>,
}

/// How its answers are treated.
pub(crate) struct Settings {
    pub(crate) base: String,
    pub(crate) rules: Rules,
    pub(crate) forward: Forward,
    pub(crate) query: QueryText,
    pub(crate) follows: bool,
    pub(crate) passes_ranges: bool,
    pub(crate) writes: bool,
    pub(crate) tags: Vec<HeaderName>,
    pub(crate) object_bytes: u64,
    pub(crate) variants: usize,
    pub(crate) fill: Duration,
    pub(crate) tries: u32,
    pub(crate) waiters: u32,
}

/// What is asked of whom.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) mount: Arc<Mount>,
    pub(crate) origin: usize,
    /// As the origin is asked.
    pub(crate) path: String,
    /// Under which the answer is kept: whose rules, scheme, host, path and query.
    pub(crate) key: Arc<str>,
}

impl Origin {
    pub(crate) fn of(endpoint: &EndpointSpec, pool: Arc<Pool>) -> Self {
        Self {
            scheme: if endpoint.is_secure() {
                "https"
            } else {
                "http"
            },
            authority: endpoint.authority().to_ascii_lowercase(),
            pool,
        }
    }
}

impl Settings {
    pub(crate) fn new(text: &OriginText) -> Result<Self, String> {
        let names = |texts: &[String]| -> Result<Vec<HeaderName>, String> {
            let name = |text: &String| text.parse().map_err(|_| format!("`{text}` is no header"));
            texts.iter().map(name).collect()
        };
        let lifetime = |text: &crate::config::LifetimeText| -> Result<Lifetime, String> {
            let status = StatusCode::from_u16(text.status).map_err(|error| error.to_string())?;
            Ok(Lifetime {
                status,
                seconds: text.seconds,
                overrides: text.overrides,
            })
        };
        let rules = Rules {
            targets: names(&text.targets)?,
            cookies: match text.cookies {
                CookiesText::Refuse => Cookies::Refuse,
                CookiesText::Strip => Cookies::Strip,
                CookiesText::Keep => Cookies::Keep,
            },
            lifetimes: text
                .lifetimes
                .iter()
                .map(lifetime)
                .collect::<Result<_, _>>()?,
            heuristic_max_s: text.heuristic_max_s,
            stale_while_revalidate_s: text.stale_while_revalidate_s,
            stale_if_error_s: text.stale_if_error_s,
            clients_decide: text.clients_decide,
            ..Rules::default()
        };
        let all = text.forward.iter().any(|name| name == "*");
        Ok(Self {
            base: text.path.trim_end_matches('/').to_owned(),
            rules,
            forward: if all {
                Forward::All
            } else {
                Forward::Named(names(&text.forward)?)
            },
            query: text.query,
            follows: text.redirects == RedirectsText::Follow,
            passes_ranges: text.ranges == RangesText::Pass,
            writes: text.writes,
            tags: names(&text.tags)?,
            object_bytes: text.object_bytes,
            variants: text.variants,
            fill: Duration::from_millis(text.fill_ms),
            tries: text.tries,
            waiters: text.waiters,
        })
    }
}

impl Mount {
    /// What of a path lies behind this mount, if it is there at all.
    pub(crate) fn behind<'a>(&self, path: &'a str) -> Option<&'a str> {
        let first = path.split('/').nth(1).unwrap_or_default();
        if self.prefix.is_empty() && OWN.contains(&first) {
            return None;
        }
        let rest = path.strip_prefix(self.prefix.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }

    /// What a client's target means here. The host is compared as it is written: whatever is not one of them to the
    /// letter is none of them.
    pub(crate) fn target(self: &Arc<Self>, uri: &Uri) -> Result<Target, Failure> {
        let rest = self.behind(uri.path()).unwrap_or_default();
        let (origin, rest) = match self.by_host {
            false => (0, rest),
            true => {
                let rest = rest.strip_prefix('/').unwrap_or_default();
                let (host, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let named = |origin: &Origin| origin.authority == host;
                let found = self.origins.iter().position(named);
                (found.ok_or(Failure::NotAllowed)?, rest)
            }
        };
        let query = match (uri.query(), self.settings.query) {
            (Some(_), QueryText::Refuse) => return Err(Failure::Query),
            (Some(query), QueryText::Keep) => Some(query),
            (_, _) => None,
        };
        let rest = if rest.is_empty() { "/" } else { rest };
        let base = &self.settings.base;
        let path = match query {
            Some(query) => format!("{base}{rest}?{query}"),
            None => format!("{base}{rest}"),
        };
        Ok(self.at(origin, path))
    }

    /// Under which the answer is kept that one of the origins would give to a path it names.
    pub(crate) fn key_of(self: &Arc<Self>, origin: usize, path: String) -> Arc<str> {
        let path = match (self.settings.query, path.split_once('?')) {
            (QueryText::Drop | QueryText::Refuse, Some((path, _))) => path.to_owned(),
            _ => path,
        };
        self.at(origin, path).key
    }

    /// A path at one of the origins.
    pub(crate) fn at(self: &Arc<Self>, origin: usize, path: String) -> Target {
        let Origin {
            scheme, authority, ..
        } = &self.origins[origin];
        let key = format!("{} {scheme}://{authority}{path}", self.name);
        Target {
            mount: self.clone(),
            origin,
            path,
            key: key.into(),
        }
    }
}

impl Target {
    pub(crate) fn origin(&self) -> &Origin {
        &self.mount.origins[self.origin]
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.mount.settings
    }

    /// As an absolute address.
    pub(crate) fn uri(&self) -> Option<Uri> {
        let Origin {
            scheme, authority, ..
        } = self.origin();
        format!("{scheme}://{authority}{}", self.path).parse().ok()
    }

    /// Where a reference leads that the origin gave, if it is to somebody who may be asked.
    pub(crate) fn follow(&self, reference: &str) -> Option<Target> {
        let reference = reference.split('#').next().unwrap_or_default();
        let first = reference.split(['/', '?']).next().unwrap_or_default();
        if !first.contains(':') && !reference.starts_with("//") {
            let path = resolve(&self.uri()?, reference)?;
            return Some(self.mount.at(self.origin, path));
        }
        let uri: Uri = match reference.starts_with("//") {
            true => format!("{}:{reference}", self.origin().scheme).parse(),
            false => reference.parse(),
        }
        .ok()?;
        let (scheme, authority) = (uri.scheme_str()?, uri.authority()?.as_str());
        // A user before the host, another port or another scheme make it another authority than any that is listed.
        let named = |origin: &Origin| origin.scheme == scheme && origin.authority == authority;
        let origin = self.mount.origins.iter().position(named)?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Some(self.mount.at(origin, path.to_owned()))
    }
}
