use super::*;
use crate::identity::{Class, Method};
use crate::limits::Limits;

const NOW: UnixSeconds = UnixSeconds(1_000);
const ED: Editions = Editions {
    settings: 0,
    keys: 0,
};

fn identity(tags: usize) -> Arc<Identity> {
    Arc::new(Identity {
        tenant: "acme".into(),
        key: 1,
        class: Class(0),
        tags: vec!["t".repeat(100).into(); tags].into(),
        until: None,
        how: Method::ApiKey,
        limits: Limits::default(),
    })
}

fn cache(entries: usize) -> Cache {
    Cache::new(&Seed::from_bytes([1; 32]), entries)
}

#[test]
fn fingerprints_differ_by_text_kind_and_seed() {
    let ours = cache(8).fingerprints;
    let theirs = Cache::new(&Seed::from_bytes([2; 32]), 8).fingerprints;
    let of = |credential| ours.of(&credential);
    let one = of(Credential::ApiKey("a"));
    assert!(one == of(Credential::ApiKey("a")));
    for other in [
        of(Credential::Bearer("a")),
        of(Credential::TrustedHeader("a")),
        of(Credential::ClientCertificate { subject: "a" }),
        of(Credential::ApiKey("a\0")),
        of(Credential::ApiKey("")),
        theirs.of(&Credential::ApiKey("a")),
    ] {
        assert!(one != other);
    }
}

#[test]
fn a_name_is_never_taken_for_another_of_the_same_fingerprint() {
    let cache = cache(8);
    let acme = Credential::TrustedHeader("acme");
    cache.keep(&acme, NOW, &Ok(identity(0)), None, ED);
    assert!(matches!(cache.get(&acme, NOW, ED, |_| true), Some(Ok(_))));

    let other = Credential::TrustedHeader("other");
    let known = Known {
        settings: 0,
        identity: identity(0),
        since: NOW,
        stamp: None,
    };
    cache.known.insert(cache.fingerprints.of(&other), known);
    assert!(cache.get(&other, NOW, ED, |_| true).is_none());
}

#[test]
fn heavy_identities_take_the_room_of_several() {
    let (light, heavy) = (cache(256), cache(256));
    for number in 0..10_000 {
        let text = number.to_string();
        let credential = Credential::ApiKey(&text);
        light.keep(&credential, NOW, &Ok(identity(0)), None, ED);
        heavy.keep(&credential, NOW, &Ok(identity(60)), None, ED);
    }
    let room = 256 * ENTRY_BYTES as u64;
    assert!(light.known.weight() <= room && heavy.known.weight() <= room);
    assert!(
        heavy.len().0 * 4 < light.len().0,
        "{} {}",
        heavy.len().0,
        light.len().0
    );
    assert!(heavy.len().0 > 0);
}

#[test]
fn who_comes_often_stays_while_strangers_pass() {
    let cache = cache(256);
    let regular = Credential::ApiKey("regular");
    cache.keep(&regular, NOW, &Ok(identity(0)), None, ED);
    for number in 0..100_000 {
        assert!(
            cache.get(&regular, NOW, ED, |_| true).is_some(),
            "after {number}"
        );
        let text = number.to_string();
        cache.keep(&Credential::ApiKey(&text), NOW, &Ok(identity(0)), None, ED);
    }
}

#[test]
fn a_refusal_takes_the_place_of_what_was_known() {
    let cache = cache(8);
    let credential = Credential::ApiKey("a");
    cache.keep(&credential, NOW, &Ok(identity(0)), None, ED);
    cache.keep(&credential, NOW, &Err(Denied::Expired), None, ED);
    assert_eq!(
        cache.get(&credential, NOW, ED, |_| true),
        Some(Err(Denied::Expired))
    );
    assert_eq!(cache.len(), (0, 1));
}
