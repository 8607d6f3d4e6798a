//! Recognising a caller: what is remembered, what is refused, what is new.

use std::hint::black_box;

use passport::{
    ApiKey, ApiKeySetting, Caveat, Credential, Grant, Root, RootKey, Seed, Settings, Standing,
    UnixSeconds, Verifier,
};

use crate::clock::Clock;
use crate::frame::{Benchmark, Cost, Effort, Metric, Peer};

/// See the module.
pub const BENCHMARK: Benchmark = Benchmark {
    name: "passport",
    about: "finding out who asks: remembered, refused, and a passport seen for the first time",
    metrics,
};

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const LATER: UnixSeconds = UnixSeconds(1_900_000_000);
/// Of one lookup in what is remembered.
const REMEMBERED_NANOS: f64 = 150.0;
/// As long as tokens signed by an elliptic curve and by RSA commonly are.
const SHORT_TOKEN: usize = 400;
const LONG_TOKEN: usize = 800;
const CROWD: u8 = 200;

fn metrics(effort: Effort) -> Vec<Metric> {
    let operations = effort.scaled(1_000_000);
    let within = |name, nanos, ours| Metric {
        name,
        unit: "ns/call",
        ours,
        peer: Peer::Budget(nanos),
        goal_ratio: 1.0,
    };
    let tokens = |bytes| remembered(vec![token(bytes)], operations);
    let keys = (0..CROWD).map(|number| key(number).text().to_owned());
    let bad = vec!["mk_nobody_has_this_key_and_it_is_of_usual_length".to_owned()];
    vec![
        within(
            "cached_api_key",
            REMEMBERED_NANOS,
            remembered(keys.collect(), operations),
        ),
        within("cached_token_400", REMEMBERED_NANOS, tokens(SHORT_TOKEN)),
        within("cached_token_800", REMEMBERED_NANOS, tokens(LONG_TOKEN)),
        within(
            "cached_refusal",
            REMEMBERED_NANOS,
            remembered(bad, operations),
        ),
        within(
            "verify_passport",
            10_000.0,
            verified(operations.div_ceil(20)),
        ),
    ]
}

fn key(number: u8) -> ApiKey {
    ApiKey::from_random(&[number; 32])
}

fn root() -> RootKey {
    RootKey::new("bench", &[1; 32]).expect("a good id")
}

fn verifier() -> Verifier {
    let standing = Standing {
        class: "plain".to_owned(),
        tags: Vec::new(),
    };
    let api_keys = (0..CROWD).map(|number| ApiKeySetting {
        hash: key(number).hash(),
        tenant: format!("tenant-{number}"),
        standing: standing.clone(),
        until: None,
    });
    let settings = Settings {
        classes: vec!["plain".to_owned()],
        api_keys: api_keys.collect(),
        roots: vec![Root {
            key: root(),
            class: "plain".to_owned(),
        }],
        ..Settings::default()
    };
    Verifier::new(settings, &Seed::from_bytes([2; 32])).expect("good settings")
}

/// A passport of about so many characters: how long a token is counts, not of which kind.
fn token(bytes: usize) -> String {
    let minted = root().mint([3; 16], Grant::to("acme", LATER));
    let mut passport = minted.expect("a good grant");
    while passport.to_text().len() < bytes {
        let caveat = Caveat::Path("/a/path/of/common/length".to_owned());
        passport = passport.attenuate(&caveat).expect("small");
    }
    passport.to_text().to_string()
}

fn remembered(texts: Vec<String>, operations: usize) -> Cost {
    let verifier = verifier();
    for text in &texts {
        let _ = verifier.verify(Credential::Bearer(text), NOW);
        assert!(
            verifier.cached(Credential::Bearer(text), NOW).is_some(),
            "remembered"
        );
    }
    Box::new(move || {
        let mut texts = texts.iter().cycle();
        Clock::Cpu.nanos_each(operations, || {
            for text in texts.by_ref().take(operations) {
                let _ = black_box(verifier.cached(Credential::Bearer(black_box(text)), NOW));
            }
        })
    })
}

fn verified(operations: usize) -> Cost {
    let verifier = verifier();
    let token = token(SHORT_TOKEN);
    Box::new(move || {
        Clock::Cpu.nanos_each(operations, || {
            for _ in 0..operations {
                let _ = black_box(verifier.verify(Credential::Bearer(black_box(&token)), NOW));
            }
        })
    })
}
