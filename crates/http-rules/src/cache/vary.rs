//! Which of several kept responses a request selects (RFC 9111 4.1), with what says the same counted as the same.

use super::age::only;
use crate::text::{list, unquoted_split};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// More names than this make no useful key; such a response counts as one that depends on everything.
const NAMES_MAX: usize = 16;

/// The names of the headers that a response depends on: sorted, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Varies(Vec<HeaderName>);

/// The values of those headers in one request, written so that requests which mean the same are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variant(Vec<u8>);

impl Varies {
    /// What `Vary` says; nothing where it says `*`, or what is no name.
    pub fn of(headers: &HeaderMap) -> Option<Varies> {
        let mut names = Vec::new();
        for word in headers.get_all(header::VARY).iter().flat_map(list) {
            // A star is a token, and would pass for a name.
            let name = HeaderName::from_bytes(word)
                .ok()
                .filter(|_| !word.contains(&b'*'))?;
            names.push(name);
        }
        names.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        names.dedup();
        (names.len() <= NAMES_MAX).then_some(Varies(names))
    }

    /// The names.
    pub fn names(&self) -> &[HeaderName] {
        &self.0
    }

    /// What a request says in these headers.
    pub fn select(&self, request: &HeaderMap) -> Variant {
        let mut key = Vec::new();
        for name in &self.0 {
            key.extend_from_slice(name.as_str().as_bytes());
            match request.contains_key(name) {
                true => {
                    key.push(b'=');
                    key.extend_from_slice(&normal(name, request));
                }
                false => key.push(b'!'),
            }
            key.push(b'\n');
        }
        Variant(key)
    }

    /// Whether a response with these headers, kept for this variant, answers this request: the variants are the same,
    /// or it is written in the language that the request wants most.
    pub fn answers(&self, kept: &Variant, response: &HeaderMap, request: &HeaderMap) -> bool {
        self.select(request) == *kept || self.is_in_best_language(response, request)
    }

    fn is_in_best_language(&self, response: &HeaderMap, request: &HeaderMap) -> bool {
        if self.0 != [header::ACCEPT_LANGUAGE] {
            return false;
        }
        let written = only(response, &header::CONTENT_LANGUAGE);
        let best = weighed(&members(&header::ACCEPT_LANGUAGE, request));
        match (written, &best[..]) {
            (Some(written), [(weight, first), rest @ ..]) => {
                let alone = rest.first().is_none_or(|(next, _)| next < weight);
                alone && *weight > 0 && written.trim_ascii().eq_ignore_ascii_case(first)
            }
            _ => false,
        }
    }
}

impl Variant {
    /// To be kept or hashed.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As it was kept.
    pub fn from_bytes(bytes: Vec<u8>) -> Variant {
        Variant(bytes)
    }
}

/// All lines as one list without blanks; of lists whose order means nothing, sorted.
fn normal(name: &HeaderName, request: &HeaderMap) -> Vec<u8> {
    let members = members(name, request);
    match *name {
        header::ACCEPT_LANGUAGE
        | header::ACCEPT_ENCODING
        | header::ACCEPT
        | header::ACCEPT_CHARSET => {
            let weighed = weighed(&members);
            let texts: Vec<Vec<u8>> = weighed
                .into_iter()
                .map(|(weight, member)| {
                    [&member[..], b";q=", weight.to_string().as_bytes()].concat()
                })
                .collect();
            texts.join(&b","[..])
        }
        _ => members.join(&b","[..]),
    }
}

fn members(name: &HeaderName, request: &HeaderMap) -> Vec<Vec<u8>> {
    let lines = request.get_all(name).iter().map(HeaderValue::as_bytes);
    // A blank within quotes is no blank between members.
    let members = lines.flat_map(|line| unquoted_split(line, b',').unwrap_or_else(|| vec![line]));
    let members = members.filter(|member| !member.is_empty());
    members.map(<[u8]>::to_vec).collect()
}

/// Members in small letters with their weight in thousandths, the heaviest first.
fn weighed(members: &[Vec<u8>]) -> Vec<(u32, Vec<u8>)> {
    let mut weighed: Vec<(u32, Vec<u8>)> = members.iter().map(|member| weigh(member)).collect();
    weighed.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    weighed.dedup();
    weighed
}

/// What stands behind the first sign may be in capitals for a reason; a weight is the last there.
fn weigh(member: &[u8]) -> (u32, Vec<u8>) {
    let mut parts = member.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let mut text = parts.next().unwrap_or_default().to_ascii_lowercase();
    let parts: Vec<&[u8]> = parts.collect();
    let weight = parts.last().and_then(|last| weight(last));
    let kept = parts.len() - usize::from(weight.is_some());
    for part in &parts[..kept] {
        text.push(b';');
        text.extend_from_slice(part);
    }
    (weight.unwrap_or(1000), text)
}

fn weight(parameter: &[u8]) -> Option<u32> {
    let value = parameter.strip_prefix(b"q=");
    thousandths(value.or_else(|| parameter.strip_prefix(b"Q="))?)
}

/// `0.5`, `1`, `0.123`; nothing for what is no weight.
fn thousandths(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let plain = matches!(whole, "0" | "1")
        && part.len() <= 3
        && part.bytes().all(|byte| byte.is_ascii_digit());
    if !plain {
        return None;
    }
    let part: u32 = format!("{part:0<3}").parse().ok()?;
    let weight = if whole == "1" { 1000 + part } else { part };
    (weight <= 1000).then_some(weight)
}
