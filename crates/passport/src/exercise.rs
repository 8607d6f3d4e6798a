//! What must hold for any token or key set: the body of the fuzz target, also run over its corpus by the tests.

use std::sync::{Arc, LazyLock};

use passport::{
    Audience, Caveat, Credential, Issuer, IssuerId, KeySet, Offered, Passport, Root, RootKey, Seed,
    Settings, UnixSeconds, Verifier, credential_of,
};

const NOW: UnixSeconds = UnixSeconds(1_300_000_000);

/// The keys of RFC 7515, A.3, and RFC 8037, A.2, whose examples are in the corpus.
const KEYS: &str = r#"{"keys": [
    {"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
     "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
    {"kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
]}"#;

static VERIFIER: LazyLock<Verifier> = LazyLock::new(|| {
    let mut issuer = Issuer::new("joe", Audience::Anybody, "plain");
    issuer.tenant_claim = "iss".to_owned();
    let secret: [u8; 32] = std::array::from_fn(|at| at as u8);
    let settings = Settings {
        classes: vec!["plain".to_owned(), "gold".to_owned()],
        issuers: vec![issuer],
        roots: vec![Root {
            key: RootKey::new("k1", &secret).expect("a good id"),
            class: "plain".to_owned(),
        }],
        ..Settings::default()
    };
    let verifier = Verifier::new(settings, &Seed::from_bytes([1; 32])).expect("good settings");
    let keys = KeySet::parse(KEYS.as_bytes()).expect("good keys");
    verifier.set_keys(IssuerId(0), Arc::new(keys));
    verifier
});

/// Puts input to every reader of tokens; whether it was a token that verified.
pub fn exercise(data: &[u8]) -> bool {
    if let Ok(keys) = KeySet::parse(data) {
        assert!(!keys.is_empty());
    }
    let offered = Offered {
        authorization: [data],
        api_key: [],
        trusted_header: [],
        certificate: None,
    };
    let Ok(credential) = credential_of(offered, |kind| VERIFIER.accepts(kind)) else {
        return false;
    };
    if let Credential::Bearer(text) = credential
        && let Ok(passport) = Passport::inspect(text)
    {
        readable(text, &passport);
    }
    let answer = VERIFIER.verify(credential, NOW);
    assert_eq!(VERIFIER.verify(credential, NOW), answer, "the same twice");
    if let Some(remembered) = VERIFIER.cached(credential, NOW) {
        assert_eq!(remembered, answer, "remembered as it was");
    }
    answer.is_ok()
}

fn readable(text: &str, passport: &Passport) {
    assert_eq!(*passport.to_text(), *text, "one text per passport");
    let Ok(narrower) = passport.attenuate(&Caveat::Until(UnixSeconds(NOW.0 + 1))) else {
        return;
    };
    let verifies = |passport: &Passport| {
        VERIFIER
            .verify(Credential::Bearer(&passport.to_text()), NOW)
            .is_ok()
    };
    assert!(
        verifies(passport) || !verifies(&narrower),
        "nothing revives it"
    );
}
