//! The fields of a head put together: a request, or trailers, or what is neither.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Method, Uri, uri};

use crate::answer::is_of_connection;
use crate::hpack::{Broken, Decoder, Field};

/// A request without its body.
#[derive(Debug)]
pub struct Request {
    /// What is to be done.
    pub method: Method,
    /// With what; in absolute form where it was said with whom.
    pub uri: Uri,
    /// Everything else.
    pub headers: HeaderMap,
    /// Bytes of its body, where that was said.
    pub length: Option<u64>,
}

/// Why a head that could be unpacked is nothing to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Nobody may say that in a request; its stream ends.
    Malformed,
    /// More than anyone needs to say; 431.
    TooLarge {
        /// Whoever asks wants no body.
        head_only: bool,
    },
    /// So much more that its connection ends.
    Flood,
}

/// A list this many times as long as allowed is no mistake.
const FLOOD: usize = 8;

/// Reads heads, which are packed with what was said before them.
#[derive(Debug)]
pub struct HeadReader {
    decoder: Decoder,
    /// Bytes of a list of fields.
    list_bytes: usize,
    /// Whom the last request was for: nearly always, so is the next.
    with: Option<(Bytes, Authority)>,
}

impl HeadReader {
    /// Of lists with at most so many bytes, as RFC 9113 counts them.
    pub fn new(list_bytes: usize) -> Self {
        Self {
            decoder: Decoder::default(),
            list_bytes,
            with: None,
        }
    }

    /// Reads a request into `headers`, which are empty.
    pub fn request(
        &mut self,
        block: &[u8],
        headers: HeaderMap,
    ) -> Result<Result<Request, Unfit>, Broken> {
        let list = self.unpack(block, headers)?;
        Ok(list.and_then(|list| list.into_request(&mut self.with)))
    }

    /// Reads what is said behind a body.
    pub fn trailers(&mut self, block: &[u8]) -> Result<Result<HeaderMap, Unfit>, Broken> {
        let list = self.unpack(block, HeaderMap::new())?;
        Ok(list.and_then(|list| match list {
            List {
                method: None,
                scheme: None,
                authority: None,
                path: None,
                headers,
                ..
            } => Ok(headers),
            _ => Err(Unfit::Malformed),
        }))
    }

    fn unpack(&mut self, block: &[u8], headers: HeaderMap) -> Result<Result<List, Unfit>, Broken> {
        let (mut list, mut bytes, mut fit) = (List::new(headers), 0_usize, true);
        let most = self.list_bytes;
        self.decoder.decode(block, |field, size| {
            bytes = bytes.saturating_add(size);
            if bytes <= most && fit {
                fit = list.take(field);
            }
        })?;
        Ok(match bytes {
            _ if bytes > most.saturating_mul(FLOOD) => Err(Unfit::Flood),
            _ if bytes > most => Err(Unfit::TooLarge {
                head_only: list.method == Some(Method::HEAD),
            }),
            _ if !fit => Err(Unfit::Malformed),
            _ => Ok(list),
        })
    }
}

/// Fields as they come.
struct List {
    method: Option<Method>,
    scheme: Option<Bytes>,
    authority: Option<Bytes>,
    path: Option<Bytes>,
    headers: HeaderMap,
    /// Where a field has come that is none of the four above, they may come no more.
    begun: bool,
}

impl List {
    fn new(headers: HeaderMap) -> Self {
        Self {
            method: None,
            scheme: None,
            authority: None,
            path: None,
            headers,
            begun: false,
        }
    }

    /// Whether the field may be there.
    fn take(&mut self, field: &Field) -> bool {
        let fresh = match field {
            Field::Header(name, value) => {
                self.begun = true;
                return is_allowed(name, value)
                    && self.headers.try_append(name.clone(), value.clone()).is_ok();
            }
            Field::Unfit => false,
            Field::Method(method) => self.method.replace(method.clone()).is_none(),
            Field::Scheme(bytes) => self.scheme.replace(bytes.clone()).is_none(),
            Field::Authority(bytes) => self.authority.replace(bytes.clone()).is_none(),
            Field::Path(bytes) => self.path.replace(bytes.clone()).is_none(),
        };
        fresh && !self.begun
    }

    fn into_request(self, with: &mut Option<(Bytes, Authority)>) -> Result<Request, Unfit> {
        let method = self.method.ok_or(Unfit::Malformed)?;
        let authority = match self.authority {
            None => None,
            Some(bytes) => Some(read_authority(bytes, with)?),
        };
        let mut parts = uri::Parts::default();
        if method == Method::CONNECT {
            // It asks for somebody, not for something.
            if self.scheme.is_some() || self.path.is_some() || authority.is_none() {
                return Err(Unfit::Malformed);
            }
        } else {
            let path = self.path.ok_or(Unfit::Malformed)?;
            let everything = method == Method::OPTIONS && path == "*";
            // A fragment is no part of what is asked for, and would be left out without a word.
            let cut = path.contains(&b'#');
            if cut || (path.first() != Some(&b'/') && !everything) {
                return Err(Unfit::Malformed);
            }
            let path = PathAndQuery::from_maybe_shared(path).map_err(|_| Unfit::Malformed)?;
            parts.path_and_query = Some(path);
            let scheme = read_scheme(&self.scheme.ok_or(Unfit::Malformed)?)?;
            // Without whom to ask there is no absolute form.
            parts.scheme = authority.is_some().then_some(scheme);
        }
        parts.authority = authority;
        let length = read_length(&self.headers)?;
        Ok(Request {
            method,
            uri: Uri::from_parts(parts).map_err(|_| Unfit::Malformed)?,
            headers: self.headers,
            length,
        })
    }
}

fn is_allowed(name: &HeaderName, value: &HeaderValue) -> bool {
    if *name == TE {
        return value.as_bytes().eq_ignore_ascii_case(b"trailers");
    }
    !is_of_connection(name)
}

fn read_scheme(bytes: &[u8]) -> Result<Scheme, Unfit> {
    match bytes {
        b"http" => Ok(Scheme::HTTP),
        b"https" => Ok(Scheme::HTTPS),
        b"" => Err(Unfit::Malformed),
        other => Scheme::try_from(other).map_err(|_| Unfit::Malformed),
    }
}

fn read_authority(bytes: Bytes, with: &mut Option<(Bytes, Authority)>) -> Result<Authority, Unfit> {
    if let Some((said, authority)) = with
        && *said == bytes
    {
        return Ok(authority.clone());
    }
    let authority = Authority::from_maybe_shared(bytes.clone()).map_err(|_| Unfit::Malformed)?;
    *with = Some((bytes, authority.clone()));
    Ok(authority)
}

/// Said once, if at all: whoever reads this next may take another one for it.
fn read_length(headers: &HeaderMap) -> Result<Option<u64>, Unfit> {
    let mut said = headers.get_all(CONTENT_LENGTH).iter();
    match (said.next(), said.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            let length = read_number(value.as_bytes());
            length.map(Some).ok_or(Unfit::Malformed)
        }
        (Some(_), Some(_)) => Err(Unfit::Malformed),
    }
}

fn read_number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests;
