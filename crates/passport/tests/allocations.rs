//! What is remembered is found without allocating, whether the answer is yes, no, or unknown.

use model_kit::allocations::{Counting, during};
use passport::{
    ApiKey, ApiKeySetting, Credential, Denied, Grant, Offered, Root, RootKey, Seed, Settings,
    Standing, UnixSeconds, Verifier, credential_of,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const LATER: UnixSeconds = UnixSeconds(1_800_000_100);

fn settings(key: &ApiKey, root: &RootKey) -> Settings {
    Settings {
        classes: vec!["plain".to_owned()],
        api_keys: vec![ApiKeySetting {
            hash: key.hash(),
            tenant: "acme".to_owned(),
            standing: Standing {
                class: "plain".to_owned(),
                tags: Vec::new(),
            },
            until: None,
        }],
        roots: vec![Root {
            key: root.clone(),
            class: "plain".to_owned(),
        }],
        ..Settings::default()
    }
}

// req: GW-12
#[test]
fn asking_what_is_remembered_allocates_nothing() {
    let key = ApiKey::from_random(&[1; 32]);
    let root = RootKey::new("r1", &[2; 32]).expect("a good id");
    let verifier =
        Verifier::new(settings(&key, &root), &Seed::from_bytes([3; 32])).expect("good settings");
    let passport = root
        .mint([4; 16], Grant::to("acme", LATER))
        .expect("small")
        .to_text();
    let bearer = format!("Bearer {}", *passport);
    verifier
        .verify(Credential::ApiKey(key.text()), NOW)
        .expect("a good key");
    verifier
        .verify(Credential::Bearer(&passport), NOW)
        .expect("a good passport");
    verifier
        .verify(Credential::ApiKey("mk_bad"), NOW)
        .expect_err("a bad key");
    let counted = during(|| {
        for _ in 0..1_000 {
            let offered = Offered {
                authorization: [bearer.as_bytes()],
                api_key: [],
                trusted_header: [],
                certificate: None,
            };
            let credential = credential_of(offered, |kind| verifier.accepts(kind));
            let credential = credential.expect("one credential");
            let identity = verifier
                .cached(credential, NOW)
                .expect("known")
                .expect("good");
            assert!(identity.limits.admit("GET", "/v1", None).is_ok());
            assert!(
                verifier
                    .cached(Credential::ApiKey(key.text()), NOW)
                    .is_some()
            );
            let refused = verifier.cached(Credential::ApiKey("mk_bad"), NOW);
            assert_eq!(refused, Some(Err(Denied::UnknownApiKey)));
            assert_eq!(verifier.cached(Credential::ApiKey("mk_new"), NOW), None);
        }
    });
    assert_eq!(counted, 0);
}
