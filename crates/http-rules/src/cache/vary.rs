//! Which of several kept responses a request selects (RFC 9111 4.1), with what says the same counted as the same.

use super::age::only;
use crate::text::list;
use http::header::{self, HeaderMap, HeaderName};

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
    let lines = request.get_all(name).iter();
    lines.flat_map(list).map(<[u8]>::to_vec).collect()
}

/// Members in small letters with their weight in thousandths, the heaviest first.
fn weighed(members: &[Vec<u8>]) -> Vec<(u32, Vec<u8>)> {
    let mut weighed: Vec<(u32, Vec<u8>)> = members.iter().map(|member| weigh(member)).collect();
    weighed.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    weighed.dedup();
    weighed
}

fn weigh(member: &[u8]) -> (u32, Vec<u8>) {
    let lower: Vec<u8> = member.to_ascii_lowercase();
    let lower: Vec<u8> = lower
        .into_iter()
        .filter(|byte| !matches!(byte, b' ' | b'\t'))
        .collect();
    let found = lower.windows(3).rposition(|window| window == b";q=");
    match found.and_then(|at| Some((at, thousandths(&lower[at + 3..])?))) {
        Some((at, weight)) => (weight, lower[..at].to_vec()),
        None => (1000, lower),
    }
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
