use std::sync::Arc;

use futures_util::FutureExt;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::tls::{CertificateFiles, Tls, TlsFacts, TlsFiles, shake_hands};

type Ends = (
    TlsStream<DuplexStream>,
    Box<Session<DuplexStream>>,
    TlsFacts,
);

/// Certificates, and a client that trusts them.
fn sides(version: &'static SupportedProtocolVersion) -> (Tls, TlsConnector) {
    let directory = tempfile::tempdir().unwrap();
    let issued = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]).unwrap();
    let path = |name: &str| directory.path().join(name);
    let (chain, key) = (path("a.pem"), path("a.key"));
    std::fs::write(&chain, issued.cert.pem()).unwrap();
    std::fs::write(&key, issued.signing_key.serialize_pem()).unwrap();
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_file(&chain).unwrap();
    roots.add(root).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let files = TlsFiles {
        certificates: vec![CertificateFiles { chain, key }],
        ..TlsFiles::default()
    };
    let server = Tls::load(&files).unwrap();
    (server, TlsConnector::from(Arc::new(client)))
}

/// Both ends of a session, over a pipe that holds so many bytes.
async fn agreed(version: &'static SupportedProtocolVersion, pipe: usize) -> Ends {
    let (tls, connector) = sides(version);
    let (here, there) = duplex(pipe);
    let turns = Semaphore::new(1);
    let name = ServerName::try_from("a.test").unwrap();
    let server = async {
        let (mut session, facts) = shake_hands(here, &tls, &turns).await.unwrap();
        if facts.version == "TLSv1.2" {
            // The client waits for the last word. That of TLS 1.3 is its own, and it does not wait for tickets.
            session.flush().await.unwrap();
        }
        (session, facts)
    };
    let (client, (session, facts)) = tokio::join!(connector.connect(name, there), server);
    (client.unwrap(), session, facts)
}

// attack: C-13
#[tokio::test]
async fn nothing_is_worked_out_without_a_turn_and_none_is_kept_from_others_by_who_is_waited_for() {
    let (tls, connector) = sides(&TLS13);
    let (here, there) = duplex(64 << 10);
    let name = ServerName::try_from("a.test").unwrap();
    let turns = Semaphore::new(1);
    let mut client = Box::pin(connector.connect(name, there));
    let mut server = Box::pin(shake_hands(here, &tls, &turns));
    let held = turns.acquire().await.unwrap();
    for _ in 0..10 {
        assert!(client.as_mut().now_or_never().is_none());
        assert!(server.as_mut().now_or_never().is_none());
    }
    drop(held);
    assert!(
        server.as_mut().now_or_never().is_none(),
        "it has said hello"
    );
    assert_eq!(turns.available_permits(), 1);
    let (client, server) = tokio::join!(client, server);
    assert!(client.is_ok() && server.is_ok());
}

fn is_bare(session: &Session<DuplexStream>) -> bool {
    let ducts = [&session.duct.incoming, &session.duct.outgoing];
    ducts.iter().all(|duct| duct.capacity() == 0) && session.plain.capacity() == 0
}

/// The lengths of the records in some bytes.
fn records(mut bytes: &[u8]) -> Vec<usize> {
    let mut lengths = Vec::new();
    while let [_, _, _, high, low, rest @ ..] = bytes {
        let length = usize::from(*high) << 8 | usize::from(*low);
        lengths.push(length);
        bytes = &rest[length..];
    }
    lengths
}

// req: GW-01
#[tokio::test]
async fn everything_that_is_said_is_heard_whatever_the_pieces() {
    let words: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
    for (version, said) in [(&TLS13, "TLSv1.3"), (&TLS12, "TLSv1.2")] {
        for pipe in [37, 5_000, 1 << 20] {
            let (client, mut session, facts) = agreed(version, pipe).await;
            assert_eq!((facts.version, facts.resumed), (said, false));
            assert_eq!(facts.server_name.as_deref(), Some("a.test"));
            let echo = async {
                let mut heard = Vec::new();
                session.read_to_end(&mut heard).await.unwrap();
                session.write_all(&heard).await.unwrap();
                session.shutdown().await.unwrap();
                heard
            };
            let (mut hears, mut says) = tokio::io::split(client);
            let mut back = Vec::new();
            let ask = async {
                says.write_all(&words).await.unwrap();
                says.shutdown().await.unwrap();
                hears.read_to_end(&mut back).await.unwrap();
            };
            let (heard, ()) = tokio::join!(echo, ask);
            assert!(heard == words && back == words, "{said} through {pipe}");
        }
    }
}

// req: GW-03
#[tokio::test]
async fn a_session_at_rest_keeps_no_buffer() {
    let (mut client, mut session, _) = agreed(&TLS13, 1 << 20).await;
    for length in [1, 100, 50_000] {
        client.write_all(&vec![7; length]).await.unwrap();
        client.flush().await.unwrap();
        let mut heard = vec![0; length];
        session.read_exact(&mut heard).await.unwrap();
        session.write_all(&heard).await.unwrap();
        session.flush().await.unwrap();
        client.read_exact(&mut heard).await.unwrap();
        let waits = has_nothing(&mut session).await;
        assert!(waits && is_bare(&session), "after {length}");
    }
}

/// Whether there is nothing to read.
async fn has_nothing(session: &mut Session<DuplexStream>) -> bool {
    std::future::poll_fn(|cx| {
        let mut byte = [0];
        let polled = Pin::new(&mut *session).poll_read(cx, &mut ReadBuf::new(&mut byte));
        Poll::Ready(polled.is_pending())
    })
    .await
}

#[tokio::test]
async fn an_end_is_one_only_if_the_peer_says_so() {
    let (mut client, mut session, _) = agreed(&TLS13, 1 << 20).await;
    client.shutdown().await.unwrap();
    assert_eq!(session.read(&mut [0; 9]).await.unwrap(), 0);
    assert_eq!(session.read(&mut [0; 9]).await.unwrap(), 0);
    // The other direction is open.
    session.write_all(b"still").await.unwrap();
    let (client, mut session, _) = agreed(&TLS13, 1 << 20).await;
    drop(client.into_inner());
    let error = session.read(&mut [0; 9]).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn what_was_tampered_with_is_not_read_and_the_peer_is_told() {
    let forged = [&[23, 3, 3, 0, 40][..], &[0; 40]].concat();
    let endless = vec![23, 3, 3, 255, 255];
    let unknown = vec![99, 3, 3, 0, 1, 0];
    for bytes in [forged, endless, unknown] {
        let (client, mut session, _) = agreed(&TLS13, 1 << 20).await;
        let (mut raw, _) = client.into_inner();
        raw.write_all(&bytes).await.unwrap();
        let error = session.read(&mut [0; 9]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        // Once: it is not looked at again, whoever asks.
        let again = session.read(&mut [0; 9]).await.unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::InvalidData);
        session.write(b"why").await.unwrap_err();
        drop(session);
        let mut told = Vec::new();
        raw.read_to_end(&mut told).await.unwrap();
        // Two bytes, their kind, their seal; tickets are longer.
        let alerts = records(&told)
            .into_iter()
            .filter(|length| *length == 2 + 1 + 16);
        assert_eq!(alerts.count(), 1);
    }
}

#[tokio::test]
async fn nothing_is_said_after_the_end() {
    let (_client, mut session, _) = agreed(&TLS13, 1 << 20).await;
    session.shutdown().await.unwrap();
    let error = session.write(b"late").await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    session.shutdown().await.unwrap();
}

#[tokio::test]
async fn keys_change_in_the_middle() {
    let (mut client, mut session, _) = agreed(&TLS13, 1 << 20).await;
    for _ in 0..3 {
        client.get_mut().1.refresh_traffic_keys().unwrap();
        client.write_all(b"anew").await.unwrap();
        let mut heard = [0; 4];
        session.read_exact(&mut heard).await.unwrap();
        session.write_all(&heard).await.unwrap();
        client.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"anew");
    }
}

#[tokio::test]
async fn small_pieces_share_a_record_and_large_ones_are_not_copied_together() {
    let (_client, mut session, _) = agreed(&TLS13, 1 << 20).await;
    let (small, large) = ([1; 100], vec![2; 40_000]);
    let piece = IoSlice::new;
    let pieces = [piece(&small), piece(&small), piece(&large), piece(&small)];
    assert_eq!(session.say(&pieces).unwrap(), 40_300);
    let lengths = records(&session.duct.outgoing);
    let full = RECORD + 1 + 16;
    assert_eq!(lengths, [217, full, full, 40_000 - 2 * RECORD + 17, 117]);
    // No more is taken than may wait.
    session.duct.outgoing.clear();
    let much = vec![3; 3 * TAKEN];
    assert_eq!(session.say(&[piece(&much)]).unwrap(), TAKEN);
}
