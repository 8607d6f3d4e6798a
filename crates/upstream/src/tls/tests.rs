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
