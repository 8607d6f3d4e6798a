//! What a request's head must be before anything looks at it: one body length, one authority, no aliases.

mod bad;

pub use bad::Bad;

use crate::alias::{Alias, alias};
use crate::authority::Authority;
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Uri, Version};

/// What a clean head says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked<'a> {
    /// The one authority, whichever way it was sent.
    pub authority: Authority<'a>,
    /// The client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
    /// Some names have dots, which servers behind may read as dashes: whoever gives names a meaning of its own should
    /// look whether one of those is meant.
    pub dotted: bool,
}

/// Checks a head that a parser has accepted for what the parser leaves to us. One pass over the headers; nothing is
/// allocated unless the host has capitals.
pub fn check(parts: &Parts) -> Result<Checked<'_>, Bad> {
    method(&parts.method)?;
    let wire = Wire::of(parts.version)?;
    target(&parts.uri, &parts.method, wire)?;
    let mut seen = Seen::default();
    for (name, value) in &parts.headers {
        seen.header(wire, name, value)?;
    }
    Ok(Checked {
        authority: authority(&parts.uri, seen.host, wire)?,
        expects_continue: seen.expects_continue,
        dotted: seen.dotted,
    })
}

/// Which rules of the wire apply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wire {
    Http10,
    Http11,
    /// HTTP/2 and HTTP/3: frames delimit the body, no header may.
    Framed,
}

impl Wire {
    fn of(version: Version) -> Result<Wire, Bad> {
        match version {
            Version::HTTP_10 => Ok(Wire::Http10),
            Version::HTTP_11 => Ok(Wire::Http11),
            Version::HTTP_2 | Version::HTTP_3 => Ok(Wire::Framed),
            _ => Err(Bad::Version),
        }
    }
}

/// What the pass has met so far.
#[derive(Default)]
struct Seen<'a> {
    host: Option<&'a HeaderValue>,
    length: Option<&'a HeaderValue>,
    chunked: bool,
    expects_continue: bool,
    dotted: bool,
}

impl<'a> Seen<'a> {
    fn header(&mut self, wire: Wire, name: &HeaderName, value: &'a HeaderValue) -> Result<(), Bad> {
        match *name {
            header::HOST => match self.host.replace(value) {
                None => Ok(()),
                Some(_) => Err(Bad::HostRepeated),
            },
            // Nothing can be wrong with the names that most heads have.
            header::ACCEPT
            | header::ACCEPT_ENCODING
            | header::ACCEPT_LANGUAGE
            | header::CONTENT_TYPE
            | header::COOKIE
            | header::USER_AGENT => Ok(()),
            header::CONTENT_LENGTH => self.content_length(value),
            header::TRANSFER_ENCODING => self.transfer_encoding(wire, value),
            header::EXPECT => self.expect(value),
            header::CONNECTION | header::UPGRADE if wire == Wire::Framed => {
                Err(Bad::ConnectionHeader)
            }
            header::TE if wire == Wire::Framed && value != "trailers" => Err(Bad::ConnectionHeader),
            _ => self.other(wire, name),
        }
    }

    /// The same length twice is one length; anything that is not plain digits is none, nor is a number with zeros
    /// before it: it is sent on as it came, and has been read as octal.
    fn content_length(&mut self, value: &'a HeaderValue) -> Result<(), Bad> {
        let bytes = value.as_bytes();
        let digits = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
        let plain = digits && (bytes.len() == 1 || bytes[0] != b'0');
        let other = self.length.replace(value).is_some_and(|seen| seen != value);
        match plain && !other {
            true => Ok(()),
            false => Err(Bad::ContentLength),
        }
    }

    fn transfer_encoding(&mut self, wire: Wire, value: &HeaderValue) -> Result<(), Bad> {
        let exact = wire == Wire::Http11 && value.as_bytes().eq_ignore_ascii_case(b"chunked");
        let repeated = std::mem::replace(&mut self.chunked, true);
        match (wire, exact && !repeated) {
            (Wire::Framed, _) => Err(Bad::ConnectionHeader),
            (_, true) => Ok(()),
            (_, false) => Err(Bad::TransferEncoding),
        }
    }

    fn expect(&mut self, value: &HeaderValue) -> Result<(), Bad> {
        self.expects_continue = value.as_bytes().eq_ignore_ascii_case(b"100-continue");
        match self.expects_continue {
            true => Ok(()),
            false => Err(Bad::Expect),
        }
    }

    /// Names that others may read as another name are refused, whoever sends them.
    fn other(&mut self, wire: Wire, name: &HeaderName) -> Result<(), Bad> {
        let text = name.as_str();
        if wire == Wire::Framed && matches!(text, "proxy-connection" | "keep-alive") {
            return Err(Bad::ConnectionHeader);
        }
        match alias(name) {
            None => Ok(()),
            Some(Alias::Underscore) => Err(Bad::Underscore),
            Some(Alias::Other) => Err(Bad::Alias),
            Some(Alias::Dot) => {
                self.dotted = true;
                Ok(())
            }
        }
    }
}

/// Whether a request with a header of this name is refused, since others may read it as another name.
pub fn is_refused(name: &HeaderName) -> bool {
    alias(name).is_some_and(|alias| alias != Alias::Dot)
}

/// Case matters in a method, but not to everybody behind: what is denied in capitals would pass in others.
fn method(method: &Method) -> Result<(), Bad> {
    match method.as_str() {
        "GET" | "POST" => Ok(()),
        name if name.eq_ignore_ascii_case("CONNECT") => Err(Bad::Connect),
        name if name.eq_ignore_ascii_case("TRACE") => Err(Bad::Trace),
        name if name.bytes().any(|byte| byte.is_ascii_lowercase()) => Err(Bad::MethodCase),
        _ => Ok(()),
    }
}

/// Origin-form, absolute-form of http, or `*` for OPTIONS.
fn target(uri: &Uri, method: &Method, wire: Wire) -> Result<(), Bad> {
    let scheme = matches!(uri.scheme_str(), None | Some("http" | "https"));
    let authority_form =
        wire != Wire::Framed && uri.scheme().is_none() && uri.authority().is_some();
    let path = match uri.path() {
        "*" => *method == Method::OPTIONS,
        path => path.starts_with('/'),
    };
    match scheme && path && !authority_form {
        true => Ok(()),
        false => Err(Bad::Target),
    }
}

fn authority<'a>(
    uri: &'a Uri,
    host: Option<&'a HeaderValue>,
    wire: Wire,
) -> Result<Authority<'a>, Bad> {
    let host = host.map(read_host).transpose()?;
    let target = uri.authority().map(|part| read_target(part.as_str()));
    match (target.transpose()?, host) {
        (None, None) if wire == Wire::Http10 => Ok(Authority::NONE),
        (None, None) => Err(Bad::HostMissing),
        // RFC 9112 asks for Host beside an absolute target too.
        (Some(_), None) if wire == Wire::Http11 => Err(Bad::HostMissing),
        (Some(one), None) | (None, Some(one)) => Ok(one),
        (Some(target), Some(host)) => match target.same(&host, uri.scheme_str()) {
            true => Ok(target),
            false => Err(Bad::AuthorityMismatch),
        },
    }
}

fn read_host(value: &HeaderValue) -> Result<Authority<'_>, Bad> {
    let text = value.to_str().ok();
    text.and_then(Authority::parse).ok_or(Bad::HostInvalid)
}

fn read_target(text: &str) -> Result<Authority<'_>, Bad> {
    match text.contains('@') {
        true => Err(Bad::Userinfo),
        false => Authority::parse(text).ok_or(Bad::HostInvalid),
    }
}

#[cfg(test)]
mod tests;
