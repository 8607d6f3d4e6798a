use super::*;

fn made() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["origin.example".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

#[test]
fn texts_that_are_no_tls_are_told_why() {
    let (certificate, key) = made();
    let (_, other_key) = made();
    let roots = certificate.as_bytes();
    let good = TlsText {
        roots,
        certificates: Some(roots),
        key: Some(key.as_bytes()),
        server_name: Some("origin.example"),
    };
    assert!(ClientTls::new(good).is_ok());
    let why = |text: TlsText<'_>| ClientTls::new(text).unwrap_err();
    let no_roots = TlsText {
        roots: b"none",
        ..good
    };
    assert!(matches!(why(no_roots), TlsError::Roots));
    let half = TlsText { key: None, ..good };
    assert!(matches!(why(half), TlsError::Identity));
    let another = TlsText {
        key: Some(other_key.as_bytes()),
        ..good
    };
    assert!(matches!(why(another), TlsError::Unfit(_)));
    let nameless = TlsText {
        server_name: Some("not a name"),
        ..good
    };
    assert!(matches!(why(nameless), TlsError::Name));
}

#[test]
fn what_is_made_from_the_same_text_is_the_same() {
    let (one, _) = made();
    let (two, _) = made();
    let of = |roots: &str| {
        ClientTls::new(TlsText {
            roots: roots.as_bytes(),
            ..TlsText::default()
        })
        .unwrap()
    };
    assert_eq!(of(&one), of(&one));
    assert_ne!(of(&one), of(&two));
}

// The key must not be in what is logged.
#[test]
fn nothing_secret_is_printed() {
    let (certificate, key) = made();
    let tls = ClientTls::new(TlsText {
        roots: certificate.as_bytes(),
        certificates: Some(certificate.as_bytes()),
        key: Some(key.as_bytes()),
        server_name: None,
    });
    let printed = format!("{:?}", tls.unwrap());
    assert_eq!(printed, "ClientTls { name: None, .. }");
}

// req: ND-06
#[test]
fn an_origin_that_can_is_agreed_with_on_a_hybrid_key_and_another_as_before() {
    use rustls::NamedGroup;
    use rustls::crypto::aws_lc_rs::kx_group::{SECP256R1, X25519, X25519MLKEM768};

    let modern = aws_lc_rs::default_provider().kx_groups;
    assert_eq!(agreed(modern), NamedGroup::X25519MLKEM768);
    assert_eq!(agreed(vec![X25519MLKEM768]), NamedGroup::X25519MLKEM768);
    assert_eq!(agreed(vec![X25519]), NamedGroup::X25519);
    assert_eq!(agreed(vec![SECP256R1]), NamedGroup::secp256r1);
}

/// What is agreed on with an origin that knows these groups.
fn agreed(groups: Vec<&'static dyn rustls::crypto::SupportedKxGroup>) -> rustls::NamedGroup {
    let (certificate, key) = made();
    let (chain, key) = identity(certificate.as_bytes(), key.as_bytes()).unwrap();
    let provider = rustls::crypto::CryptoProvider {
        kx_groups: groups,
        ..aws_lc_rs::default_provider()
    };
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let tls = ClientTls::new(TlsText {
        roots: certificate.as_bytes(),
        ..TlsText::default()
    });
    let tls = tls.unwrap();
    let name = tls.name_for("origin.example").unwrap();
    let mut ours = rustls::ClientConnection::new(tls.config(Protocol::Http1), name).unwrap();
    let mut theirs = rustls::ServerConnection::new(Arc::new(config)).unwrap();
    while ours.is_handshaking() || theirs.is_handshaking() {
        let mut said = Vec::new();
        ours.write_tls(&mut said).unwrap();
        theirs.read_tls(&mut &said[..]).unwrap();
        theirs.process_new_packets().unwrap();
        let mut said = Vec::new();
        theirs.write_tls(&mut said).unwrap();
        ours.read_tls(&mut &said[..]).unwrap();
        ours.process_new_packets().unwrap();
    }
    ours.negotiated_key_exchange_group().unwrap().name()
}
