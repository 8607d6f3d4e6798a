//! AWS Signature Version 4.

use super::stamp::Stamp;
use aws_lc_rs::{digest, hmac};
use std::fmt::Write;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// What a signature is made with, and what it is good for.
pub(super) struct Signer<'a> {
    pub(super) access_key: &'a str,
    pub(super) secret_key: &'a str,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
}

/// What is signed. Path and query are escaped already; query and headers are sorted by name.
pub(super) struct Subject<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: &'a [(&'a str, String)],
    /// As the header says it: a hash in hexadecimal, or that there is none.
    pub(super) payload: &'a str,
}

impl Signer<'_> {
    /// The value of the header `authorization`.
    pub(super) fn authorization(&self, subject: &Subject<'_>, stamp: &Stamp) -> String {
        let scope = format!(
            "{}/{}/{}/aws4_request",
            stamp.day(),
            self.region,
            self.service
        );
        let request = hex(digest::digest(&digest::SHA256, canonical(subject).as_bytes()).as_ref());
        let to_sign = format!("{ALGORITHM}\n{}\n{scope}\n{request}", stamp.whole());
        let signature = hex(hmac::sign(&self.key(stamp), to_sign.as_bytes()).as_ref());
        let names = names(subject);
        let credential = self.access_key;
        format!(
            "{ALGORITHM} Credential={credential}/{scope},SignedHeaders={names},Signature={signature}"
        )
    }

    /// The secret itself signs nothing but the day.
    fn key(&self, stamp: &Stamp) -> hmac::Key {
        let secret = format!("AWS4{}", self.secret_key);
        let parts = [stamp.day(), self.region, self.service, "aws4_request"];
        let first = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        parts.iter().fold(first, |key, part| {
            hmac::Key::new(
                hmac::HMAC_SHA256,
                hmac::sign(&key, part.as_bytes()).as_ref(),
            )
        })
    }
}

fn canonical(subject: &Subject<'_>) -> String {
    let mut text = format!("{}\n{}\n{}\n", subject.method, subject.path, subject.query);
    for (name, value) in subject.headers {
        text.push_str(name);
        text.push(':');
        text.push_str(value.trim());
        text.push('\n');
    }
    text.push('\n');
    text.push_str(&names(subject));
    text.push('\n');
    text.push_str(subject.payload);
    text
}

fn names(subject: &Subject<'_>) -> String {
    let names: Vec<&str> = subject.headers.iter().map(|(name, _)| *name).collect();
    names.join(";")
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Escapes all but what RFC 3986 reserves for nothing. Slashes stay slashes in a path only.
pub(super) fn escape(text: &str, slash: bool) -> String {
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (slash && byte == b'/') {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
        escaped
    })
}

#[cfg(test)]
mod tests;
