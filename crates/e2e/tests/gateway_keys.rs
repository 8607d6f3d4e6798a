//! Tokens of an identity provider, and its keys: read, renewed, and kept while they cannot be.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use e2e::gateway::{Gateway, PATIENCE, assert_refusal, program, to};
use e2e::log;
use e2e::wait::eventually;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testkit::upstream::Upstream;

fn coded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An identity provider's key.
struct Provider(EcdsaKeyPair);

impl Provider {
    fn new() -> Self {
        Self(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap())
    }

    fn key_set(&self, id: &str) -> String {
        let (x, y) = self.0.public_key().as_ref()[1..].split_at(32);
        let key = json!({"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "alg": "ES256",
                         "x": coded(x), "y": coded(y)});
        json!({"keys": [key]}).to_string()
    }

    fn token(&self, id: &str, claims: &Value) -> String {
        let head = json!({"alg": "ES256", "typ": "JWT", "kid": id});
        let signed = format!("{}.{}", coded(head.to_string()), coded(claims.to_string()));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes());
        format!("{signed}.{}", coded(signature.unwrap()))
    }
}

/// The fields that the upstream was told last.
fn last(upstream: &Upstream) -> testkit::wire::Headers {
    upstream.requests().pop().unwrap().head.unwrap().headers
}

fn claims(tenant: &str, lasts: i64) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let until = now.as_secs() as i64 + lasts;
    json!({"iss": "https://id.test", "aud": "gate", "sub": tenant, "exp": until})
}

// req: GW-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_good_if_its_issuer_signed_it_for_us_and_it_has_not_expired() {
    let (provider, stranger) = (Provider::new(), Provider::new());
    let upstream = Upstream::start().await.unwrap();
    let files = program("");
    let jwks = files.file("jwks.json", provider.key_set("k1")).unwrap();
    let section = format!(
        "[gateway.identity]\nrequired = true\n[gateway.identity.jwt]\nissuer = \"https://id.test\"\n\
         audience = \"gate\"\njwks_file = \"{}\"\n{}",
        jwks.display(),
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let ask = async |token: &str| {
        let bearer = format!("Bearer {token}");
        gateway.get_with("/", &[("authorization", &bearer)]).await
    };
    let good = provider.token("k1", &claims("gold", 600));
    eventually("the keys are read", PATIENCE, async || {
        ask(&good).await.status == 200
    })
    .await;
    assert_eq!(last(&upstream).get("x-tenant"), Some("gold"));
    let other = |key: &str, value: Value| {
        let mut claims = claims("gold", 600);
        claims[key] = value;
        provider.token("k1", &claims)
    };
    let unsigned = {
        let head = coded(json!({"alg": "none"}).to_string());
        format!("{head}.{}.", coded(claims("gold", 600).to_string()))
    };
    let mut tampered = good.clone();
    tampered.insert(good.rfind('.').unwrap() - 3, 'A');
    let cases = [
        (
            provider.token("k1", &claims("gold", -600)),
            "identity-expired",
        ),
        (
            stranger.token("k1", &claims("gold", 600)),
            "identity-refused",
        ),
        (
            stranger.token("k2", &claims("gold", 600)),
            "identity-refused",
        ),
        (other("aud", json!("elsewhere")), "identity-refused"),
        (other("iss", json!("https://evil.test")), "identity-refused"),
        (unsigned, "identity-refused"),
        (tampered, "identity-refused"),
    ];
    let before = upstream.received();
    for (token, reason) in cases {
        assert_refusal(&ask(&token).await, 401, reason);
    }
    assert_eq!(upstream.received(), before);
    // A new key is found when a token names it.
    std::fs::write(&jwks, stranger.key_set("k2")).unwrap();
    let renewed = stranger.token("k2", &claims("new", 600));
    eventually("the new key is read", Duration::from_secs(15), async || {
        tokio::time::sleep(Duration::from_millis(200)).await;
        ask(&renewed).await.status == 200
    })
    .await;
    assert_eq!(last(&upstream).get("x-tenant"), Some("new"));
}

// req: GW-12, GW-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_config_takes_no_keys_away_that_cannot_be_fetched_at_the_moment() {
    let provider = Provider::new();
    let upstream = Upstream::start().await.unwrap();
    let files = program("");
    let jwks = files.file("jwks.json", provider.key_set("k1")).unwrap();
    let section = |issuer: &str, weight: u32| {
        format!(
            "[gateway.identity]\nrequired = true\n[gateway.identity.jwt]\nissuer = \"{issuer}\"\n\
             audience = \"gate\"\njwks_file = \"{}\"\n[gateway.tenants.gold]\nweight = {weight}\n{}",
            jwks.display(),
            to(upstream.addr(), "")
        )
    };
    let gateway = Gateway::start(&section("https://id.test", 1)).await;
    let token = provider.token("k1", &claims("gold", 600));
    let bearer = format!("Bearer {token}");
    let ask = async || gateway.get_with("/", &[("authorization", &bearer)]).await;
    eventually("the keys are read", PATIENCE, async || {
        ask().await.status == 200
    })
    .await;
    std::fs::remove_file(&jwks).unwrap();
    for weight in 2..5 {
        gateway.reload(&section("https://id.test", weight)).await;
        assert_eq!(ask().await.status, 200, "weight {weight}");
    }
    // Another issuer is another matter.
    gateway.reload(&section("https://other.test", 5)).await;
    assert_eq!(ask().await.status, 401);
    gateway.reload(&section("https://id.test", 6)).await;
    assert_refusal(&ask().await, 503, "identity-keys-unavailable");
}

// req: GW-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipe_in_the_place_of_the_keys_takes_nothing_away_and_holds_nothing_up() {
    let (provider, next) = (Provider::new(), Provider::new());
    let upstream = Upstream::start().await.unwrap();
    let files = program("");
    let jwks = files.file("jwks.json", provider.key_set("k1")).unwrap();
    let section = format!(
        "[gateway.identity]\nrequired = true\n[gateway.identity.jwt]\nissuer = \"https://id.test\"\n\
         audience = \"gate\"\njwks_file = \"{}\"\n{}",
        jwks.display(),
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let bearer = |provider: &Provider, id: &str| {
        format!("Bearer {}", provider.token(id, &claims("gold", 600)))
    };
    let ask = async |bearer: &str| gateway.get_with("/", &[("authorization", bearer)]).await;
    let old = bearer(&provider, "k1");
    eventually("the keys are read", PATIENCE, async || {
        ask(&old).await.status == 200
    })
    .await;
    std::fs::remove_file(&jwks).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&jwks).status();
    assert!(made.unwrap().success());
    eventually("the pipe is told of", Duration::from_secs(20), async || {
        let mut told = log::events(&gateway.process).into_iter();
        told.any(|event| event["error"].to_string().contains("regular"))
    })
    .await;
    assert_eq!(ask(&old).await.status, 200);
    std::fs::remove_file(&jwks).unwrap();
    std::fs::write(&jwks, next.key_set("k2")).unwrap();
    let new = bearer(&next, "k2");
    eventually(
        "the keys are read again",
        Duration::from_secs(20),
        async || ask(&new).await.status == 200,
    )
    .await;
}
