//! What is asked of an endpoint: a head as it came, and what is said besides.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use http1_wire::{Payload, Sending, write_head};

/// A name and its value.
pub type Field = (HeaderName, HeaderValue);

/// What is asked for, lent for as long as it takes to say it: the same can be asked again.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The method.
    pub method: &'a Method,
    /// The target; of an absolute one the authority is what `Host` says, unless the fields say that already.
    pub uri: &'a Uri,
    /// The fields. How the body is framed is not theirs to say.
    pub headers: &'a HeaderMap,
    /// Said besides, by who passes a request on: a list costs a fraction of what a map does. None of them is named like
    /// one of the fields, is about the connection or the length of the body, or is `Host`.
    pub more: &'a [Field],
}

impl<'a> Ask<'a> {
    /// What this head asks for.
    pub fn of(parts: &'a http::request::Parts) -> Self {
        Self {
            method: &parts.method,
            uri: &parts.uri,
            headers: &parts.headers,
            more: &[],
        }
    }

    /// All fields in one map.
    pub(crate) fn fields(&self) -> HeaderMap {
        let mut fields = self.headers.clone();
        fields.extend(self.more.iter().cloned());
        fields
    }

    /// Writes it as the head of an HTTP/1 request; `host` is who it is for where it does not say.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        host: impl FnOnce() -> String,
        payload: Payload,
    ) -> Sending {
        let ask = http1_wire::Ask {
            method: self.method,
            uri: self.uri,
            headers: self.headers,
        };
        let sending = write_head(out, &ask, host, payload);
        if !self.more.is_empty() {
            // What is said besides comes before the empty line that ends a head.
            out.truncate(out.len() - b"\r\n".len());
            for (name, value) in self.more {
                write_field(out, name.as_str().as_bytes(), value.as_bytes());
            }
            out.extend_from_slice(b"\r\n");
        }
        sending
    }
}

fn write_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.reserve(name.len() + value.len() + 4);
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-14
    #[test]
    fn what_is_said_besides_ends_the_head_as_it_would_have_in_the_map() {
        let mut parts = http::Request::post("/a?b=c")
            .body(())
            .unwrap()
            .into_parts()
            .0;
        parts.headers.insert("host", "h".parse().unwrap());
        parts.headers.insert("accept", "*/*".parse().unwrap());
        let more = [
            (http::header::VIA, HeaderValue::from_static("1.1 us")),
            (
                HeaderName::from_static("x-request-id"),
                HeaderValue::from_static("7"),
            ),
        ];
        let ask = Ask {
            more: &more,
            ..Ask::of(&parts)
        };
        let (mut out, mut whole) = (Vec::new(), Vec::new());
        let none = || unreachable!("the head says whom it is for");
        let sending = ask.write(&mut out, none, Payload::Some(None));
        assert_eq!(sending, Sending::Chunked);
        let (before, after) = (b"POST /a?b=c HTTP/1.1\r\n", b"\r\n\r\n");
        assert!(out.starts_with(before) && out.ends_with(after));

        parts.headers = ask.fields();
        Ask::of(&parts).write(&mut whole, none, Payload::Some(None));
        let lines = |out: Vec<u8>| {
            let text = String::from_utf8(out).unwrap();
            let mut lines: Vec<String> = text.split("\r\n").map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(
            lines(out),
            lines(whole),
            "the same fields, in another order"
        );
    }
}
