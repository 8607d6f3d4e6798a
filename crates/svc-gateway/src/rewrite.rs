//! What a route changes on the way: path, host, headers; and redirects.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{StatusCode, Uri};
use regex::Regex;

use crate::config::RouteText;
use crate::routes::{Matcher, PathMatch};

/// What happens to the path.
#[derive(Clone, Debug)]
pub(crate) enum Rewrite {
    /// It is sent on as it came.
    Nothing,
    /// The matched prefix, of this length, is replaced.
    Prefix { length: usize, with: String },
    /// The whole path is replaced.
    Whole(String),
    /// Groups of the expression may be used.
    Groups { regex: Regex, with: String },
}

impl Rewrite {
    pub(crate) fn compile(text: &RouteText) -> Result<Self, String> {
        let Some(with) = &text.rewrite else {
            return Ok(Rewrite::Nothing);
        };
        if !with.starts_with('/') {
            return Err(format!("`{with}` does not begin at the root"));
        }
        let matched = Matcher::compile(text).map_err(|error| error.what)?;
        Ok(match matched.path {
            PathMatch::Prefix(prefix) => Rewrite::Prefix {
                length: prefix.trim_end_matches('/').len(),
                with: with.trim_end_matches('/').to_owned(),
            },
            PathMatch::Exact(_) => Rewrite::Whole(with.clone()),
            PathMatch::Regex(regex) => Rewrite::Groups {
                regex,
                with: with.clone(),
            },
        })
    }

    /// The path and query to send on; the query stays as it came.
    pub(crate) fn apply(&self, uri: &Uri) -> Option<PathAndQuery> {
        let given = uri.path_and_query()?;
        let path = given.path();
        let new = match self {
            Rewrite::Nothing => return Some(given.clone()),
            Rewrite::Prefix { length, with } => {
                let rest = path.get(*length..)?;
                match (with.is_empty(), rest.starts_with('/')) {
                    (true, false) => format!("/{rest}"),
                    _ => format!("{with}{rest}"),
                }
            }
            Rewrite::Whole(with) => with.clone(),
            Rewrite::Groups { regex, with } => regex.replace(path, with.as_str()).into_owned(),
        };
        let whole = match given.query() {
            Some(query) => format!("{new}?{query}"),
            None => new,
        };
        PathAndQuery::try_from(whole).ok()
    }
}

/// An answer that sends the client elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    to: String,
    pub(crate) status: StatusCode,
}

impl Redirect {
    pub(crate) fn compile(text: &RouteText) -> Option<Self> {
        let to = text.redirect.clone()?;
        let status = text.redirect_status.unwrap_or(308);
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::PERMANENT_REDIRECT);
        Some(Self { to, status })
    }

    /// Where to. The path was checked and cannot leave its place in the URL.
    pub(crate) fn location(&self, host: &str, uri: &Uri) -> Option<HeaderValue> {
        let query = uri
            .query()
            .map(|query| format!("?{query}"))
            .unwrap_or_default();
        let to = self
            .to
            .replace("{host}", host)
            .replace("{path}", uri.path());
        HeaderValue::try_from(to.replace("{query}", &query)).ok()
    }
}

/// Headers set and removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edits {
    set: Vec<(HeaderName, HeaderValue)>,
    remove: Vec<HeaderName>,
}

impl Edits {
    pub(crate) fn of_requests(text: &RouteText) -> Self {
        Self::compile(text.set_request.iter(), &text.remove_request)
    }

    pub(crate) fn of_responses(text: &RouteText) -> Self {
        Self::compile(text.set_response.iter(), &text.remove_response)
    }

    fn compile<'a>(set: impl Iterator<Item = (&'a String, &'a String)>, remove: &[String]) -> Self {
        Self {
            set: set
                .filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
                .collect(),
            remove: remove.iter().filter_map(|name| name.parse().ok()).collect(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }

    pub(crate) fn apply(&self, headers: &mut HeaderMap) {
        for name in &self.remove {
            headers.remove(name);
        }
        for (name, value) in &self.set {
            headers.insert(name, value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(route: RouteText, uri: &str) -> String {
        let rewrite = Rewrite::compile(&route).unwrap();
        rewrite.apply(&uri.parse().unwrap()).unwrap().to_string()
    }

    fn route(with: &str) -> RouteText {
        RouteText {
            rewrite: Some(with.to_owned()),
            ..RouteText::default()
        }
    }

    // req: GW-01
    #[test]
    fn a_rewrite_replaces_what_matched_and_keeps_the_rest_and_the_query() {
        let prefix = |path: &str, with: &str| RouteText {
            path: Some(path.to_owned()),
            ..route(with)
        };
        assert_eq!(rewritten(prefix("/api", "/v2"), "/api/x?y=1"), "/v2/x?y=1");
        assert_eq!(rewritten(prefix("/api", "/"), "/api/x"), "/x");
        assert_eq!(rewritten(prefix("/api", "/"), "/api"), "/");
        assert_eq!(rewritten(prefix("/api/", "/"), "/api/x"), "/x");
        assert_eq!(rewritten(prefix("/", "/base"), "/x"), "/base/x");
        let exact = RouteText {
            exact: Some("/a".to_owned()),
            ..route("/b")
        };
        assert_eq!(rewritten(exact, "/a?q"), "/b?q");
        let regex = RouteText {
            regex: Some("/u/([0-9]+)/(.*)".to_owned()),
            ..route("/users/$1?rest=$2")
        };
        assert_eq!(rewritten(regex, "/u/7/a"), "/users/7?rest=a");
    }

    // req: GW-01
    #[test]
    fn a_redirect_fills_in_host_path_and_query() {
        let text = RouteText {
            redirect: Some("https://{host}{path}{query}".to_owned()),
            ..RouteText::default()
        };
        let redirect = Redirect::compile(&text).unwrap();
        let location = redirect.location("a.example", &"/x?y=1".parse().unwrap());
        assert_eq!(location.unwrap(), "https://a.example/x?y=1");
        assert_eq!(redirect.status, 308);
    }

    // req: GW-01
    #[test]
    fn edits_remove_and_set() {
        let text = RouteText {
            set_request: [("X-A".to_owned(), "1".to_owned())].into(),
            remove_request: vec!["x-b".to_owned()],
            ..RouteText::default()
        };
        let mut headers = HeaderMap::new();
        headers.insert("x-b", HeaderValue::from_static("secret"));
        Edits::of_requests(&text).apply(&mut headers);
        assert_eq!(headers.len(), 1);
        assert_eq!(headers["x-a"], "1");
    }
}
