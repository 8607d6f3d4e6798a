//! HTTP in frames: the head of a request or an answer stands before the body in the payload of its first frame.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::Method;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery};

use crate::Refusal;
use crate::limits::{HEAD_BYTES_MAX, HEAD_FIELDS_MAX};

/// The opcode of an HTTP request; the bridge has no other.
pub const REQUEST: u16 = 1;

/// The head of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestHead {
    /// What is to be done.
    pub method: Method,
    /// With what, in origin form.
    pub target: PathAndQuery,
    /// On which host.
    pub authority: Authority,
    /// Under which circumstances.
    pub headers: HeaderMap,
}

impl RequestHead {
    /// Takes the head from the front of a payload, and leaves the body.
    pub fn take(payload: &mut Bytes) -> Result<Self, Refusal> {
        let before = payload.len();
        let method = text8(payload)?;
        let target = text16(payload)?;
        let authority = text8(payload)?;
        let headers = fields(payload)?;
        let head = Self {
            method: Method::from_bytes(&method).map_err(|_| Refusal::HeadBroken)?,
            target: origin_form(target)?,
            authority: Authority::from_maybe_shared(authority).map_err(|_| Refusal::HeadBroken)?,
            headers,
        };
        within(before - payload.len()).map(|()| head)
    }

    /// Writes the head, in front of a body.
    pub fn put(&self, out: &mut BytesMut) -> Result<(), Refusal> {
        let before = out.len();
        put8(out, self.method.as_str().as_bytes())?;
        put16(out, self.target.as_str().as_bytes())?;
        put8(out, self.authority.as_str().as_bytes())?;
        put_fields(out, &self.headers)?;
        within(out.len() - before)
    }
}

/// Takes the fields of an answer from the front of a payload, and leaves the body; the status is the frame's code.
pub fn take_fields(payload: &mut Bytes) -> Result<HeaderMap, Refusal> {
    let before = payload.len();
    let headers = fields(payload)?;
    within(before - payload.len()).map(|()| headers)
}

/// Writes the fields of an answer, in front of a body.
pub fn put_fields(out: &mut BytesMut, headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.len() > HEAD_FIELDS_MAX {
        return Err(Refusal::HeadOver);
    }
    let before = out.len();
    out.put_u16(headers.len() as u16);
    for (name, value) in headers {
        put8(out, name.as_str().as_bytes())?;
        put16(out, value.as_bytes())?;
    }
    within(out.len() - before)
}

fn fields(payload: &mut Bytes) -> Result<HeaderMap, Refusal> {
    let count = payload.try_get_u16().map_err(|_| Refusal::HeadBroken)?;
    let count = usize::from(count);
    if count > HEAD_FIELDS_MAX {
        return Err(Refusal::HeadOver);
    }
    let mut headers = HeaderMap::with_capacity(count);
    for _ in 0..count {
        let name = text8(payload)?;
        let value = text16(payload)?;
        // In lower case only: a name has one form here.
        let name = HeaderName::from_lowercase(&name).map_err(|_| Refusal::HeadBroken)?;
        let value = HeaderValue::from_maybe_shared(value).map_err(|_| Refusal::HeadBroken)?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// A path, not a whole URL: the authority is said once.
fn origin_form(target: Bytes) -> Result<PathAndQuery, Refusal> {
    if !target.starts_with(b"/") && &target[..] != b"*" {
        return Err(Refusal::HeadBroken);
    }
    PathAndQuery::from_maybe_shared(target).map_err(|_| Refusal::HeadBroken)
}

fn text8(payload: &mut Bytes) -> Result<Bytes, Refusal> {
    let length = payload.try_get_u8().map_err(|_| Refusal::HeadBroken)?;
    text(payload, length.into())
}

fn text16(payload: &mut Bytes) -> Result<Bytes, Refusal> {
    let length = payload.try_get_u16().map_err(|_| Refusal::HeadBroken)?;
    text(payload, length.into())
}

fn text(payload: &mut Bytes, length: usize) -> Result<Bytes, Refusal> {
    match payload.len() >= length {
        true => Ok(payload.split_to(length)),
        false => Err(Refusal::HeadBroken),
    }
}

fn put8(out: &mut BytesMut, text: &[u8]) -> Result<(), Refusal> {
    out.put_u8(u8::try_from(text.len()).map_err(|_| Refusal::HeadOver)?);
    out.put_slice(text);
    Ok(())
}

fn put16(out: &mut BytesMut, text: &[u8]) -> Result<(), Refusal> {
    out.put_u16(u16::try_from(text.len()).map_err(|_| Refusal::HeadOver)?);
    out.put_slice(text);
    Ok(())
}

fn within(head_bytes: usize) -> Result<(), Refusal> {
    match head_bytes <= HEAD_BYTES_MAX {
        true => Ok(()),
        false => Err(Refusal::HeadOver),
    }
}

#[cfg(test)]
mod tests;
