//! TLS of a door: certificates by name, post-quantum key exchange, optional client certificates, and what a handshake
//! agreed on.

use std::fmt;
use std::sync::Arc;

use rustls::server::ClientHello;
use rustls::server::danger::ClientCertVerifier;
use rustls::{
    CipherSuite, CommonState, Error, HandshakeKind, NamedGroup, ProtocolVersion, ServerConfig,
};

pub(crate) use handshake::shake_hands;
pub use load::{CertificateFiles, ClientCertificates, KeyExchange, TlsError, TlsFiles};
pub(crate) use refusal::{REASONS, reason};
pub use session::Session;
pub use subject::ClientCertificate;

mod duct;
mod handshake;
mod hello;
mod load;
mod names;
mod refusal;
mod secret;
mod session;
mod subject;

/// The exchange that stands as long as either of its two halves does.
const HYBRID: NamedGroup = NamedGroup::X25519MLKEM768;

const TLS13_SUITES: [CipherSuite; 3] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS13_AES_256_GCM_SHA384,
    CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
];

/// Certificates and keys, ready for handshakes. A new one is made from the files for each reload; its tickets are its
/// own, so that no session outlives the certificates it began with.
#[derive(Clone)]
pub struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    /// For clients that can agree on a key as it should be: the order of their wishes does not count then.
    hybrid: Option<Arc<ServerConfig>>,
    clients: Arc<dyn ClientCertVerifier>,
    names: Vec<String>,
    /// Who may vouch for clients, as a number that is another for others; 0 for nobody.
    pub(crate) vouchers: u64,
}

impl Tls {
    /// Reads the files and checks that they belong together. Blocks on the disk.
    pub fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        load::load(files)
    }

    /// The same certificates for clients that speak `protocol`, by ALPN or without it.
    pub fn speaking(&self, protocol: &str) -> Self {
        let speaks = |config: &Arc<ServerConfig>| {
            let mut config = ServerConfig::clone(config);
            config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
            Arc::new(config)
        };
        Self {
            config: speaks(&self.config),
            hybrid: self.hybrid.as_ref().map(speaks),
            clients: self.clients.clone(),
            names: self.names.clone(),
            vouchers: self.vouchers,
        }
    }

    /// What to answer this hello with. A client that knows the hybrid exchange but sent no share for it, or would
    /// rather have another, is asked for one.
    pub(crate) fn config_for(&self, hello: &ClientHello<'_>) -> Arc<ServerConfig> {
        let knows = hello
            .named_groups()
            .is_some_and(|groups| groups.contains(&HYBRID));
        // Without TLS 1.3 there is no hybrid exchange, whatever the hello lists.
        let suites = hello.cipher_suites().iter();
        let modern = || suites.clone().any(|suite| TLS13_SUITES.contains(suite));
        match &self.hybrid {
            Some(hybrid) if knows && modern() => hybrid.clone(),
            _ => self.config.clone(),
        }
    }

    /// Verifies the certificate that a session began with when it is taken up again: each time it gets new tickets, so
    /// that it could outlive the certificate by any time.
    fn verify_again(&self, session: &CommonState) -> Result<(), Error> {
        let Some([certificate, others @ ..]) = session.peer_certificates() else {
            return Ok(());
        };
        let now = self.config.time_provider.current_time();
        let now = now.ok_or(Error::FailedToGetCurrentTime)?;
        let verified = self.clients.verify_client_cert(certificate, others, now);
        verified.map(drop)
    }

    /// The names there are certificates for, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// What is known of a connection's TLS session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// The name the client asked for, in lower case.
    pub server_name: Option<String>,
    /// The key exchange that was agreed on.
    pub group: &'static str,
    /// The protocol version.
    pub version: &'static str,
    /// Whether an earlier session was taken up again.
    pub resumed: bool,
    /// Whom the client's certificate is for, if it showed one that we trust.
    pub client: Option<ClientCertificate>,
}

impl TlsFacts {
    /// Of what was agreed on with a client that asked for this name.
    pub(crate) fn new(session: &CommonState, server_name: Option<String>) -> Self {
        let certificate = session.peer_certificates().and_then(<[_]>::first);
        let group = session.negotiated_key_exchange_group();
        Self {
            server_name,
            group: group_name(group.map(|group| group.name())),
            version: version_name(session.protocol_version()),
            resumed: is_resumed(session),
            client: certificate.and_then(ClientCertificate::read),
        }
    }
}

/// Known as soon as the hello is answered.
fn is_resumed(session: &CommonState) -> bool {
    session.handshake_kind() == Some(HandshakeKind::Resumed)
}

/// Every group a metric may name.
pub(crate) const GROUPS: [&str; 5] = [
    "X25519MLKEM768",
    "X25519",
    "secp256r1",
    "secp384r1",
    "other",
];

fn group_name(group: Option<NamedGroup>) -> &'static str {
    match group {
        Some(HYBRID) => GROUPS[0],
        Some(NamedGroup::X25519) => GROUPS[1],
        Some(NamedGroup::secp256r1) => GROUPS[2],
        Some(NamedGroup::secp384r1) => GROUPS[3],
        // A session of TLS 1.2 that was taken up again exchanged no key.
        _ => GROUPS[4],
    }
}

fn version_name(version: Option<ProtocolVersion>) -> &'static str {
    match version {
        Some(ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "TLSv1.2",
    }
}
