//! The client over TLS.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test plays the outside world: its servers are tasks of their own, and a surprise ends it"
)]

#[expect(dead_code, reason = "the server can do more than is asked of it here")]
#[path = "client/server.rs"]
mod server;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use oap::client::{Ask, Client, Failure, Settings, Tls};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use server::{ECHO, SPACE, Seen};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

/// A server with a certificate for `node.test`, and a client that trusts it.
async fn pair(name: &'static str) -> Client {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["node.test".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut theirs = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    theirs.alpn_protocols = vec![b"oap/1".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let acceptor = TlsAcceptor::from(Arc::new(theirs));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                tokio::spawn(server::serve(stream, Arc::new(Seen::default())));
            }
        }
    });
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let mut ours = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    ours.alpn_protocols = vec![b"oap/1".to_vec()];
    let dial = Tls {
        address,
        name: ServerName::try_from(name).unwrap(),
        config: Arc::new(ours),
    };
    Client::new(dial, Settings::default())
}

fn ask(timeout: Duration) -> Ask {
    Ask {
        app_proto: SPACE,
        opcode: ECHO,
        timeout: Some(timeout),
        ..Ask::default()
    }
}

// req: TR-07, TR-08
#[tokio::test]
async fn calls_go_over_tls_as_over_tcp() {
    let client = pair("node.test").await;
    let (ask, payload) = (ask(Duration::from_secs(30)), Bytes::from(vec![7; 300_000]));
    for _ in 0..3 {
        let answer = client.call(&ask, payload.clone()).await.unwrap();
        assert_eq!(answer.collect(1 << 20).await.unwrap(), payload);
    }
    client.shutdown().await;
}

// req: TR-07
#[tokio::test]
async fn a_certificate_for_somebody_else_is_no_connection() {
    let client = pair("other.test").await;
    let failure = client
        .call(&ask(Duration::from_secs(6)), Bytes::new())
        .await;
    let Err(Failure::Unreachable(why)) = failure else {
        panic!("nobody answers for it");
    };
    assert!(why.contains("certificate"), "{why}");
}
