use super::*;

#[test]
fn what_is_remembered_ends_with_the_credential() {
    let verifier = verifier();
    let (key, token, passport) = (key(9), token(LATER), passport("acme", 1));
    let cases = [
        (Credential::ApiKey(key.text()), LATER),
        (Credential::Bearer(&passport), LATER),
        (Credential::Bearer(&token), LATER.plus(60)),
    ];
    for (credential, end) in cases {
        let last = UnixSeconds(end.0 - 1);
        verifier.verify(credential, last).unwrap();
        assert!(verifier.cached(credential, last).unwrap().is_ok());
        assert_eq!(verifier.cached(credential, end), Some(Err(Denied::Expired)));
        assert_eq!(verifier.verify(credential, end), Err(Denied::Expired));
        assert_eq!(verifier.cached(credential, end), Some(Err(Denied::Expired)));
    }
}

// attack: H-05
#[test]
fn a_clock_that_is_set_does_not_make_answers_last() {
    let verifier = verifier();
    let (good, bad) = (key(1), key(200));
    let (good, bad) = (
        Credential::ApiKey(good.text()),
        Credential::ApiKey(bad.text()),
    );
    verifier.verify(good, NOW).unwrap();
    verifier.verify(bad, NOW).unwrap_err();
    let hour_ago = UnixSeconds(NOW.0 - 3_600);
    assert_eq!(verifier.cached(good, hour_ago), None);
    assert_eq!(verifier.cached(bad, hour_ago), None);
    assert!(verifier.cached(good, after(299)).is_some());
    assert_eq!(verifier.cached(good, after(300)), None);
    assert!(verifier.cached(bad, after(9)).is_some());
    assert_eq!(verifier.cached(bad, after(10)), None);
}

// req: GW-12
#[test]
fn a_token_is_asked_again_when_keys_of_its_issuer_are_gone() {
    let verifier = verifier();
    let token = token(LATER);
    let credential = Credential::Bearer(&token);
    let key = key(1);
    verifier.verify(credential, NOW).unwrap();
    verifier
        .verify(Credential::ApiKey(key.text()), NOW)
        .unwrap();
    verifier.set_keys(IssuerId(0), Arc::new(FORGE.key_set()));
    assert!(
        verifier.cached(credential, NOW).is_some(),
        "the same keys again"
    );
    let other = key_set(&[OTHER.jwk("P-256", "P-256")]).unwrap();
    verifier.set_keys(IssuerId(0), Arc::new(other));
    assert_eq!(verifier.cached(credential, NOW), None);
    assert_eq!(verifier.verify(credential, NOW), Err(Denied::Signature));
    assert!(
        verifier
            .cached(Credential::ApiKey(key.text()), NOW)
            .is_some()
    );
    assert_eq!(verifier.issuers().collect::<Vec<_>>(), [(IssuerId(0), ISS)]);
}

// req: GW-12
#[test]
fn a_refusal_ends_with_the_keys_it_was_made_by() {
    let verifier = verifier();
    let claims = json!({"iss": ISS, "sub": "acme", "exp": LATER.0});
    let token = OTHER.good_token(Algorithm::Es256, &claims);
    let credential = Credential::Bearer(&token);
    let refused = Err(Denied::Signature);
    assert_eq!(verifier.verify(credential, NOW), refused);
    verifier.set_keys(IssuerId(0), Arc::new(FORGE.key_set()));
    assert_eq!(verifier.cached(credential, NOW), Some(refused), "the same");
    // Another key of the same name, and one more key.
    for keys in [
        vec![OTHER.jwk("P-256", "P-256")],
        vec![OTHER.jwk("P-256", "P-256"), FORGE.jwk("RSA", "RSA")],
    ] {
        verifier.set_keys(IssuerId(0), Arc::new(key_set(&keys).unwrap()));
        let unknown = Credential::ApiKey("mk_unknown");
        assert_eq!(verifier.cached(unknown, NOW), None);
        verifier.verify(unknown, NOW).unwrap_err();
        assert!(verifier.verify(credential, NOW).is_ok());
    }
}

// req: GW-12
#[test]
fn other_settings_know_who_was_good_and_believe_nobody() {
    let verifier = verifier();
    let (token, passport) = (token(LATER), passport("acme", 1));
    let (stays, goes, bad) = (key(1), key(2), key(200));
    let good = [
        Credential::ApiKey(stays.text()),
        Credential::ApiKey(goes.text()),
        Credential::Bearer(&token),
        Credential::Bearer(&passport),
    ];
    let bad = Credential::ApiKey(bad.text());
    for credential in good {
        assert!(!verifier.was_good(credential), "{credential:?}");
        verifier.verify(credential, NOW).unwrap();
    }
    verifier.verify(bad, NOW).unwrap_err();

    let mut other = settings();
    other.api_keys.remove(1);
    let renewed = verifier.renewed(other, &seed()).unwrap();
    for credential in good {
        assert!(renewed.was_good(credential), "{credential:?}");
        assert_eq!(renewed.cached(credential, NOW), None, "{credential:?}");
    }
    assert_eq!(renewed.cached(bad, NOW), None);
    assert!(!renewed.was_good(bad));
    // Until its keys are there, nothing is said of a token.
    let waits = Err(Denied::KeysUnavailable(IssuerId(0)));
    assert_eq!(renewed.verify(good[2], NOW), waits);
    renewed.set_keys(IssuerId(0), verifier.keys(IssuerId(0)).unwrap());
    for (credential, is_good) in good.into_iter().zip([true, false, true, true]) {
        assert!(renewed.was_good(credential), "{credential:?}");
        assert_eq!(renewed.verify(credential, NOW).is_ok(), is_good);
        assert_eq!(renewed.was_good(credential), is_good, "{credential:?}");
    }
    // Nor does the one before believe the next.
    assert_eq!(verifier.cached(good[0], NOW), None);
    assert!(verifier.verify(good[1], NOW).is_ok());
    // Whoever's key is gone is verified once more at nobody's expense.
    renewed.set_keys(
        IssuerId(0),
        Arc::new(key_set(&[OTHER.jwk("new", "RSA")]).unwrap()),
    );
    assert!(renewed.was_good(good[2]));
    renewed.verify(good[2], NOW).unwrap_err();
    assert!(!renewed.was_good(good[2]), "once");
}

#[test]
fn an_unknown_key_is_not_held_against_a_token() {
    let verifier = verifier();
    let token = OTHER.token(
        Algorithm::EdDsa,
        json!({"alg": "EdDSA", "kid": "new"}),
        &json!({"iss": ISS, "sub": "acme", "exp": LATER.0}),
    );
    let credential = Credential::Bearer(&token);
    assert_eq!(
        verifier.verify(credential, NOW),
        Err(Denied::UnknownKey(IssuerId(0)))
    );
    assert_eq!(verifier.cached(credential, NOW), None);
    let keys = key_set(&[OTHER.jwk("new", "Ed25519")]).unwrap();
    verifier.set_keys(IssuerId(0), Arc::new(keys));
    assert!(verifier.verify(credential, NOW).is_ok());
    assert_eq!(verifier.keys(IssuerId(0)).unwrap().len(), 1);
}
