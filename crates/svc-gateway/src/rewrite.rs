//! What a route changes on the way: path, host, headers; and redirects.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{StatusCode, Uri};
use http_rules::path::{check, plain};
use regex::Regex;
use strict_config::Secret;

use crate::config::RouteText;
use crate::reject::Refusal;
use crate::routes::{Matcher, PathMatch};

/// The target without escapes that nothing needs, if it has any: routes and rules are about what it means.
pub(crate) fn spelled_plainly(uri: &Uri) -> Option<Uri> {
    let path = plain(uri.path())?;
    let target = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target.try_into().ok()?);
    Uri::from_parts(parts).ok()
}

/// What happens to the path.
#[derive(Clone, Debug)]
pub(crate) enum Rewrite {
    /// It is sent on as it came.
    Nothing,
    /// The matched prefix, of this length, is replaced; a query comes behind what is left of the path.
    Prefix {
        length: usize,
        with: String,
        query: Option<String>,
    },
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
        if !is_target(with) {
            return Err(format!("`{with}` is no path"));
        }
        let matched = Matcher::compile(text).map_err(|error| error.what)?;
        Ok(match matched.path {
            PathMatch::Prefix(prefix) => {
                let (with, query) = match with.split_once('?') {
                    Some((with, query)) => (with, Some(query.to_owned())),
                    None => (with.as_str(), None),
                };
                Rewrite::Prefix {
                    length: prefix.trim_end_matches('/').len(),
                    with: with.trim_end_matches('/').to_owned(),
                    query,
                }
            }
            PathMatch::Exact(_) => Rewrite::Whole(with.clone()),
            PathMatch::Regex(regex) => match unknown_group(&regex, with) {
                Some(name) => return Err(format!("the expression has no group `{name}`")),
                None => Rewrite::Groups {
                    regex,
                    with: with.clone(),
                },
            },
        })
    }

    /// The path and query to send on; the query stays as it came, behind one that the route adds.
    pub(crate) fn apply(&self, uri: &Uri) -> Result<PathAndQuery, Refusal> {
        let given = uri.path_and_query().ok_or(Refusal::Internal)?;
        let path = given.path();
        let new = match self {
            Rewrite::Nothing => return Ok(given.clone()),
            Rewrite::Prefix {
                length,
                with,
                query,
            } => {
                let rest = path.get(*length..).ok_or(Refusal::Internal)?;
                let new = match (with.is_empty(), rest.starts_with('/')) {
                    (true, false) => format!("/{rest}"),
                    _ => format!("{with}{rest}"),
                };
                with_query(new, query.as_deref())
            }
            Rewrite::Whole(with) => with.clone(),
            Rewrite::Groups { regex, with } => {
                let new = regex.replace(path, with.as_str()).into_owned();
                // Put together, parts of a good path may make a bad one.
                check(new.split('?').next().unwrap_or_default().as_bytes())
                    .map_err(Refusal::Path)?;
                new
            }
        };
        let whole = with_query(new, given.query());
        // All that can be wrong is that it became longer than a target may be.
        PathAndQuery::try_from(whole).map_err(|_| Refusal::Internal)
    }
}

/// Whether it can stand in a request line.
pub(crate) fn is_target(text: &str) -> bool {
    let whole = PathAndQuery::try_from(text).is_ok_and(|parsed| parsed.as_str() == text);
    whole && check(text.split('?').next().unwrap_or_default().as_bytes()).is_ok()
}

/// A group that a text names, as the expressions' library reads it, and that there is not.
fn unknown_group(regex: &Regex, text: &str) -> Option<String> {
    let text = text.replace("$$", "");
    let named = text.split('$').skip(1).map(|part| {
        let braced = part.strip_prefix('{').and_then(|part| part.split_once('}'));
        let ends = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '_');
        braced.map_or_else(|| part.split(ends).next(), |(name, _)| Some(name))
    });
    let mut unknown = named.flatten().filter(|name| !has(regex, name));
    unknown.next().map(str::to_owned)
}

fn has(regex: &Regex, group: &str) -> bool {
    match group.parse::<usize>() {
        Ok(number) => number < regex.captures_len(),
        Err(_) => regex.capture_names().flatten().any(|name| name == group),
    }
}

/// Puts a query behind what may have one already, whole or begun.
fn with_query(mut text: String, query: Option<&str>) -> String {
    let Some(query) = query else {
        return text;
    };
    if !text.contains('?') {
        text.push('?');
    } else if !text.ends_with(['?', '&']) {
        text.push('&');
    }
    text.push_str(query);
    text
}

/// An answer that sends the client elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    to: String,
    pub(crate) status: StatusCode,
}

impl Redirect {
    /// Absent for a route that is none.
    pub(crate) fn compile(text: &RouteText) -> Result<Option<Self>, String> {
        let Some(to) = text.redirect.clone() else {
            return Ok(None);
        };
        if !to.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("`{}` is no location", to.escape_debug()));
        }
        for part in to.split('{').skip(1) {
            let name = part.split_once('}').map(|(name, _)| name);
            if !matches!(name, Some("host" | "path" | "query")) {
                return Err(format!("`{{{part}` begins with nothing that is filled in"));
            }
        }
        let status = text.redirect_status.unwrap_or(308);
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::PERMANENT_REDIRECT);
        Ok(Some(Self { to, status }))
    }

    /// Where to. The path was checked and cannot leave its place in the URL; at its beginning, two slashes would make a
    /// host of it.
    pub(crate) fn location(&self, host: &str, uri: &Uri) -> Option<HeaderValue> {
        let mut to = String::with_capacity(self.to.len() + host.len() + uri.path().len());
        let mut rest = self.to.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            to.push_str(before);
            let filled = after.split_once('}').and_then(|(name, after)| {
                match name {
                    "host" => to.push_str(host),
                    "path" => to.push_str(uri.path()),
                    "query" => to = with_query(std::mem::take(&mut to), uri.query()),
                    _ => return None,
                }
                Some(after)
            });
            rest = filled.unwrap_or_else(|| {
                to.push('{');
                after
            });
        }
        to.push_str(rest);
        let strays = to.starts_with("//") && !self.to.starts_with("//");
        (!strays).then(|| HeaderValue::try_from(to).ok())?
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

    fn compile<'a>(set: impl Iterator<Item = (&'a String, &'a Secret)>, remove: &[String]) -> Self {
        Self {
            set: set
                .filter_map(|(name, value)| {
                    Some((name.parse().ok()?, value.expose().parse().ok()?))
                })
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
        let own = [
            ("/v2?t=7", "/api/x?y=1", "/v2/x?t=7&y=1"),
            ("/v2?t=7", "/api/x", "/v2/x?t=7"),
            ("/v2?t=7", "/api", "/v2?t=7"),
            ("/v2/?t=/", "/api/x&t=8/?y", "/v2/x&t=8/?t=/&y"),
            ("/?t=7", "/api", "/?t=7"),
            ("/?t=7", "/api/x", "/x?t=7"),
            ("/v2?", "/api/x?y", "/v2/x?y"),
        ];
        for (with, uri, sent) in own {
            assert_eq!(rewritten(prefix("/api", with), uri), sent, "{with}");
        }
        let exact = RouteText {
            exact: Some("/a".to_owned()),
            ..route("/b")
        };
        assert_eq!(rewritten(exact, "/a?q"), "/b?q");
        let regex = RouteText {
            regex: Some("/u/([0-9]+)/(.*)".to_owned()),
            ..route("/users/$1?rest=$2")
        };
        assert_eq!(rewritten(regex.clone(), "/u/7/a"), "/users/7?rest=a");
        assert_eq!(
            rewritten(regex, "/u/7/a?b=c"),
            "/users/7?rest=a&b=c",
            "behind the route's own"
        );
    }

    // attack: F-01, F-02
    // req: GW-15
    #[test]
    fn parts_of_a_good_path_make_no_bad_one() {
        let joined = RouteText {
            regex: Some("/f/(.*)-(.*)".to_owned()),
            ..route("/files/$1$2")
        };
        let rewrite = Rewrite::compile(&joined).unwrap();
        let apply = |uri: &str| rewrite.apply(&uri.parse().unwrap());
        assert_eq!(apply("/f/a-b?../").unwrap(), "/files/ab?../");
        for uri in ["/f/.-./etc", "/f/.-%2e/etc", "/f/%2-e./etc", "/f/-."] {
            assert!(matches!(apply(uri), Err(Refusal::Path(_))), "{uri}");
        }
        let twice = RouteText {
            regex: Some("/f/(.*)".to_owned()),
            ..route("/$1$1$1")
        };
        let rewrite = Rewrite::compile(&twice).unwrap();
        let long = format!("/f/{}", "x".repeat(30_000));
        let applied = rewrite.apply(&long.parse().unwrap());
        assert!(
            matches!(applied, Err(Refusal::Internal)),
            "not another path"
        );
    }

    // req: GW-01
    #[test]
    fn a_rewrite_that_could_never_be_sent_is_no_config() {
        for with in ["a", "/a b", "/a#b", "/../a", "/a\\b"] {
            assert!(Rewrite::compile(&route(with)).is_err(), "{with}");
        }
        let regex = |with| RouteText {
            regex: Some("/(?<id>[0-9]+)/(.*)".to_owned()),
            ..route(with)
        };
        for with in ["/$0", "/$1/$2", "/$id", "/${1}x", "/$$3"] {
            assert!(Rewrite::compile(&regex(with)).is_ok(), "{with}");
        }
        for with in ["/$3", "/$1x", "/${name}"] {
            assert!(Rewrite::compile(&regex(with)).is_err(), "{with}");
        }
    }

    // req: GW-01
    #[test]
    fn a_redirect_fills_in_host_path_and_query() {
        let text = RouteText {
            redirect: Some("https://{host}{path}{query}".to_owned()),
            ..RouteText::default()
        };
        let redirect = Redirect::compile(&text).unwrap().unwrap();
        let location = redirect.location("a.example", &"/x?y=1".parse().unwrap());
        assert_eq!(location.unwrap(), "https://a.example/x?y=1");
        assert_eq!(redirect.status, 308);
    }

    // attack: F-07
    // req: GW-15
    #[test]
    fn a_redirect_leads_where_its_route_says_whatever_is_asked_for() {
        let location = |to: &str, uri: &str| {
            let redirect = Some(to.to_owned());
            let text = RouteText {
                redirect,
                ..RouteText::default()
            };
            let location = Redirect::compile(&text)
                .unwrap()
                .unwrap()
                .location("h.test", &uri.parse().unwrap());
            location.map(|value| value.to_str().unwrap().to_owned())
        };
        let all = [
            ("{path}/", "/a", Some("/a/")),
            ("{path}/", "//evil.test", None),
            (
                "https://n{path}",
                "//evil.test",
                Some("https://n//evil.test"),
            ),
            ("//cdn.test{path}", "/a", Some("//cdn.test/a")),
            ("/x?{query}", "/a?b", Some("/x?b")),
            ("/x?y&{query}", "/a?b", Some("/x?y&b")),
            ("/x?y{query}", "/a?b", Some("/x?y&b")),
            ("/x?y{query}", "/a", Some("/x?y")),
            ("/x{path}", "/{query}?b", Some("/x/{query}")),
        ];
        for (to, uri, expected) in all {
            assert_eq!(location(to, uri).as_deref(), expected, "{to} {uri}");
        }
    }

    // req: GW-01
    #[test]
    fn a_redirect_that_leads_nowhere_is_no_config() {
        for to in ["/x{other}", "/x{", "/x{path", "/a\nb", "/a b", "/ä"] {
            let redirect = Some(to.to_owned());
            let text = RouteText {
                redirect,
                ..RouteText::default()
            };
            assert!(Redirect::compile(&text).is_err(), "{to}");
        }
    }

    // req: GW-01
    #[test]
    fn edits_remove_and_set() {
        let text = RouteText {
            set_request: [("X-A".to_owned(), "1".to_owned().into())].into(),
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
