//! Who is asking: API keys, JWT, capability tokens, and a bounded cache of what was verified.
//!
//! The caller finds the credential ([`credential_of`]), asks what is remembered of it ([`Verifier::cached`], which is
//! nearly free), and only if nothing is, charges the source and verifies ([`Verifier::verify`], up to a signature).
//! Nothing here reads a clock, a socket or a file: times, documents and seeds are passed in.
//!
//! # Laws
//! 1. An identity comes only from a credential that verified: not from a claim, nor from a header of an unlisted
//!    hop.
//! 2. Two credentials are none. What is unknown or unreadable is refused; what is of a kind that is not configured is
//!    no credential.
//! 3. A credential is never stored, and no secret is printed.
//! 4. Memory is bounded, whatever is sent: identities by bytes, refusals by number, in tables of their own.
//! 5. What is remembered never outlives the credential, nor the issuer's key that verified it.
//! 6. Adding a caveat to a passport never lets its holder do more.
//!
//! # Signatures
//! Tokens are verified with `aws-lc-rs`, which TLS needs anyway. `jsonwebtoken` on the same library would add only two
//! crates, but what it takes off our hands is one call; the strictness asked for here (a key bound to its algorithms
//! when it is read, nothing said twice, no `crit`, bounded key sets) would have to be written around it all the same,
//! and it chooses its cryptography once for the whole process.
//!
//! # Passports
//! A passport is a grant by whoever holds a root key, and caveats that each holder may add without asking anybody. Its
//! text is `mp1_` and then, in base64url without padding, at most 4,096 characters in all:
//!
//! | bytes | |
//! |---|---|
//! | 1 | version, 1 |
//! | 1 + n | length and id of the root key, n from 1 to 32 |
//! | 16 | nonce |
//! | 8 | the second of Unix time in which it ends, big-endian |
//! | 1 | number of granted items, 1 to 64 |
//! | 2 + n each | length, big-endian, and text: `tenant=…`, then any `class=…`, then any `tag=…` |
//! | 2 + n each | length and text of each caveat, at most 32 of them |
//! | 32 | tag |
//!
//! With `B(key, message)` for keyed BLAKE3, the root key being
//! `derive_key("macronode passport 1 root key", secret)`:
//! - the first tag is `B(root key, everything before the caveats)`;
//! - each caveat's tag is `B(tag before, text of the caveat)`;
//! - only the last tag is in the passport. It is the key to the next one, so anybody can add a caveat, and nobody can
//!   take one away, since that needs the tag before.
//!
//! The verifier walks the chain, compares in constant time, and then needs every caveat to be one of these:
//!
//! | caveat | takes away |
//! |---|---|
//! | `until=SECONDS` | all from that second of Unix time on |
//! | `tenant=ID` | all, unless it was granted to that tenant |
//! | `class=A,B` | the granted classes that are not listed; the first one left counts |
//! | `tags=A,B` | the granted tags that are not listed |
//! | `path=/PREFIX` | other paths, by whole segments in any spelling, and paths with dot segments or escaped slashes |
//! | `methods=GET,HEAD` | other methods |
//! | `max-body=BYTES` | longer bodies |
//!
//! Tenant, classes and tags are granted and not caveats because they give: a holder who could add them would add more
//! than was meant. The end is there too: a passport that lacked it would be refused, and revived by whoever added it.
//! The vectors:
//!
//! ```
//! use passport::{Caveat, Grant, RootKey, UnixSeconds};
//!
//! let secret: [u8; 32] = std::array::from_fn(|at| at as u8);
//! let nonce: [u8; 16] = std::array::from_fn(|at| 0xa0 + at as u8);
//! let root = RootKey::new("k1", &secret)?;
//! let mut grant = Grant::to("acme", UnixSeconds(1_800_000_000));
//! grant.classes.push("gold".to_owned());
//! grant.tags.push("read".to_owned());
//! let minted = root.mint(nonce, grant)?;
//! assert_eq!(*minted.to_text(), concat!(
//!     "mp1_AQJrMaChoqOkpaanqKmqq6ytrq8AAAAAa0nSAAMAC3RlbmFudD1hY21lAApjbGFzcz1nb2xkAAh0YWc9cmVhZAouq",
//!     "7D6QTNM4lEWtbB_CmrA7qURSJK1CzxYdNsRzsA_",
//! ));
//! let narrowed = minted.attenuate(&Caveat::Path("/v1/tiles".to_owned()))?;
//! assert_eq!(*narrowed.to_text(), concat!(
//!     "mp1_AQJrMaChoqOkpaanqKmqq6ytrq8AAAAAa0nSAAMAC3RlbmFudD1hY21lAApjbGFzcz1nb2xkAAh0YWc9cmVhZAAOc",
//!     "GF0aD0vdjEvdGlsZXOnR31oE8moJq1mD-yeAIKnLsLu1aApAOGL1EjEh80CAg",
//! ));
//! # Ok::<(), passport::PassportError>(())
//! ```
//!
//! # Example
//! ```
//! use passport::{ApiKey, ApiKeySetting, Credential, Seed, Settings, Standing, UnixSeconds, Verifier};
//!
//! let key = ApiKey::from_random(&*passport::random().expect("the system has randomness"));
//! let settings = Settings {
//!     classes: vec!["plain".to_owned()],
//!     api_keys: vec![ApiKeySetting {
//!         hash: key.hash(),
//!         tenant: "acme".to_owned(),
//!         standing: Standing { class: "plain".to_owned(), tags: Vec::new() },
//!         until: None,
//!     }],
//!     ..Settings::default()
//! };
//! let verifier = Verifier::new(settings, &Seed::draw().expect("the system has randomness")).expect("good settings");
//! let (credential, now) = (Credential::ApiKey(key.text()), UnixSeconds(1_800_000_000));
//! assert!(verifier.cached(credential, now).is_none());
//! // Here the source pays.
//! let identity = verifier.verify(credential, now)?;
//! assert_eq!(&*identity.tenant, "acme");
//! assert_eq!(verifier.cached(credential, now), Some(Ok(identity)));
//! # Ok::<(), passport::Denied>(())
//! ```

mod api_key;
mod cache;
mod capability;
mod credential;
mod denied;
#[cfg(test)]
mod forge;
mod identity;
mod jwt;
mod keys;
mod limits;
mod secret;
mod settings;
mod tables;
mod tenant;
mod verifier;

pub use api_key::{API_KEY_PREFIX, ApiKey, BadKeyHash, KeyHash};
pub use capability::{
    CAVEATS_MAX, Caveat, Grant, PASSPORT_BYTES_MAX, PASSPORT_PREFIX, Passport, PassportError,
    RootKey,
};
pub use credential::{CREDENTIAL_BYTES_MAX, Credential, Kind, Offered, credential_of};
pub use denied::Denied;
pub use identity::{Class, Identity, Method, UnixSeconds};
pub use keys::{
    Algorithm, Freshness, KEY_SET_BYTES_MAX, KEY_SET_KEYS_MAX, KeySet, KeySetError, KeySetState,
    Refresh, UnknownAlgorithm,
};
pub use limits::{Beyond, Limits, Methods};
pub use secret::{Seed, random};
pub use settings::{
    ApiKeySetting, Audience, CacheEntries, Issuer, IssuerId, Root, Settings, SettingsError,
    Standing, Subject,
};
pub use tenant::{TAG_BYTES_MAX, TAGS_MAX, TENANT_BYTES_MAX, is_tag, is_tenant};
pub use verifier::Verifier;

#[cfg(test)]
extern crate self as passport;

#[cfg(test)]
#[expect(
    unreachable_pub,
    reason = "public for the fuzz target, which includes the file"
)]
mod exercise;

#[cfg(test)]
mod corpus {
    use std::path::Path;

    // req: GW-12
    #[test]
    fn the_fuzz_corpus_is_answered() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/passport");
        let seeds = std::fs::read_dir(corpus).unwrap();
        let seeds = seeds.map(|entry| entry.unwrap().path());
        let seeds: Vec<_> = seeds.filter(|path| path.extension().is_some()).collect();
        assert!(seeds.len() >= 10, "the corpus is gone");
        let outcomes: Vec<bool> = seeds
            .iter()
            .map(|seed| super::exercise::exercise(&std::fs::read(seed).unwrap()))
            .collect();
        assert!(
            outcomes.contains(&true),
            "no seed verifies, so half of the code is out of reach"
        );
        assert!(outcomes.contains(&false));
    }
}
