//! A bucket, and the requests that can be made of it.

use super::SignedRequest;
use super::sign::{Signer, Subject, escape, sha256};
use super::stamp::Stamp;
use crate::Hash;
use std::fmt;

/// For bodies that are not hashed twice: an object's name is its hash already.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// Where the objects of several nodes are.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// What the header `host` says, and what is to be connected to.
    host: String,
    /// What comes before every key in the path, escaped: the bucket if it is not in the host's name, and the prefix.
    base: String,
    /// What comes before every key, as the bucket knows it.
    prefix: String,
    /// The path of the bucket itself.
    root: String,
    region: String,
    credentials: Credentials,
}

/// Who asks. Printed without the secrets.
#[derive(Clone)]
pub struct Credentials {
    /// Names the secret.
    pub access_key: String,
    /// Signs.
    pub secret_key: String,
    /// Comes with credentials that end.
    pub session_token: Option<String>,
}

/// Where the bucket's name goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressing {
    /// Before the host's name, as Amazon wants it.
    Host,
    /// Before the path, as most others have it.
    Path,
}

/// What cannot be a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketError(&'static str);

/// Bytes of an object: from, and the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub first: u64,
    /// The last byte, itself included.
    pub last: u64,
}

impl Bucket {
    /// A bucket at `endpoint`, which is a host and perhaps a port. All keys start with `prefix`.
    pub fn new(
        endpoint: &str,
        addressing: Addressing,
        bucket: &str,
        prefix: &str,
        region: &str,
        credentials: Credentials,
    ) -> Result<Self, BucketError> {
        check(endpoint, bucket, prefix, region, &credentials)?;
        let (host, root) = match addressing {
            Addressing::Host => (format!("{bucket}.{endpoint}"), String::new()),
            Addressing::Path => (endpoint.to_owned(), format!("/{bucket}")),
        };
        let prefix = match prefix {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        Ok(Self {
            host,
            base: format!("{root}/{}", escape(&prefix, true)),
            prefix,
            root: if root.is_empty() {
                "/".to_owned()
            } else {
                root
            },
            region: region.to_owned(),
            credentials,
        })
    }

    /// What to connect to.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Asks for an object, or for a part of it. `now` is the second of Unix time, here and below.
    pub fn get_object(&self, hash: &Hash, span: Option<Span>, now: u64) -> SignedRequest {
        let range = span.map(|span| ("range", format!("bytes={}-{}", span.first, span.last)));
        self.request("GET", &object(hash), range, &sha256(b""), now)
    }

    /// Asks whether an object is there, and how long it is.
    pub fn head_object(&self, hash: &Hash, now: u64) -> SignedRequest {
        self.request("HEAD", &object(hash), None, &sha256(b""), now)
    }

    /// Stores an object. The body is its bytes.
    pub fn put_object(&self, hash: &Hash, now: u64) -> SignedRequest {
        self.request("PUT", &object(hash), None, UNSIGNED, now)
    }

    /// Removes an object; it is no error if it is not there.
    pub fn delete_object(&self, hash: &Hash, now: u64) -> SignedRequest {
        self.request("DELETE", &object(hash), None, &sha256(b""), now)
    }

    /// Asks for a record; its body is for [`open_record`](super::open_record).
    pub fn get_record(&self, key: &Hash, now: u64) -> SignedRequest {
        self.request("GET", &record(key), None, &sha256(b""), now)
    }

    /// Stores a record. The body is `sealed`, from [`seal_record`](super::seal_record).
    pub fn put_record(&self, key: &Hash, sealed: &[u8], now: u64) -> SignedRequest {
        self.request("PUT", &record(key), None, &sha256(sealed), now)
    }

    /// Removes a record; it is no error if it is not there.
    pub fn delete_record(&self, key: &Hash, now: u64) -> SignedRequest {
        self.request("DELETE", &record(key), None, &sha256(b""), now)
    }

    /// Asks which records there are, a page at a time; its body is for [`read_page`](super::read_page).
    pub fn list_records(&self, after: Option<&str>, now: u64) -> SignedRequest {
        let mut query = String::new();
        if let Some(token) = after {
            query = format!("continuation-token={}&", escape(token, false));
        }
        let prefix = escape(&format!("{}records/", self.prefix), false);
        query.push_str(&format!("list-type=2&prefix={prefix}"));
        self.signed("GET", &self.root, &query, None, &sha256(b""), now)
    }

    fn request(
        &self,
        method: &'static str,
        key: &str,
        more: Option<(&'static str, String)>,
        payload: &str,
        now: u64,
    ) -> SignedRequest {
        let path = format!("{}{key}", self.base);
        self.signed(method, &path, "", more, payload, now)
    }

    fn signed(
        &self,
        method: &'static str,
        path: &str,
        query: &str,
        more: Option<(&'static str, String)>,
        payload: &str,
        now: u64,
    ) -> SignedRequest {
        let stamp = Stamp::new(now);
        let mut headers = vec![
            ("host", self.host.clone()),
            ("x-amz-content-sha256", payload.to_owned()),
            ("x-amz-date", stamp.whole().to_owned()),
        ];
        let token = self.credentials.session_token.clone();
        headers.extend(token.map(|token| ("x-amz-security-token", token)));
        headers.extend(more);
        headers.sort();
        let subject = Subject {
            method,
            path,
            query,
            headers: &headers,
            payload,
        };
        let authorization = self.signer().authorization(&subject, &stamp);
        headers.push(("authorization", authorization));
        let target = match query {
            "" => path.to_owned(),
            query => format!("{path}?{query}"),
        };
        SignedRequest {
            method,
            target,
            headers,
        }
    }

    fn signer(&self) -> Signer<'_> {
        Signer {
            access_key: &self.credentials.access_key,
            secret_key: &self.credentials.secret_key,
            region: &self.region,
            service: "s3",
        }
    }
}

fn object(hash: &Hash) -> String {
    format!("objects/{hash}")
}

fn record(key: &Hash) -> String {
    format!("records/{key}")
}

/// Refuses what would make another request than was meant.
fn check(
    endpoint: &str,
    bucket: &str,
    prefix: &str,
    region: &str,
    credentials: &Credentials,
) -> Result<(), BucketError> {
    let all = |text: &str, good: fn(u8) -> bool| !text.is_empty() && text.bytes().all(good);
    let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
    let in_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let in_key = |byte: u8| byte.is_ascii_graphic();
    let in_prefix =
        |part: &str| all(part, |byte| byte.is_ascii_graphic()) && part != "." && part != "..";
    let token = credentials.session_token.as_deref();
    let rules = [
        (
            all(endpoint, in_host),
            "an endpoint is a host and perhaps a port",
        ),
        (
            all(bucket, in_name) && (3..=63).contains(&bucket.len()),
            "a bucket's name has 3 to 63 lower-case letters, digits, dots and hyphens",
        ),
        (
            prefix.is_empty() || prefix.split('/').all(in_prefix),
            "a prefix has no empty, dotted or unprintable parts",
        ),
        (
            all(region, in_word),
            "a region is letters, digits and hyphens",
        ),
        (
            all(&credentials.access_key, in_key) && all(&credentials.secret_key, in_key),
            "credentials are printable",
        ),
        (
            token.is_none_or(|token| all(token, in_key)),
            "a session token is printable",
        ),
    ];
    let broken = rules.iter().find(|(holds, _)| !holds);
    broken.map_or(Ok(()), |(_, rule)| Err(BucketError(rule)))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({})", self.access_key)
    }
}

impl fmt::Display for BucketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for BucketError {}

#[cfg(test)]
mod tests;
