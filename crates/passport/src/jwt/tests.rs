use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::forge::{FORGE, OTHER, coded, key_set};
use crate::keys::Algorithm;
use crate::settings::Audience;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const ISS: &str = "https://issuer.example";

fn issuer() -> Issuer {
    let ours = Audience::OneOf(vec!["gateway".to_owned(), "other-door".to_owned()]);
    Issuer::new(ISS, ours, "plain")
}

fn with(issuer: Issuer) -> Authorities {
    let classes = vec![
        ("gold-plan".to_owned(), Class(2)),
        ("silver-plan".to_owned(), Class(1)),
    ];
    let authority = Authority::new(issuer, Class(0), classes);
    authority.set_keys(Arc::new(FORGE.key_set()));
    let mut authorities = Authorities::default();
    authorities.add(authority);
    authorities
}

fn claims() -> Value {
    json!({"iss": ISS, "aud": "gateway", "sub": "acme", "exp": NOW.0 + 600})
}

fn claims_with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn answer(claims: &Value) -> Result<Verified, Denied> {
    with(issuer()).verify(&FORGE.good_token(Algorithm::EdDsa, claims), NOW)
}

fn header_answer(header: Value) -> Result<Verified, Denied> {
    with(issuer()).verify(&FORGE.token(Algorithm::EdDsa, header, &claims()), NOW)
}

// req: GW-12
#[test]
fn a_token_of_every_algorithm_verifies() {
    let authorities = with(issuer());
    for algorithm in Algorithm::ALL {
        let verified = authorities
            .verify(&FORGE.good_token(algorithm, &claims()), NOW)
            .unwrap();
        assert_eq!(verified.tenant, "acme", "{algorithm:?}");
        assert_eq!(verified.until, UnixSeconds(NOW.0 + 660));
        let theirs = OTHER.good_token(algorithm, &claims());
        assert_eq!(
            authorities.verify(&theirs, NOW),
            Err(Denied::Signature),
            "{algorithm:?}"
        );
    }
}

// req: GW-12
#[test]
fn no_header_makes_a_key_do_what_it_is_not_for() {
    let authorities = with(issuer());
    let signed = |alg: &str, kid: &str, algorithm: Algorithm| {
        let token = FORGE.token(algorithm, json!({"alg": alg, "kid": kid}), &claims());
        authorities.verify(&token, NOW).map(|_| ())
    };
    for alg in [
        "none", "None", "NONE", "", "HS256", "HS384", "HS512", "rs256", "ES512", "ES256K",
        "RSA1_5", "dir",
    ] {
        assert_eq!(
            signed(alg, "RSA", Algorithm::Rs256),
            Err(Denied::Algorithm),
            "{alg}"
        );
    }
    assert_eq!(
        signed("PS256", "RSA", Algorithm::Rs256),
        Err(Denied::Signature)
    );
    assert_eq!(
        signed("RS512", "RSA", Algorithm::Rs256),
        Err(Denied::Signature)
    );
    assert_eq!(
        signed("ES256", "RSA", Algorithm::Es256),
        Err(Denied::Algorithm)
    );
    assert_eq!(
        signed("ES256", "P-384", Algorithm::Es256),
        Err(Denied::Algorithm)
    );
    assert_eq!(
        signed("EdDSA", "P-256", Algorithm::EdDsa),
        Err(Denied::Algorithm)
    );
}

// req: GW-12
#[test]
fn the_public_key_is_no_shared_secret() {
    use aws_lc_rs::hmac;
    let header = coded(json!({"alg": "HS256", "kid": "RSA"}).to_string());
    let signed = format!("{header}.{}", coded(claims().to_string()));
    let document = json!({"keys": [FORGE.jwk("RSA", "RSA")]}).to_string();
    for secret in [FORGE.modulus(), document.as_bytes(), b""] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let token = format!("{signed}.{}", coded(hmac::sign(&key, signed.as_bytes())));
        assert_eq!(with(issuer()).verify(&token, NOW), Err(Denied::Algorithm));
    }
    let header = coded(json!({"alg": "none"}).to_string());
    let unsigned = format!("{header}.{}.", coded(claims().to_string()));
    assert_eq!(
        with(issuer()).verify(&unsigned, NOW),
        Err(Denied::Algorithm)
    );
}

#[test]
fn keys_that_a_token_brings_along_are_not_looked_at() {
    let mut header = json!({"alg": "EdDSA", "kid": "Ed25519"});
    header["jwk"] = OTHER.jwk("Ed25519", "Ed25519");
    header["jku"] = json!("https://attacker.example/keys");
    header["x5c"] = json!(["AAAA"]);
    let token = OTHER.token(Algorithm::EdDsa, header, &claims());
    assert_eq!(with(issuer()).verify(&token, NOW), Err(Denied::Signature));
}

#[test]
fn a_header_that_asks_for_more_is_refused() {
    let base = || json!({"alg": "EdDSA", "kid": "Ed25519"});
    assert!(header_answer(base()).is_ok());
    let odd = [
        ("crit", json!(["exp"])),
        ("crit", json!([])),
        ("crit", json!(null)),
        ("b64", json!(false)),
        ("typ", json!("logout+jwt")),
        ("typ", json!("secevent+jwt")),
    ];
    for (name, value) in odd {
        let mut header = base();
        header[name] = value;
        assert_eq!(
            header_answer(header.clone()),
            Err(Denied::Header),
            "{header}"
        );
    }
    for typ in ["JWT", "jwt", "at+jwt", "application/at+jwt"] {
        let mut header = base();
        header["typ"] = json!(typ);
        assert!(header_answer(header).is_ok(), "{typ}");
    }
    let mut unknown = base();
    unknown["kid"] = json!("next year's");
    assert_eq!(header_answer(unknown), Err(Denied::UnknownKey(IssuerId(0))));
    assert!(
        header_answer(json!({"alg": "EdDSA"})).is_ok(),
        "the only key for it"
    );
}

#[test]
fn a_token_lives_from_nbf_to_exp_with_a_minute_of_leeway() {
    let exp = |seconds: Value| answer(&claims_with("exp", seconds)).map(|_| ());
    assert_eq!(exp(json!(NOW.0 - 59)), Ok(()));
    assert_eq!(exp(json!(NOW.0 - 60)), Err(Denied::Expired));
    assert_eq!(exp(json!(NOW.0 as f64 + 0.5)), Ok(()));
    assert_eq!(exp(json!(u64::MAX)), Ok(()));
    for odd in [
        json!(-1),
        json!("1900000000"),
        json!(1e300),
        json!(null),
        json!([1]),
    ] {
        assert_eq!(exp(odd.clone()), Err(Denied::Claims), "{odd}");
    }
    let mut endless = claims();
    endless.as_object_mut().unwrap().remove("exp");
    assert_eq!(answer(&endless), Err(Denied::NoExpiry));
    let nbf = |seconds: u64| answer(&claims_with("nbf", json!(seconds))).map(|_| ());
    assert_eq!(nbf(NOW.0 + 60), Ok(()));
    assert_eq!(nbf(NOW.0 + 61), Err(Denied::NotYet));
}

#[test]
fn a_token_must_be_for_us_and_from_a_known_issuer() {
    let aud = |value: Value| answer(&claims_with("aud", value)).map(|_| ());
    assert_eq!(aud(json!(["x", "other-door"])), Ok(()));
    for value in [
        json!("x"),
        json!([]),
        json!(null),
        json!({"gateway": 1}),
        json!("gatewa"),
        json!([["gateway"]]),
    ] {
        assert_eq!(aud(value.clone()), Err(Denied::Audience), "{value}");
    }
    let iss = |value: Value| answer(&claims_with("iss", value)).map(|_| ());
    for value in [json!("https://issuer.example/"), json!(null), json!([ISS])] {
        assert_eq!(iss(value.clone()), Err(Denied::UnknownIssuer), "{value}");
    }
    let anybody = Issuer::new(ISS, Audience::Anybody, "plain");
    let token = FORGE.good_token(Algorithm::EdDsa, &claims_with("aud", json!("x")));
    assert!(with(anybody).verify(&token, NOW).is_ok());
}

// attack: H-03
#[test]
fn a_tenant_is_named_as_the_settings_say() {
    let mut issuer = issuer();
    issuer.tenant_claim = "/org/id".to_owned();
    issuer.tenant_prefix = "b/".to_owned();
    let authorities = with(issuer);
    let tenant = |value: Value| {
        let token = FORGE.good_token(Algorithm::EdDsa, &claims_with("org", json!({"id": value})));
        authorities
            .verify(&token, NOW)
            .map(|verified| verified.tenant)
    };
    assert_eq!(tenant(json!("acme")), Ok("b/acme".to_owned()));
    assert_eq!(tenant(json!(42)), Ok("b/42".to_owned()));
    for odd in ["", "a b", "a\n", "\u{e9}", &"a".repeat(127)] {
        assert_eq!(tenant(json!(odd)), Err(Denied::BadTenant), "{odd}");
    }
    for odd in [json!(null), json!(1.5), json!(-1), json!(["acme"])] {
        assert_eq!(tenant(odd.clone()), Err(Denied::Claims), "{odd}");
    }
}

#[test]
fn classes_and_tags_come_from_mapped_claims() {
    let mut issuer = issuer();
    issuer.class_claim = Some("plans".to_owned());
    issuer.tags_claim = Some("scope".to_owned());
    issuer.tags = vec!["staff".to_owned()];
    let authorities = with(issuer);
    let verified = |plans: Value, scope: Value| {
        let mut claims = claims_with("plans", plans);
        claims["scope"] = scope;
        authorities.verify(&FORGE.good_token(Algorithm::EdDsa, &claims), NOW)
    };
    let class = |plans: Value| verified(plans, json!("")).unwrap().class;
    assert_eq!(class(json!("silver-plan")), Class(1));
    assert_eq!(class(json!(["silver-plan", "gold-plan"])), Class(2));
    assert_eq!(class(json!(["platinum-plan"])), Class(0));
    assert_eq!(class(json!(7)), Class(0));
    let tags = |scope: Value| verified(json!(null), scope).map(|verified| verified.tags.join("|"));
    assert_eq!(
        tags(json!("read  write")),
        Ok("staff|read|write".to_owned())
    );
    assert_eq!(tags(json!(["read"])), Ok("staff|read".to_owned()));
    for odd in [
        json!(1),
        json!(["a", 1]),
        json!(["a,b"]),
        json!([""]),
        json!(vec!["t"; 64]),
    ] {
        assert_eq!(tags(odd.clone()), Err(Denied::Claims), "{odd}");
    }
}

#[test]
fn what_is_said_twice_is_not_believed() {
    let signed_text = |header: &str, claims: &str| {
        let signed = format!("{}.{}", coded(header), coded(claims));
        let token = format!(
            "{signed}.{}",
            coded(FORGE.sign(Algorithm::EdDsa, signed.as_bytes()))
        );
        with(issuer()).verify(&token, NOW).map(|_| ())
    };
    let good = claims().to_string();
    let header = r#"{"alg":"EdDSA"}"#;
    assert_eq!(signed_text(header, &good), Ok(()));
    let twice = good.replacen('{', r#"{"sub":"victim","#, 1);
    assert_eq!(signed_text(header, &twice), Err(Denied::Malformed));
    let twice = r#"{"alg":"none","alg":"EdDSA"}"#;
    assert_eq!(signed_text(twice, &good), Err(Denied::Malformed));
    assert_eq!(
        signed_text(header, &format!("{good} x")),
        Err(Denied::Malformed)
    );
    assert_eq!(signed_text(header, "[]"), Err(Denied::Malformed));
}

// req: GW-12
#[test]
fn without_keys_nothing_verifies_and_new_keys_take_over() {
    let mut authorities = Authorities::default();
    authorities.add(Authority::new(issuer(), Class(0), Vec::new()));
    let token = FORGE.good_token(Algorithm::Es256, &claims());
    assert_eq!(
        authorities.verify(&token, NOW),
        Err(Denied::KeysUnavailable(IssuerId(0)))
    );
    let own = authorities.get(IssuerId(0)).unwrap();
    let set = |keys: &[Value]| own.set_keys(Arc::new(key_set(keys).unwrap()));
    set(&[FORGE.jwk("P-256", "P-256")]);
    let stamp = authorities.verify(&token, NOW).unwrap().stamp;
    set(&[FORGE.jwk("P-256", "P-256"), OTHER.jwk("new", "P-256")]);
    assert!(authorities.holds(stamp), "keys came, none went");
    set(&[OTHER.jwk("new", "P-256")]);
    assert!(!authorities.holds(stamp));
    assert_eq!(
        authorities.verify(&token, NOW),
        Err(Denied::UnknownKey(IssuerId(0)))
    );
}

#[test]
fn an_algorithm_the_issuer_does_not_use_is_refused() {
    let mut issuer = issuer();
    issuer.algorithms = vec![Algorithm::Rs256];
    let authorities = with(issuer);
    let answer = |algorithm| authorities.verify(&FORGE.good_token(algorithm, &claims()), NOW);
    assert!(answer(Algorithm::Rs256).is_ok());
    assert_eq!(answer(Algorithm::Es256), Err(Denied::Algorithm));
}

proptest! {
    // req: GW-12
    #[test]
    fn a_token_with_a_bit_flipped_or_a_part_cut_off_never_verifies(at: prop::sample::Index, bit in 0..7_u8, cut: bool) {
        let token = FORGE.good_token(Algorithm::EdDsa, &claims());
        let at = at.index(token.len());
        let bent = match cut {
            true => token[..at].to_owned(),
            false => {
                let mut bytes = token.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                String::from_utf8(bytes).unwrap()
            }
        };
        prop_assert!(with(issuer()).verify(&bent, NOW).is_err(), "{bent}");
    }

    #[test]
    fn any_text_is_answered(text in "[ -~]{0,200}", header in "\\PC{0,60}", claims in "\\PC{0,60}") {
        let authorities = with(issuer());
        prop_assert!(authorities.verify(&text, NOW).is_err());
        let dressed = format!("{}.{}.{}", coded(header), coded(claims), coded(text));
        prop_assert!(authorities.verify(&dressed, NOW).is_err());
    }
}
