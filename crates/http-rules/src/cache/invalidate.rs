//! Which kept responses an unsafe request makes void (RFC 9111 4.4).

use http::header::{self, HeaderMap};
use http::{Method, StatusCode, Uri};

/// Whether a request may change something; methods nobody has heard of may.
pub fn is_unsafe(method: &Method) -> bool {
    !method.is_safe()
}

/// Paths, with queries, of what is void once this request was answered so: its own target, and what the answer names
/// at the same origin. Nothing if it failed.
pub fn invalidated(
    method: &Method,
    target: &Uri,
    status: StatusCode,
    answer: &HeaderMap,
) -> Vec<String> {
    if !is_unsafe(method) || !(status.is_success() || status.is_redirection()) {
        return Vec::new();
    }
    let mut paths = vec![path_of(target)];
    for name in [header::LOCATION, header::CONTENT_LOCATION] {
        let named = answer.get(name).and_then(|value| value.to_str().ok());
        paths.extend(named.and_then(|reference| resolve(target, reference)));
    }
    paths.dedup();
    paths
}

fn path_of(target: &Uri) -> String {
    target
        .path_and_query()
        .map_or("/", |path| path.as_str())
        .to_owned()
}

/// The path that a reference means, if it stays at the origin of `target`, which is absolute (RFC 3986 5.2).
pub fn resolve(target: &Uri, reference: &str) -> Option<String> {
    let reference = reference.split('#').next().unwrap_or_default();
    if reference.is_empty() {
        return Some(path_of(target));
    }
    let absolute = reference.strip_prefix("//").map(|rest| {
        let scheme = target.scheme_str().unwrap_or("http");
        format!("{scheme}://{rest}")
    });
    let text = absolute.as_deref().unwrap_or(reference);
    if has_scheme(text) {
        let uri: Uri = text.parse().ok()?;
        return is_same_origin(target, &uri).then(|| without_dots(&path_of(&uri)));
    }
    if text.starts_with('/') {
        return Some(without_dots(text));
    }
    if let Some(query) = text.strip_prefix('?') {
        return Some(format!("{}?{query}", target.path()));
    }
    let folder = target
        .path()
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder);
    Some(without_dots(&format!("{folder}/{text}")))
}

/// A path or a query may hold what looks like an address.
fn has_scheme(reference: &str) -> bool {
    let scheme = reference.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

fn is_same_origin(one: &Uri, other: &Uri) -> bool {
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    let port = |uri: &Uri| uri.port_u16().or(usual_port(uri.scheme_str()?));
    one.scheme_str() == other.scheme_str() && host(one) == host(other) && port(one) == port(other)
}

fn usual_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// RFC 3986 5.2.4; what stands behind the question mark is left alone.
fn without_dots(path: &str) -> String {
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path, None),
    };
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/').skip(1) {
        match part {
            "." => (),
            ".." => {
                kept.pop();
            }
            part => kept.push(part),
        }
    }
    let folder = path.ends_with("/.") || path.ends_with("/..");
    let mut clean = format!("/{}", kept.join("/"));
    if folder && !clean.ends_with('/') {
        clean.push('/');
    }
    match query {
        Some(query) => format!("{clean}?{query}"),
        None => clean,
    }
}
