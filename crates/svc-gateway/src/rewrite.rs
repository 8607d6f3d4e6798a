//! What a route changes on the way: path, host, headers; and redirects.

use std::borrow::Cow;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{StatusCode, Uri};
use http_rules::path::{BadPath, ascii_query, canonical, check};
use regex::Regex;
use strict_config::{Secret, masked_url};

use crate::config::RouteText;
use crate::reject::Refusal;
use crate::routes::PathMatch;

/// Why a path cannot be spelled as all are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Misspelled {
    Bad(BadPath),
    /// With its escapes it is longer than a target may be.
    TooLong,
}

impl From<Misspelled> for Refusal {
    fn from(misspelled: Misspelled) -> Self {
        match misspelled {
            Misspelled::Bad(bad) => Refusal::Path(bad),
            Misspelled::TooLong => Refusal::TargetTooLong,
        }
    }
}

/// Checks the path, and spells it as routes and rules do, which are about what it means; of the query only what no
/// target may hold is spelled anew.
pub(crate) fn spell(uri: &mut Uri) -> Result<(), Misspelled> {
    let path = canonical(uri.path()).map_err(Misspelled::Bad)?;
    let query = uri.query().map(ascii_query);
    if let (Cow::Borrowed(_), None | Some(Cow::Borrowed(_))) = (&path, &query) {
        return Ok(());
    }
    let target = with_query(path.into_owned(), query.as_deref());
    *uri = with_target(uri, target).ok_or(Misspelled::TooLong)?;
    Ok(())
}

fn with_target(uri: &Uri, target: String) -> Option<Uri> {
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
            return Err(format!("`{}` does not begin at the root", masked_url(with)));
        }
        if !is_target(with) {
            return Err(format!("`{}` is no path", masked_url(with)));
        }
        let matched = PathMatch::compile(text).map_err(|error| error.what)?;
        Ok(match matched {
            PathMatch::Prefix(prefix) => {
                let with = literal(with)?;
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
            PathMatch::Exact(_) => Rewrite::Whole(literal(with)?),
            PathMatch::Regex(regex) if names_unknown_group(&regex, with) => {
                let shown = masked_url(with);
                return Err(format!("`{shown}` names a group that is not there"));
            }
            PathMatch::Regex(regex) => Rewrite::Groups {
                regex,
                with: with.clone(),
            },
        })
    }

    /// The path and query to send on; the query stays as it came, behind one that the route adds.
    pub(crate) fn apply(&self, uri: Uri) -> Result<PathAndQuery, Refusal> {
        let given = uri.into_parts().path_and_query;
        let given = given.ok_or(Refusal::Internal)?;
        let path = given.path();
        let new = match self {
            Rewrite::Nothing => return Ok(given),
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
                // Put together, parts of a good path may make a bad one.
                spelled(&regex.replace(path, with.as_str())).map_err(Refusal::Path)?
            }
        };
        let whole = with_query(new, given.query());
        // All that can be wrong is that it became longer than a target may be.
        PathAndQuery::try_from(whole).map_err(|_| Refusal::Internal)
    }
}

/// A target of the config, its path in the form in which paths are sent on.
fn literal(target: &str) -> Result<String, String> {
    spelled(target).map_err(|bad| format!("`{}` is no path. {bad}", masked_url(target)))
}

/// A target with its path in canonical form, and nothing but ASCII.
fn spelled(target: &str) -> Result<String, BadPath> {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let query = query.map(ascii_query);
    Ok(with_query(canonical(path)?.into_owned(), query.as_deref()))
}

/// Whether it can stand in a request line.
pub(crate) fn is_target(text: &str) -> bool {
    let whole = PathAndQuery::try_from(text).is_ok_and(|parsed| parsed.as_str() == text);
    whole && check(text.split('?').next().unwrap_or_default().as_bytes()).is_ok()
}

/// Whether a text names a group, as the expressions' library reads it, that there is not.
fn names_unknown_group(regex: &Regex, text: &str) -> bool {
    let text = text.replace("$$", "");
    let named = text.split('$').skip(1).map(|part| {
        let braced = part.strip_prefix('{').and_then(|part| part.split_once('}'));
        let ends = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '_');
        braced.map_or_else(|| part.split(ends).next(), |(name, _)| Some(name))
    });
    named.flatten().any(|name| !has(regex, name))
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
            return Err(format!(
                "`{}` is no location",
                masked_url(&to).escape_debug()
            ));
        }
        for part in to.split('{').skip(1) {
            let name = part.split_once('}').map(|(name, _)| name);
            if !matches!(name, Some("host" | "path" | "query")) {
                return Err(format!(
                    "`{}` has a brace that begins nothing that is filled in",
                    masked_url(&to)
                ));
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

    /// Whether they say what it is.
    pub(crate) fn set(&self, name: &HeaderName) -> bool {
        self.set.iter().any(|(set, _)| set == name)
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
mod tests;
