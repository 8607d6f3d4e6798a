//! Which route a request takes: by host, path, method and headers, the most specific first.

use http::{HeaderMap, HeaderName, Method};
use regex::Regex;

pub(crate) use allowed::Allowed;
pub(crate) use matcher::{HOST, Matcher, MatcherError, PathMatch, hosts, methods};
use names::Names;

mod allowed;
mod matcher;
mod names;

/// All routes, laid out so that finding one does not depend on how many there are.
#[derive(Debug)]
pub(crate) struct Router<T> {
    routes: Vec<Entry<T>>,
    hosts: Names<Paths>,
    /// By what follows `*.`.
    below: Names<Paths>,
    anywhere: Paths,
}

#[derive(Debug)]
struct Entry<T> {
    conditions: Conditions,
    target: T,
}

#[derive(Debug, Default)]
struct Conditions {
    methods: Vec<Method>,
    headers: Vec<(HeaderName, Option<String>)>,
}

/// The routes of one host. Each list is in the order in which its routes are tried.
#[derive(Debug, Default)]
struct Paths {
    exact: Names<Vec<usize>>,
    /// By the prefix without a slash at its end.
    prefixes: Names<Vec<Prefix>>,
    regexes: Vec<(Regex, usize)>,
    /// Those of the prefix `/`, which say nothing of the path: an expression says more.
    catch_all: Vec<usize>,
}

#[derive(Debug)]
struct Prefix {
    route: usize,
    /// `/a/` does not match `/a`.
    below_only: bool,
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// In canonical form, without port.
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a HeaderMap,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a, T> {
    Route(&'a T),
    /// Something lives there, but for these methods only.
    OtherMethod(Allowed),
    Nothing,
}

impl<T> Router<T> {
    /// Lays them out. Earlier routes win over later ones that are as specific.
    pub(crate) fn new(routes: Vec<(Matcher, T)>) -> Self {
        let mut router = Self {
            routes: Vec::with_capacity(routes.len()),
            hosts: Names::default(),
            below: Names::default(),
            anywhere: Paths::default(),
        };
        let mut order: Vec<_> = routes.into_iter().collect();
        order.sort_by_key(|(matcher, _)| std::cmp::Reverse(matcher.conditions()));
        for (matcher, target) in order {
            let route = router.routes.len();
            for paths in router.places(&matcher.hosts) {
                paths.add(&matcher.path, route);
            }
            let (methods, headers) = (matcher.methods, matcher.headers);
            router.routes.push(Entry {
                conditions: Conditions { methods, headers },
                target,
            });
        }
        router
    }

    /// The routes' targets.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &T> {
        self.routes.iter().map(|entry| &entry.target)
    }

    fn places(&mut self, hosts: &[String]) -> Vec<&mut Paths> {
        if hosts.is_empty() {
            return vec![&mut self.anywhere];
        }
        for host in hosts {
            match host.strip_prefix("*.") {
                Some(suffix) => self.below.entry(suffix),
                None => self.hosts.entry(host),
            };
        }
        let below = self.below.iter_mut().filter(|(suffix, _)| {
            hosts
                .iter()
                .any(|host| host.strip_prefix("*.") == Some(suffix))
        });
        let exact = self
            .hosts
            .iter_mut()
            .filter(|(name, _)| hosts.iter().any(|host| host.as_str() == &***name));
        below.chain(exact).map(|(_, paths)| paths).collect()
    }

    /// The route that a request takes.
    pub(crate) fn find(&self, question: Question<'_>) -> Found<'_, T> {
        let mut allowed = None;
        for paths in self.at(question.host) {
            if let Some(route) = paths.find(question.path, |route| {
                let conditions = &self.routes[route].conditions;
                let fits = conditions.fit(question);
                if fits == Fit::OtherMethod {
                    let allowed = allowed.get_or_insert_with(Allowed::default);
                    allowed.add(&conditions.methods);
                }
                fits == Fit::Yes
            }) {
                return Found::Route(&self.routes[route].target);
            }
        }
        allowed.map_or(Found::Nothing, Found::OtherMethod)
    }

    /// The host's own routes, then those of the domains above it, nearest first, then those of any host.
    fn at<'r>(&'r self, host: &'r str) -> impl Iterator<Item = &'r Paths> {
        let own = self.hosts.get(host);
        let above = if self.below.is_empty() { "" } else { host };
        let dots = above.bytes().enumerate().filter(|(_, byte)| *byte == b'.');
        let above = dots.map(|(dot, _)| &host[dot + 1..]);
        let below = above.filter_map(|suffix| self.below.get(suffix));
        own.into_iter().chain(below).chain([&self.anywhere])
    }
}

impl Paths {
    fn add(&mut self, path: &PathMatch, route: usize) {
        match path {
            PathMatch::Exact(path) => self.exact.entry(path).push(route),
            PathMatch::Prefix(prefix) if prefix == "/" => self.catch_all.push(route),
            PathMatch::Prefix(prefix) => {
                let bare = prefix.strip_suffix('/');
                self.prefixes.entry(bare.unwrap_or(prefix)).push(Prefix {
                    route,
                    below_only: bare.is_some(),
                });
            }
            PathMatch::Regex(regex) => self.regexes.push((regex.clone(), route)),
        }
    }

    /// The exact path, the longest prefix, expressions, and at last what takes anything.
    fn find(&self, path: &str, mut fits: impl FnMut(usize) -> bool) -> Option<usize> {
        let exact = self.exact.get(path).into_iter().flatten().copied();
        if let Some(route) = { exact }.find(|route| fits(*route)) {
            return Some(route);
        }
        self.by_prefix(path, &mut fits)
            .or_else(|| self.by_regex(path, &mut fits))
            .or_else(|| self.catch_all.iter().copied().find(|route| fits(*route)))
    }

    /// From the longest prefix down.
    fn by_prefix(&self, path: &str, mut fits: impl FnMut(usize) -> bool) -> Option<usize> {
        for (prefix, rest) in self.splits(path) {
            for entry in self.prefixes.get(prefix).into_iter().flatten() {
                let inside = !entry.below_only || rest.starts_with('/');
                if inside && fits(entry.route) {
                    return Some(entry.route);
                }
            }
        }
        None
    }

    /// Where a prefix may end and the rest of the path begins: at the end of a segment, after as many bytes as some
    /// prefix has. A path has as many segments as its client likes, and hashing what is before each of them would cost
    /// their square.
    fn splits<'p>(&self, path: &'p str) -> impl Iterator<Item = (&'p str, &'p str)> {
        let ends = self.prefixes.lengths(path.len());
        let ends = ends.filter(|end| matches!(path.as_bytes().get(*end), None | Some(b'/')));
        ends.map(|end| path.split_at(end))
    }

    fn by_regex(&self, path: &str, mut fits: impl FnMut(usize) -> bool) -> Option<usize> {
        let matching = self
            .regexes
            .iter()
            .filter(|(regex, _)| regex.is_match(path));
        { matching }
            .map(|(_, route)| *route)
            .find(|route| fits(*route))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    OtherMethod,
}

impl Conditions {
    fn fit(&self, question: Question<'_>) -> Fit {
        let headers = self.headers.iter().all(|(name, wanted)| {
            let mut given = question.headers.get_all(name).iter();
            match wanted {
                Some(wanted) => given.any(|value| value.as_bytes() == wanted.as_bytes()),
                None => given.next().is_some(),
            }
        });
        match (
            headers,
            self.methods.is_empty() || self.methods.contains(question.method),
        ) {
            (false, _) => Fit::No,
            (true, true) => Fit::Yes,
            (true, false) => Fit::OtherMethod,
        }
    }
}

#[cfg(test)]
mod tests;
