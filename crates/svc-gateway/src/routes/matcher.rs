//! What a route asks of a request, checked when it is read.

use http::{HeaderName, Method};
use http_rules::authority::Authority;
use http_rules::framing::is_refused;
use http_rules::path::BadPath;
use regex::Regex;
use strict_config::Secret;

use crate::config::RouteText;

/// What a route asks of a request.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    /// In canonical form; `*.` and a domain for all below it; none for any.
    pub(crate) hosts: Vec<String>,
    pub(crate) path: PathMatch,
    pub(crate) methods: Vec<Method>,
    /// Name and value; no value for any.
    pub(crate) headers: Vec<(HeaderName, Option<String>)>,
}

/// What a route asks of a path in its canonical form.
#[derive(Clone, Debug)]
pub(crate) enum PathMatch {
    Exact(String),
    /// It and all below.
    Prefix(String),
    /// The whole path.
    Regex(Regex),
}

/// What is wrong with a route, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MatcherError {
    pub(crate) key: &'static str,
    pub(crate) what: String,
    pub(crate) remedy: &'static str,
}

impl MatcherError {
    /// What is wrong with a route, as one text.
    pub(crate) fn together(wrong: Vec<Self>) -> String {
        let whats: Vec<_> = wrong.into_iter().map(|error| error.what).collect();
        whats.join("; ")
    }
}

impl PathMatch {
    pub(crate) fn compile(text: &RouteText) -> Result<Self, MatcherError> {
        match (&text.path, &text.exact, &text.regex) {
            (None, None, None) => Ok(Self::Prefix("/".to_owned())),
            (Some(prefix), None, None) => rooted("path", prefix).map(Self::Prefix),
            (None, Some(exact), None) => rooted("exact", exact).map(Self::Exact),
            (None, None, Some(pattern)) => regex(pattern).map(Self::Regex),
            _ => Err(MatcherError {
                key: if text.path.is_some() { "path" } else { "exact" },
                what: "a route has one of path, exact and regex".to_owned(),
                remedy: "keep one of them, or write several routes",
            }),
        }
    }

    /// What tells it from others.
    pub(crate) fn key(&self) -> (u8, &str) {
        match self {
            Self::Exact(path) => (0, path),
            Self::Prefix(path) => (1, path),
            Self::Regex(regex) => (2, regex.as_str()),
        }
    }
}

/// A compiled expression may not be larger than this: a config is not the place to run out of memory.
const REGEX_BYTES: usize = 1 << 20;

/// What may stand for hosts.
pub(crate) const HOST: &str =
    "write a name or an address, such as api.example.com, *.example.com or [::1], without port";

impl Matcher {
    /// Says everything that is wrong with it.
    pub(crate) fn compile(text: &RouteText) -> Result<Self, Vec<MatcherError>> {
        let wrong = |key, remedy| {
            let wrong = move |what| MatcherError { key, what, remedy };
            move |whats: Vec<String>| whats.into_iter().map(wrong).collect()
        };
        let methods = "write methods in capitals, such as GET, without CONNECT and TRACE";
        let parts = (
            hosts(&text.hosts).map_err(wrong("hosts", HOST)),
            PathMatch::compile(text).map_err(|error| vec![error]),
            asked(&text.methods).map_err(wrong("methods", methods)),
            headers(text),
        );
        match parts {
            (Ok(hosts), Ok(path), Ok(methods), Ok(headers)) => Ok(Self {
                hosts,
                path,
                methods,
                headers,
            }),
            (hosts, path, methods, headers) => {
                let wrong = [hosts.err(), path.err(), methods.err(), headers.err()];
                Err(wrong.into_iter().flatten().flatten().collect())
            }
        }
    }

    /// How much it asks beside host and path.
    pub(crate) fn conditions(&self) -> usize {
        self.headers.len() + usize::from(!self.methods.is_empty())
    }

    /// Whether it has every request that `later` asks for, of the same path and, at least, of the same hosts.
    pub(crate) fn leaves_nothing_for(&self, later: &Self) -> bool {
        let hosts = match later.hosts.is_empty() {
            true => self.hosts.is_empty(),
            false => later.hosts.iter().all(|host| self.hosts.contains(host)),
        };
        let methods = self.methods.is_empty()
            || !later.methods.is_empty() && { &later.methods }
                .iter()
                .all(|method| self.methods.contains(method));
        let headers = { &self.headers }.iter().all(|(name, value)| {
            { &later.headers }
                .iter()
                .any(|(other, wanted)| name == other && (value.is_none() || value == wanted))
        });
        // Who asks more is tried first.
        self.conditions() >= later.conditions()
            && self.path.key() == later.path.key()
            && hosts
            && methods
            && headers
    }
}

/// All of them, or everything that is wrong with any.
fn all<T, E>(parts: impl Iterator<Item = Result<T, E>>) -> Result<Vec<T>, Vec<E>> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Ok(part) => good.push(part),
            Err(error) => bad.push(error),
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(bad) }
}

/// Hosts in the form in which those of requests are compared, or what is wrong with each that is none.
pub(crate) fn hosts(texts: &[String]) -> Result<Vec<String>, Vec<String>> {
    let host = |text: &String| {
        let host = match text.strip_prefix("*.") {
            None => plain(text),
            // Something stands before it in whatever it is to match.
            Some(domain) => plain(&format!("a.{domain}"))
                .and_then(|below| Some(format!("*.{}", below.strip_prefix("a.")?))),
        };
        host.ok_or_else(|| format!("`{text}` is no host that a request can have"))
    };
    all(texts.iter().map(host))
}

/// As a request has it, without port.
fn plain(text: &str) -> Option<String> {
    let read = Authority::parse(text)?;
    read.port.is_none().then(|| read.host.into_owned())
}

/// Methods, or what is wrong with each that is none.
pub(crate) fn methods(texts: &[String]) -> Result<Vec<Method>, Vec<String>> {
    all(texts.iter().map(method))
}

fn method(text: &String) -> Result<Method, String> {
    match text.parse::<Method>() {
        Ok(method) if !text.bytes().any(|byte| byte.is_ascii_lowercase()) => Ok(method),
        _ => Err(format!("`{text}` is no method")),
    }
}

/// The methods of requests that a route can get.
fn asked(texts: &[String]) -> Result<Vec<Method>, Vec<String>> {
    let asked = |text| match method(text)? {
        method @ (Method::CONNECT | Method::TRACE) => Err(format!(
            "a request with {method} is refused before any route is asked"
        )),
        method => Ok(method),
    };
    all(texts.iter().map(asked))
}

fn rooted(key: &'static str, path: &str) -> Result<String, MatcherError> {
    match http_rules::path::canonical(path) {
        Ok(path) => Ok(path.into_owned()),
        Err(BadPath::Start) => Err(MatcherError {
            key,
            what: format!("`{path}` does not begin at the root"),
            remedy: "begin it with a slash",
        }),
        Err(error) => Err(MatcherError {
            key,
            what: format!(
                "`{}`: no request has such a path. {error}",
                path.escape_debug()
            ),
            remedy: "write a path as clients send it, without query; blanks are %20",
        }),
    }
}

/// Whether it asks for what no path has in its canonical form.
fn is_misspelled(pattern: &str) -> bool {
    let behind = pattern.split('%').skip(1);
    let mut escapes = behind.filter_map(|behind| behind.as_bytes().first_chunk::<2>());
    let never = |escape: &[u8; 2]| {
        let [high, low] = escape.map(|digit| char::from(digit).to_digit(16));
        let byte = high.zip(low).map(|(high, low)| (high << 4 | low) as u8);
        let needless = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        byte.is_some_and(|byte| needless(byte) || escape.iter().any(u8::is_ascii_lowercase))
    };
    !pattern.is_ascii() || escapes.any(never)
}

fn regex(pattern: &str) -> Result<Regex, MatcherError> {
    if is_misspelled(pattern) {
        return Err(MatcherError {
            key: "regex",
            what: format!("`{pattern}`: no path is compared in this spelling"),
            remedy: "write é as %C3%A9, in capitals, and letters, digits and -._~ as they are",
        });
    }
    if is_rootless(pattern) {
        return Err(MatcherError {
            key: "regex",
            what: format!("`{pattern}` matches whole paths, and no path begins like it"),
            remedy: "begin it with a slash",
        });
    }
    let whole = format!("^(?:{pattern})$");
    let built = regex::RegexBuilder::new(&whole)
        .size_limit(REGEX_BYTES)
        .build();
    built.map_err(|error| MatcherError {
        key: "regex",
        what: format!("`{pattern}` is no regular expression: {error}"),
        remedy: "look at https://docs.rs/regex for what may stand in one",
    })
}

/// Whether all it matches begins with a letter or a digit, as far as its first two characters say so for certain.
fn is_rootless(pattern: &str) -> bool {
    let mut begin = pattern.strip_prefix('^').unwrap_or(pattern).chars();
    let (first, second) = (begin.next(), begin.next());
    let may_be_left_out = matches!(second, Some('*' | '?' | '{'));
    first.is_some_and(char::is_alphanumeric) && !may_be_left_out && !pattern.contains('|')
}

fn headers(text: &RouteText) -> Result<Vec<(HeaderName, Option<String>)>, Vec<MatcherError>> {
    let header = |(name, value): (&String, &Secret)| {
        let parsed = name.parse::<HeaderName>().map_err(|_| MatcherError {
            key: "headers",
            what: format!("`{name}` is no header name"),
            remedy: "use letters, digits and hyphens",
        });
        let (parsed, value) = (parsed?, value.expose());
        if is_refused(&parsed) {
            return Err(MatcherError {
                key: "headers",
                what: format!(
                    "a request with a header `{name}` is refused before any route is asked"
                ),
                remedy: "use letters, digits and hyphens",
            });
        }
        Ok((parsed, (value != "*").then(|| value.to_owned())))
    };
    all(text.headers.iter().map(header))
}
