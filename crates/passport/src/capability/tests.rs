use proptest::prelude::*;

use super::*;
use crate::denied::Denied;
use crate::limits::Methods;
use check::Verified;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const LATER: UnixSeconds = UnixSeconds(1_800_003_600);

fn root() -> RootKey {
    RootKey::new("2026-11", &[7; 32]).unwrap()
}

fn roots() -> RootKeys {
    let mut roots = RootKeys::default();
    assert!(roots.add(root(), "plain"));
    roots
}

fn grant() -> Grant {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Grant {
        tenant: "acme".to_owned(),
        until: LATER,
        classes: names(&["gold", "batch"]),
        tags: names(&["read", "write"]),
    }
}

fn minted() -> Passport {
    root().mint([1; 16], grant()).unwrap()
}

fn verify(passport: &Passport) -> Result<Verified, Denied> {
    roots().verify(&passport.to_text(), NOW)
}

fn with(caveats: &[Caveat]) -> Passport {
    let add = |passport: Passport, caveat| passport.attenuate(caveat).unwrap();
    caveats.iter().fold(minted(), add)
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Adds a caveat that this version would not write.
fn with_raw(text: &str) -> Passport {
    let mut passport = minted();
    passport.tag = next_tag(&passport.tag, text.as_bytes());
    passport.caveats.push(text.into());
    passport
}

// req: GW-12
#[test]
fn a_passport_says_who_its_holder_is() {
    let verified = verify(&minted()).unwrap();
    assert_eq!(verified.tenant, "acme");
    assert_eq!(verified.classes, ["gold", "batch"]);
    assert_eq!(verified.tags, ["read", "write"]);
    assert_eq!(verified.until, LATER);
    assert!(verified.limits.are_none());
    let plain = root().mint([1; 16], Grant::to("acme", LATER)).unwrap();
    assert_eq!(verify(&plain).unwrap().classes, ["plain"]);
}

// req: GW-12
#[test]
fn every_caveat_takes_away() {
    let sooner = UnixSeconds(NOW.0 + 1);
    let narrowed = with(&[
        Caveat::Until(sooner),
        Caveat::Until(UnixSeconds(LATER.0 + 9)),
        Caveat::Tenant("acme".to_owned()),
        Caveat::Classes(list(&["batch", "platinum"])),
        Caveat::Tags(list(&["read", "admin"])),
        Caveat::Path("/v1".to_owned()),
        Caveat::Methods(Methods::of(["GET"]).unwrap()),
        Caveat::BodyBytesMax(0),
    ]);
    let verified = verify(&narrowed).unwrap();
    assert_eq!(verified.until, sooner);
    assert_eq!(verified.classes, ["batch"]);
    assert_eq!(verified.tags, ["read"]);
    assert!(verified.limits.admit("GET", "/v1/x", Some(0)).is_ok());
    assert!(verified.limits.admit("PUT", "/v1/x", Some(0)).is_err());
    assert!(verified.limits.admit("GET", "/v2", Some(0)).is_err());
    assert!(verified.limits.admit("GET", "/v1", Some(1)).is_err());
    let bare = with(&[Caveat::Tags(Vec::new())]);
    assert!(verify(&bare).unwrap().tags.is_empty());
}

#[test]
fn what_nothing_satisfies_is_refused() {
    for caveat in [
        Caveat::Tenant("other".to_owned()),
        Caveat::Classes(list(&["platinum"])),
    ] {
        assert_eq!(verify(&with(&[caveat])), Err(Denied::Caveat));
    }
    let ended = with(&[Caveat::Until(NOW)]);
    assert_eq!(verify(&ended), Err(Denied::Expired));
}

// req: GW-12
#[test]
fn a_caveat_that_is_not_understood_is_refused() {
    assert!(verify(&with_raw("until=1800000001")).is_ok());
    for text in [
        "colour=blue",
        "",
        "until",
        "until=",
        "until=+1900000000",
        "until=01900000000",
        "until=19e8",
        "until=99999999999999999999999",
        "Until=1900000000",
        "until =1900000000",
        "path=v1",
        "path=/v1?x",
        "path=/a b",
        "methods=",
        "methods=get",
        "methods=GET,",
        "max-body=-1",
        "class=",
        "tags=read,,write",
        "tenant=",
    ] {
        assert_eq!(verify(&with_raw(text)), Err(Denied::Caveat), "{text}");
        let seen = Passport::inspect(&with_raw(text).to_text()).unwrap();
        assert_eq!(seen.caveats().last(), Some(text), "shown all the same");
    }
}

#[test]
fn only_its_own_root_key_verifies_it() {
    let other = RootKey::new("2026-11", &[8; 32]).unwrap();
    let forged = other.mint([1; 16], grant()).unwrap();
    assert_eq!(verify(&forged), Err(Denied::Signature));
    let elsewhere = RootKey::new("2026-10", &[7; 32]).unwrap();
    let unknown = elsewhere.mint([1; 16], grant()).unwrap();
    assert_eq!(verify(&unknown), Err(Denied::UnknownRoot));
}

// req: GW-12
#[test]
fn nothing_that_was_granted_or_added_can_be_changed() {
    let narrowed = with(&[Caveat::Path("/v1".to_owned()), Caveat::BodyBytesMax(9)]);
    let bend = |change: &dyn Fn(&mut Passport)| {
        let mut bent = narrowed.clone();
        change(&mut bent);
        assert_ne!(bent, narrowed);
        assert_eq!(verify(&bent), Err(Denied::Signature), "{bent:?}");
    };
    bend(&|bent| bent.grant.tenant = "other".to_owned());
    bend(&|bent| bent.grant.classes.push("platinum".to_owned()));
    bend(&|bent| bent.grant.tags.push("admin".to_owned()));
    bend(&|bent| bent.grant.until = UnixSeconds(u64::MAX));
    bend(&|bent| bent.nonce[0] ^= 1);
    bend(&|bent| bent.caveats[1] = "max-body=90".into());
    bend(&|bent| bent.caveats.swap(0, 1));
    bend(&|bent| drop(bent.caveats.pop()));
    bend(&|bent| drop(bent.caveats.remove(0)));
    bend(&|bent| bent.caveats.push("tenant=acme".into()));
}

#[test]
fn sizes_are_bounded() {
    let caveat = Caveat::BodyBytesMax(1);
    let mut passport = minted();
    while passport.caveats.len() < CAVEATS_MAX {
        passport = passport.attenuate(&caveat).unwrap();
    }
    assert!(verify(&passport).is_ok());
    assert_eq!(passport.attenuate(&caveat), Err(PassportError::TooLarge));
    let long = |length: usize| Caveat::Path(format!("/{}", "a".repeat(length)));
    assert_eq!(
        minted().attenuate(&long(1_024)),
        Err(PassportError::TooLarge)
    );
    let mut large = minted();
    let refusal = loop {
        match large.attenuate(&long(900)) {
            Ok(larger) => large = larger,
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(refusal, PassportError::TooLarge);
    assert!(large.to_text().len() <= PASSPORT_BYTES_MAX);
    assert_eq!(large.to_text().len(), wire::text_len(&large));
    let mut crowded = grant();
    crowded.tags = vec!["t".to_owned(); GRANTS_MAX];
    assert_eq!(root().mint([1; 16], crowded), Err(PassportError::TooLarge));
    let blown = format!("{PASSPORT_PREFIX}{}", "A".repeat(PASSPORT_BYTES_MAX));
    assert_eq!(Passport::inspect(&blown), Err(PassportError::TooLarge));
}

#[test]
fn names_that_could_be_misread_are_not_written() {
    for tenant in ["", "a b", &"a".repeat(129)] {
        let minted = root().mint([1; 16], Grant::to(tenant, LATER));
        assert_eq!(minted, Err(PassportError::BadName), "{tenant}");
    }
    for caveat in [
        Caveat::Tags(list(&["a,b"])),
        Caveat::Classes(list(&[])),
        Caveat::Path("v1".to_owned()),
        Caveat::Tenant("a b".to_owned()),
    ] {
        assert_eq!(
            minted().attenuate(&caveat),
            Err(PassportError::BadName),
            "{caveat}"
        );
    }
    assert_eq!(
        RootKey::new("", &[1; 32]).unwrap_err(),
        PassportError::BadName
    );
}

#[test]
fn secrets_do_not_show_themselves() {
    let passport = minted();
    let shown = format!("{passport:?} {:?}", root());
    assert!(shown.contains("acme") && shown.contains("2026-11"));
    let tag = format!("{:?}", &passport.tag[..4]);
    assert!(!shown.contains(tag.trim_matches(['[', ']'])));
}

fn caveats() -> impl Strategy<Value = Caveat> {
    let names = |pool: &'static [&'static str]| {
        prop::sample::subsequence(pool, 1..=pool.len()).prop_map(|names| list(&names))
    };
    let methods = &["GET", "PUT", "POST"][..];
    prop_oneof![
        (NOW.0 - 5..LATER.0 + 50).prop_map(|seconds| Caveat::Until(UnixSeconds(seconds))),
        prop::sample::select(&["acme", "other"][..])
            .prop_map(|name| Caveat::Tenant(name.to_owned())),
        names(&["gold", "batch", "platinum"]).prop_map(Caveat::Classes),
        names(&["read", "write", "admin"]).prop_map(Caveat::Tags),
        prop::sample::select(&["/", "/a", "/a/b", "/c"][..])
            .prop_map(|path| Caveat::Path(path.to_owned())),
        prop::sample::subsequence(methods, 1..=3)
            .prop_map(|names| Caveat::Methods(Methods::of(names).unwrap())),
        (0..30_u64).prop_map(Caveat::BodyBytesMax),
    ]
}

/// Every request of a small world that the answer allows, with what else it gives.
fn powers(answer: &Result<Verified, Denied>) -> Vec<(String, &'static str, &'static str, u64)> {
    let Ok(verified) = answer else {
        return Vec::new();
    };
    let mut gifts = vec![verified.tenant.clone()];
    gifts.extend(
        verified
            .classes
            .iter()
            .map(|class| format!("class {class}")),
    );
    gifts.extend(verified.tags.iter().map(|tag| format!("tag {tag}")));
    let mut powers = Vec::new();
    for gift in gifts {
        for method in ["GET", "PUT", "POST", "BREW"] {
            for path in ["/", "/a", "/a/b", "/ab", "/c/d"] {
                for bytes in [0, 10, 20, 40] {
                    if verified.limits.admit(method, path, Some(bytes)).is_ok() {
                        powers.push((gift.clone(), method, path, bytes));
                    }
                }
            }
        }
    }
    powers
}

proptest! {
    // req: GW-12
    #[test]
    fn attenuation_only_narrows(caveats in prop::collection::vec(caveats(), 1..6)) {
        let mut passport = minted();
        let mut before = verify(&passport);
        for caveat in caveats {
            passport = passport.attenuate(&caveat).unwrap();
            let after = verify(&passport);
            let had = powers(&before);
            prop_assert!(powers(&after).iter().all(|power| had.contains(power)), "{caveat}");
            if let (Ok(before), Ok(after)) = (&before, &after) {
                prop_assert!(after.until <= before.until);
            }
            prop_assert!(before.is_ok() || after.is_err(), "nothing revives it");
            before = after;
        }
    }

    #[test]
    fn a_passport_reads_back(caveats in prop::collection::vec(caveats(), 0..6), nonce: [u8; 16]) {
        let mut passport = root().mint(nonce, grant()).unwrap();
        for caveat in &caveats {
            passport = passport.attenuate(caveat).unwrap();
        }
        let read = Passport::inspect(&passport.to_text()).unwrap();
        prop_assert_eq!(read.caveats().count(), caveats.len());
        prop_assert_eq!(read, passport);
    }

    // req: GW-12
    #[test]
    fn a_passport_with_a_bit_flipped_or_a_part_cut_off_never_verifies(
        at: prop::sample::Index,
        bit in 0..8_u8,
        cut: bool,
    ) {
        let whole = wire::write(&with(&[Caveat::Path("/v1".to_owned())]));
        let mut bytes = whole.clone();
        let at = at.index(bytes.len());
        match cut {
            true => bytes.truncate(at),
            false => bytes[at] ^= 1 << bit,
        }
        let text = format!("{PASSPORT_PREFIX}{}", URL_SAFE_NO_PAD.encode(&bytes));
        prop_assert!(roots().verify(&text, NOW).is_err());
    }

    #[test]
    fn what_can_be_read_is_written_back_the_same(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Some(passport) = wire::read(&bytes) {
            prop_assert_eq!(wire::write(&passport), bytes);
        }
    }
}
