//! What a handshake agrees on.

/// What is known of a connection's TLS session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// The name the client asked for, in lower case.
    pub server_name: Option<String>,
    /// The key exchange that was agreed on.
    pub group: &'static str,
    /// The protocol version.
    pub version: &'static str,
    /// Whom the client's certificate is for, if it showed one that we trust.
    pub client: Option<ClientCertificate>,
}

/// Whom a client's certificate is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The subject, as in `CN=billing,O=Example`.
    pub subject: String,
    /// DNS names.
    pub dns_names: Vec<String>,
    /// URIs, as those of SPIFFE.
    pub uris: Vec<String>,
}
