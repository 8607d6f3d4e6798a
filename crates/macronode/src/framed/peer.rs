//! Whom to ask, and what.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Uri};
use oap::app_proto;
use oap::bridge::{REQUEST, RequestHead};
use oap::client::{Ask, Client, Settings, Tcp, Tls};
use oap::{Hello, Meta};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use super::Trouble;
use crate::cli::{AskArgs, PeerArgs};

/// A client of this node.
pub(super) fn dial(args: &PeerArgs) -> Result<Client, Trouble> {
    let settings = Settings {
        hello: Hello {
            max_inflight: 1_024,
            ..Hello::full(concat!("macronode-cli/", env!("CARGO_PKG_VERSION")))
        },
        identity: Meta {
            token: args.token.clone().map(Bytes::from),
            ..Meta::default()
        },
        timeout: Duration::from_millis(args.within_ms),
        ..Settings::default()
    };
    let address = args.address.clone();
    Ok(match &args.ca {
        None => Client::new(Tcp(address), settings),
        Some(ca) => {
            let host = address.rsplit_once(':').map(|(host, _)| host);
            let host = host.unwrap_or_default().trim_matches(['[', ']']);
            let name = args.name.as_deref().unwrap_or(host).to_owned();
            let name = ServerName::try_from(name).map_err(usage)?;
            let config = Arc::new(trusting(ca)?);
            let tls = Tls {
                address,
                name,
                config,
            };
            Client::new(tls, settings)
        }
    })
}

fn usage(error: impl std::fmt::Display) -> Trouble {
    Trouble::Usage(error.to_string())
}

fn trusting(ca: &std::path::Path) -> Result<ClientConfig, Trouble> {
    let mut roots = RootCertStore::empty();
    let unreadable =
        |error: rustls::pki_types::pem::Error| Trouble::Usage(format!("{}: {error}", ca.display()));
    for certificate in CertificateDer::pem_file_iter(ca).map_err(unreadable)? {
        roots.add(certificate.map_err(unreadable)?).map_err(usage)?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = config
        .map_err(usage)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"oap/1".to_vec()];
    Ok(config)
}

/// A request, but for what is sent along.
pub(super) struct Question {
    pub(super) ask: Ask,
    /// What stands before the payload.
    head: Bytes,
    /// Whether its answer has a head, too.
    pub(super) bridged: bool,
}

impl Question {
    pub(super) fn of(args: &AskArgs) -> Result<Self, Trouble> {
        let (app_proto, opcode) = match args.url {
            Some(_) => (app_proto::HTTP, REQUEST),
            None => (args.app_proto, args.opcode),
        };
        let head = args.url.as_ref().map(|url| head(url, args)).transpose()?;
        Ok(Self {
            ask: Ask {
                app_proto,
                opcode,
                tenant: args.tenant.as_deref().map_or(0, oap::tenant_id),
                compress: args.compress,
                ..Ask::default()
            },
            bridged: head.is_some(),
            head: head.unwrap_or_default(),
        })
    }

    /// With what is sent along.
    pub(super) fn with(&self, payload: &[u8]) -> Bytes {
        [&self.head, payload].concat().into()
    }
}

fn head(url: &str, args: &AskArgs) -> Result<Bytes, Trouble> {
    let parts = url.parse::<Uri>().map_err(usage)?.into_parts();
    let authority = parts
        .authority
        .ok_or_else(|| usage("the URL names no host"))?;
    let mut headers = HeaderMap::new();
    for header in &args.headers {
        let (name, value) = header
            .split_once(':')
            .ok_or_else(|| usage("write `name: value`"))?;
        let name: HeaderName = name.trim().parse().map_err(usage)?;
        let value: HeaderValue = value.trim().parse().map_err(usage)?;
        headers.append(name, value);
    }
    let head = RequestHead {
        method: args.method.parse::<Method>().map_err(usage)?,
        target: parts
            .path_and_query
            .unwrap_or(PathAndQuery::from_static("/")),
        authority,
        headers,
    };
    let mut out = BytesMut::new();
    head.put(&mut out).map_err(usage)?;
    Ok(out.freeze())
}
