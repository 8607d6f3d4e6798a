//! Why a head is refused: status, stable code and a sentence for people, each in one place.

use std::fmt;

/// What is wrong with a request's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bad {
    /// Transfer-Encoding is not exactly one line of `chunked`, or is on HTTP/1.0.
    TransferEncoding,
    /// Content-Length is not plain digits, or differs from another one.
    ContentLength,
    /// No authority where one is required.
    HostMissing,
    /// More than one Host line.
    HostRepeated,
    /// Not a host with an optional port.
    HostInvalid,
    /// The target names another authority than Host.
    AuthorityMismatch,
    /// A user name in the target.
    Userinfo,
    /// The target is of no form that a request to an origin has.
    Target,
    /// CONNECT.
    Connect,
    /// TRACE.
    Trace,
    /// A method that is not written in capitals.
    MethodCase,
    /// An expectation other than `100-continue`.
    Expect,
    /// A header name with an underscore.
    Underscore,
    /// A header name that may be read as another.
    Alias,
    /// A header about the connection where frames delimit messages.
    ConnectionHeader,
    /// Not HTTP/1.0, 1.1, 2 or 3.
    Version,
}

impl Bad {
    /// One of each, for tables and exhaustive tests.
    pub const ALL: &'static [Bad] = &[
        Bad::TransferEncoding,
        Bad::ContentLength,
        Bad::HostMissing,
        Bad::HostRepeated,
        Bad::HostInvalid,
        Bad::AuthorityMismatch,
        Bad::Userinfo,
        Bad::Target,
        Bad::Connect,
        Bad::Trace,
        Bad::MethodCase,
        Bad::Expect,
        Bad::Underscore,
        Bad::Alias,
        Bad::ConnectionHeader,
        Bad::Version,
    ];

    /// HTTP status of the refusal.
    pub fn status(self) -> u16 {
        match self {
            Bad::Connect | Bad::Trace => 405,
            Bad::Expect => 417,
            _ => 400,
        }
    }

    /// Whether the connection's framing can no longer be relied on: answer, then close.
    pub fn closes(self) -> bool {
        matches!(
            self,
            Bad::TransferEncoding | Bad::ContentLength | Bad::Version
        )
    }

    /// Stable code for the body, the log and the metric.
    pub fn reason(self) -> &'static str {
        match self {
            Bad::TransferEncoding => "bad-transfer-encoding",
            Bad::ContentLength => "bad-content-length",
            Bad::HostMissing => "host-missing",
            Bad::HostRepeated => "host-repeated",
            Bad::HostInvalid => "host-invalid",
            Bad::AuthorityMismatch => "authority-mismatch",
            Bad::Userinfo => "userinfo-in-target",
            Bad::Target => "bad-target",
            Bad::Connect => "connect-not-allowed",
            Bad::Trace => "trace-not-allowed",
            Bad::MethodCase => "method-case",
            Bad::Expect => "unknown-expectation",
            Bad::Underscore => "underscore-in-header-name",
            Bad::Alias => "header-name-alias",
            Bad::ConnectionHeader => "connection-header",
            Bad::Version => "bad-version",
        }
    }

    /// One sentence for people.
    pub fn detail(self) -> &'static str {
        match self {
            Bad::TransferEncoding => {
                "Transfer-Encoding must be one line that says `chunked`, on HTTP/1.1 only."
            }
            Bad::ContentLength => "Content-Length must be one decimal number.",
            Bad::HostMissing => "The request does not say which host it is for.",
            Bad::HostRepeated => "The request has more than one Host header.",
            Bad::HostInvalid => "The host is not a name or an address with an optional port.",
            Bad::AuthorityMismatch => {
                "The request target and the Host header name different hosts."
            }
            Bad::Userinfo => "The request target must not hold a user name.",
            Bad::Target => "The request target must be a path, or an http or https URL.",
            Bad::Connect => "CONNECT is not offered here.",
            Bad::Trace => "TRACE is not offered here.",
            Bad::MethodCase => "Methods are written in capitals.",
            Bad::Expect => "The only expectation that can be met is `100-continue`.",
            Bad::Underscore => "Header names must not contain an underscore; use `-`.",
            Bad::Alias => "A header name may be read as another one; use letters, digits and `-`.",
            Bad::ConnectionHeader => "HTTP/2 requests must not carry headers about the connection.",
            Bad::Version => "Only HTTP/1.0, HTTP/1.1 and HTTP/2 are spoken here.",
        }
    }
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.detail())
    }
}

impl std::error::Error for Bad {}
