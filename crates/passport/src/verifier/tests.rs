use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::api_key::{ApiKey, KeyHash};
use crate::capability::{Caveat, Grant, RootKey};
use crate::forge::{FORGE, OTHER, key_set};
use crate::keys::Algorithm;
use crate::settings::{ApiKeySetting, Audience, CacheEntries, Issuer, Root, Standing, Subject};

mod memory;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const LATER: UnixSeconds = UnixSeconds(1_800_001_000);
const ISS: &str = "https://issuer.example";

fn after(seconds: u64) -> UnixSeconds {
    NOW.plus(seconds)
}

fn seed() -> Seed {
    Seed::from_bytes([3; 32])
}

fn key(number: u8) -> ApiKey {
    ApiKey::from_random(&[number; 32])
}

fn root() -> RootKey {
    RootKey::new("r1", &[7; 32]).unwrap()
}

fn standing(class: &str) -> Standing {
    Standing {
        class: class.to_owned(),
        tags: vec!["staff".to_owned()],
    }
}

fn api_key(number: u8, tenant: &str) -> ApiKeySetting {
    ApiKeySetting {
        hash: key(number).hash(),
        tenant: tenant.to_owned(),
        standing: standing("gold"),
        until: None,
    }
}

fn settings() -> Settings {
    let mut ending = api_key(9, "acme");
    ending.until = Some(LATER);
    Settings {
        classes: vec!["plain".to_owned(), "gold".to_owned()],
        api_keys: vec![
            api_key(1, "acme"),
            api_key(2, "acme"),
            api_key(3, "zeta"),
            ending,
        ],
        issuers: vec![Issuer::new(ISS, Audience::Anybody, "plain")],
        roots: vec![Root {
            key: root(),
            class: "plain".to_owned(),
        }],
        subjects: vec![Subject {
            name: "svc.example".to_owned(),
            tenant: "acme".to_owned(),
            standing: standing("gold"),
        }],
        trusted_header: Some(standing("plain")),
        cache_entries: CacheEntries::default(),
    }
}

fn verifier() -> Verifier {
    let verifier = Verifier::new(settings(), &seed()).unwrap();
    verifier.set_keys(IssuerId(0), Arc::new(FORGE.key_set()));
    verifier
}

fn token(exp: UnixSeconds) -> String {
    let claims = json!({"iss": ISS, "sub": "acme", "exp": exp.0});
    FORGE.good_token(Algorithm::Es256, &claims)
}

fn passport(tenant: &str, nonce: u64) -> String {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&nonce.to_le_bytes());
    let minted = root().mint(bytes, Grant::to(tenant, LATER)).unwrap();
    minted.to_text().to_string()
}

// req: GW-12
#[test]
fn every_way_leads_to_the_same_tenant() {
    let verifier = verifier();
    let (first, second) = (key(1), key(2));
    let (token, passport) = (token(LATER), passport("acme", 1));
    let ways = [
        (Credential::ApiKey(first.text()), Method::ApiKey),
        (Credential::ApiKey(second.text()), Method::ApiKey),
        (Credential::Bearer(first.text()), Method::ApiKey),
        (Credential::Bearer(&token), Method::Jwt),
        (Credential::Bearer(&passport), Method::Passport),
        (
            Credential::ClientCertificate {
                subject: "svc.example",
            },
            Method::Certificate,
        ),
        (Credential::TrustedHeader("acme"), Method::TrustedHeader),
    ];
    for (credential, how) in ways {
        assert_eq!(verifier.cached(credential, NOW), None, "{how:?}");
        let identity = verifier.verify(credential, NOW).unwrap();
        assert_eq!((&*identity.tenant, identity.how), ("acme", how));
        assert_eq!(identity.key, verifier.tenant_key("acme"));
        assert_eq!(verifier.cached(credential, NOW), Some(Ok(identity)));
    }
    assert_eq!(verifier.remembered(), (7, 0));
}

// req: GW-12
#[test]
fn a_text_is_good_only_as_what_it_is() {
    let verifier = verifier();
    let key = key(1);
    let (token, passport) = (token(LATER), passport("acme", 1));
    verifier
        .verify(Credential::TrustedHeader("svc.example"), NOW)
        .unwrap();
    for (credential, why) in [
        (Credential::ApiKey(&token), Denied::UnknownApiKey),
        (Credential::ApiKey(&passport), Denied::UnknownApiKey),
        (Credential::ApiKey("svc.example"), Denied::UnknownApiKey),
        (Credential::Bearer("svc.example"), Denied::Malformed),
        (
            Credential::ClientCertificate {
                subject: key.text(),
            },
            Denied::UnknownSubject,
        ),
        (Credential::Bearer(&passport[4..]), Denied::Malformed),
    ] {
        assert_eq!(verifier.verify(credential, NOW), Err(why), "{credential:?}");
    }
}

#[test]
fn the_default_accepts_nobody() {
    let nobody = Verifier::new(Settings::default(), &seed()).unwrap();
    let key = key(1);
    let (token, passport) = (token(LATER), passport("acme", 1));
    for credential in [
        Credential::ApiKey(key.text()),
        Credential::Bearer(key.text()),
        Credential::Bearer(&token),
        Credential::Bearer(&passport),
        Credential::ClientCertificate {
            subject: "svc.example",
        },
        Credential::TrustedHeader("acme"),
    ] {
        assert_eq!(
            nobody.verify(credential, NOW),
            Err(Denied::NotAccepted),
            "{credential:?}"
        );
    }
    assert_eq!(nobody.verify(Credential::None, NOW), Err(Denied::Missing));
    assert_eq!(
        nobody.cached(Credential::None, NOW),
        Some(Err(Denied::Missing))
    );
}

// attack: H-03
#[test]
fn a_tenant_id_that_cannot_be_is_refused_before_it_is_remembered() {
    let verifier = verifier();
    let long = "a".repeat(129);
    let huge = "a".repeat(65_536);
    for (tenant, why) in [
        (long.as_str(), Denied::BadTenant),
        (&huge, Denied::TooLong),
        ("", Denied::BadTenant),
        ("a b", Denied::BadTenant),
        ("a\u{7f}", Denied::BadTenant),
        ("\u{fc}ber", Denied::BadTenant),
    ] {
        let credential = Credential::TrustedHeader(tenant);
        assert_eq!(verifier.cached(credential, NOW), Some(Err(why)));
        assert_eq!(verifier.verify(credential, NOW), Err(why));
        assert_eq!(why.status(), 400);
    }
    assert_eq!(verifier.remembered(), (0, 0));
}

// attack: H-02
#[test]
fn a_tenants_number_depends_on_the_seed_and_nothing_else() {
    let verifier = verifier();
    let other = Verifier::new(settings(), &Seed::from_bytes([4; 32])).unwrap();
    let again = Verifier::new(settings(), &seed()).unwrap();
    assert_eq!(verifier.tenant_key("acme"), again.tenant_key("acme"));
    assert_ne!(verifier.tenant_key("acme"), other.tenant_key("acme"));
    assert_ne!(verifier.tenant_key("acme"), verifier.tenant_key("zeta"));
}

// req: GW-12
#[test]
fn a_flood_of_bad_credentials_pushes_nobody_out() {
    let mut small = settings();
    small.cache_entries = CacheEntries(64);
    let verifier = Verifier::new(small, &seed()).unwrap();
    let key = key(1);
    verifier
        .verify(Credential::ApiKey(key.text()), NOW)
        .unwrap();
    for number in 0..100_000 {
        let bad = format!("mk_bad_{number}");
        verifier.verify(Credential::ApiKey(&bad), NOW).unwrap_err();
    }
    assert!(
        verifier
            .cached(Credential::ApiKey(key.text()), NOW)
            .is_some()
    );
    let (identities, refusals) = verifier.remembered();
    assert_eq!(identities, 1);
    assert!(refusals <= 8_192, "{refusals}");
}

// attack: H-01
#[test]
fn a_million_tenants_take_no_more_room_than_the_cache_has() {
    let verifier = verifier();
    for number in 0..1_000_000 {
        let tenant = format!("tenant-{number}");
        verifier
            .verify(Credential::TrustedHeader(&tenant), NOW)
            .unwrap();
    }
    let (identities, _) = verifier.remembered();
    assert!((32_768..=200_000).contains(&identities), "{identities}");
}

#[test]
fn the_limits_of_a_passport_go_with_its_identity() {
    let verifier = verifier();
    let narrow = root().mint([0; 16], Grant::to("acme", LATER)).unwrap();
    let narrow = narrow.attenuate(&Caveat::Path("/v1".to_owned())).unwrap();
    let identity = verifier
        .verify(Credential::Bearer(&narrow.to_text()), NOW)
        .unwrap();
    assert!(identity.limits.admit("GET", "/v1/a", None).is_ok());
    assert!(identity.limits.admit("GET", "/v2/a", None).is_err());
    let mut grant = Grant::to("acme", LATER);
    grant.classes.push("platinum".to_owned());
    let unknown = root().mint([0; 16], grant).unwrap();
    assert_eq!(
        verifier.verify(Credential::Bearer(&unknown.to_text()), NOW),
        Err(Denied::Caveat)
    );
}

#[test]
fn every_mistake_of_the_settings_is_named() {
    let mut bad = settings();
    bad.classes.push("gold".to_owned());
    bad.classes.push("two words".to_owned());
    bad.api_keys.push(api_key(1, "a b"));
    bad.issuers
        .push(Issuer::new(ISS, Audience::OneOf(Vec::new()), "none"));
    bad.roots.push(bad.roots[0].clone());
    bad.subjects.push(bad.subjects[0].clone());
    bad.trusted_header
        .as_mut()
        .unwrap()
        .tags
        .push("x,y".to_owned());
    bad.cache_entries = CacheEntries(0);
    let mistakes = Verifier::new(bad, &seed()).unwrap_err();
    let said: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    let hash = KeyHash::of(key(1).text());
    let expected = [
        "class `gold` is listed twice".to_owned(),
        "the list of classes: `two words` cannot be".to_owned(),
        "the cache holds 1 to 4194304".to_owned(),
        format!("API key {hash}: `a b` cannot be a tenant id"),
        format!("API key {hash} is listed twice"),
        format!("issuer `{ISS}` is listed twice"),
        format!("issuer `{ISS}`: no audience is listed"),
        format!("issuer `{ISS}`: there is no class `none`"),
        "root key `r1` is listed twice".to_owned(),
        "subject `svc.example` is listed twice".to_owned(),
        "the trusted header: `x,y` cannot be".to_owned(),
    ];
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.starts_with(&expected), "{said}");
    }
}

#[test]
fn debug_shows_counts_and_no_secret() {
    let verifier = verifier();
    verifier
        .verify(Credential::ApiKey(key(1).text()), NOW)
        .unwrap();
    assert_eq!(
        format!("{verifier:?}"),
        "Verifier { identities: 1, refusals: 0, .. }"
    );
    assert_eq!(format!("{:?}", seed()), "Seed(..)");
}

proptest! {
    // req: GW-12
    #[test]
    fn what_is_remembered_is_what_verifying_says(
        steps in prop::collection::vec((0..6_u8, 0..40_u64), 1..60),
    ) {
        let (verifier, oracle) = (verifier(), verifier());
        let texts: Vec<String> = (0..3)
            .map(|number| passport("acme", number))
            .chain((0..3).map(|number| format!("mp1_bad{number}")))
            .collect();
        let mut now = UnixSeconds(LATER.0 - 600);
        for (which, wait) in steps {
            now = now.plus(wait);
            let credential = Credential::Bearer(&texts[usize::from(which)]);
            let truth = oracle.verify(credential, now);
            let answer = verifier.cached(credential, now);
            let answer = answer.unwrap_or_else(|| verifier.verify(credential, now));
            prop_assert_eq!(answer, truth);
        }
    }
}
