use serde_json::json;

use super::*;
use crate::forge::{FORGE, OTHER, coded, key_set};

const RFC7515_RSA: &str = concat!(
    r#"{"keys": [{"kty": "RSA", "kid": "a2", "e": "AQAB", "n": ""#,
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yR",
    "T-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXB",
    "dQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9ia",
    "GNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
    r#""}]}"#
);
const RFC7515_EC: &str = r#"{"keys": [{"kty": "EC", "kid": "a3", "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#;
const RFC8037_ED: &str = r#"{"keys": [{"kty": "OKP", "kid": "a4", "crv": "Ed25519",
    "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

const PAYLOAD: &str = concat!(
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt",
    "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
);
const RSA_SIGNATURE: &str = concat!(
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t",
    "1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12",
    "jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlU",
    "PQGe77Rw"
);
const EC_SIGNATURE: &str =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
const ED_SIGNATURE: &str =
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

fn verifies(
    document: &str,
    kid: &str,
    algorithm: Algorithm,
    signed: &str,
    signature: &str,
) -> bool {
    use base64::Engine;
    let signature = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(signature);
    let keys = KeySet::parse(document.as_bytes()).unwrap();
    let key = keys.find(Some(kid), algorithm).unwrap();
    key.verify(algorithm, signed.as_bytes(), &signature.unwrap())
}

// req: GW-12
#[test]
fn the_examples_of_rfc_7515_and_rfc_8037_verify() {
    let signed = format!("eyJhbGciOiJSUzI1NiJ9.{PAYLOAD}");
    assert!(verifies(
        RFC7515_RSA,
        "a2",
        Algorithm::Rs256,
        &signed,
        RSA_SIGNATURE
    ));
    assert!(!verifies(
        RFC7515_RSA,
        "a2",
        Algorithm::Rs384,
        &signed,
        RSA_SIGNATURE
    ));
    assert!(!verifies(
        RFC7515_RSA,
        "a2",
        Algorithm::Ps256,
        &signed,
        RSA_SIGNATURE
    ));
    let signed = format!("eyJhbGciOiJFUzI1NiJ9.{PAYLOAD}");
    assert!(verifies(
        RFC7515_EC,
        "a3",
        Algorithm::Es256,
        &signed,
        EC_SIGNATURE
    ));
    let signed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    assert!(verifies(
        RFC8037_ED,
        "a4",
        Algorithm::EdDsa,
        signed,
        ED_SIGNATURE
    ));
    let altered = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmd";
    assert!(!verifies(
        RFC8037_ED,
        "a4",
        Algorithm::EdDsa,
        altered,
        ED_SIGNATURE
    ));
}

#[test]
fn a_key_serves_its_own_family_only() {
    let keys = FORGE.key_set();
    assert_eq!((keys.len(), keys.skipped()), (4, 0));
    for algorithm in Algorithm::ALL {
        for kid in ["RSA", "P-256", "P-384", "Ed25519"] {
            let fits = kid == crate::forge::kind_of(algorithm);
            assert_eq!(
                keys.find(Some(kid), algorithm).is_some(),
                fits,
                "{kid} {algorithm:?}"
            );
        }
        assert_eq!(algorithm.name().parse(), Ok(algorithm));
    }
}

#[test]
fn an_algorithm_in_the_key_excludes_its_siblings() {
    let mut key = FORGE.jwk("k", "RSA");
    key["alg"] = json!("PS256");
    let keys = key_set(&[key]).unwrap();
    assert!(keys.find(Some("k"), Algorithm::Ps256).is_some());
    assert!(keys.find(Some("k"), Algorithm::Rs256).is_none());
}

#[test]
fn without_a_kid_only_a_single_fitting_key_is_meant() {
    let one = key_set(&[FORGE.jwk("a", "RSA"), FORGE.jwk("b", "P-256")]).unwrap();
    assert!(one.find(None, Algorithm::Es256).is_some());
    let two = key_set(&[FORGE.jwk("a", "P-256"), OTHER.jwk("b", "P-256")]).unwrap();
    assert!(two.find(None, Algorithm::Es256).is_none());
}

// req: GW-12
#[test]
fn keys_that_must_not_verify_are_left_out() {
    let good = FORGE.jwk("good", "RSA");
    let with = |field: &str, value: Value| {
        let mut key = FORGE.jwk("bad", "RSA");
        key[field] = value;
        key
    };
    let bad = [
        json!({"kty": "oct", "kid": "bad", "k": "c2VjcmV0", "alg": "HS256"}),
        with("use", json!("enc")),
        with("key_ops", json!(["encrypt"])),
        with("alg", json!("HS256")),
        with("alg", json!("none")),
        with("n", json!(coded([0xc5; 128]))),
        with("n", json!(coded([0xc5; 1025]))),
        with("e", json!(coded([1; 5]))),
        with("e", json!("")),
        with("n", json!(7)),
        with("kid", json!("k".repeat(257))),
        json!({"kty": "EC", "kid": "bad", "crv": "P-256", "x": "AAAA", "y": "AAAA"}),
        json!({"kty": "EC", "kid": "bad", "crv": "secp256k1", "x": "AAAA", "y": "AAAA"}),
        json!({"kty": "OKP", "kid": "bad", "crv": "X25519", "x": coded([9; 32])}),
        json!("not a key"),
    ];
    for key in bad {
        let keys = key_set(&[good.clone(), key.clone()]).unwrap();
        assert_eq!((keys.len(), keys.skipped()), (1, 1), "{key}");
        assert_eq!(key_set(&[key]).unwrap_err(), KeySetError::NoKey);
    }
}

#[test]
fn a_point_off_the_curve_is_no_key() {
    let mut key = FORGE.jwk("k", "P-256");
    key["x"] = key["y"].clone();
    assert_eq!(key_set(&[key]).unwrap_err(), KeySetError::NoKey);
}

#[test]
fn a_document_is_bounded() {
    let parse = |text: &str| KeySet::parse(text.as_bytes()).map(|keys| keys.len());
    for text in ["", "[]", "{}", r#"{"keys": {}}"#, r#"{"keys": []} x"#] {
        assert_eq!(parse(text), Err(KeySetError::Malformed), "{text}");
    }
    assert_eq!(parse(r#"{"keys": []}"#), Err(KeySetError::NoKey));
    assert_eq!(parse(&"[".repeat(100_000)), Err(KeySetError::Malformed));
    assert_eq!(
        parse(&" ".repeat(KEY_SET_BYTES_MAX + 1)),
        Err(KeySetError::TooLong)
    );
    let many = vec![json!({}); KEY_SET_KEYS_MAX + 1];
    assert_eq!(key_set(&many).unwrap_err(), KeySetError::TooMany);
}

#[test]
fn two_keys_of_one_name_are_a_mistake_unless_their_kinds_differ() {
    let twins = [FORGE.jwk("k", "P-256"), OTHER.jwk("k", "P-256")];
    assert_eq!(key_set(&twins).unwrap_err(), KeySetError::DuplicateKid);
    let kinds = [FORGE.jwk("k", "P-256"), FORGE.jwk("k", "RSA")];
    assert_eq!(key_set(&kinds).unwrap().len(), 2);
}

#[test]
fn a_set_includes_what_it_still_holds() {
    let (a, b) = (FORGE.jwk("a", "P-256"), OTHER.jwk("b", "P-256"));
    let both = key_set(&[a.clone(), b.clone()]).unwrap();
    let one = key_set(&[a]).unwrap();
    assert!(both.includes(&one));
    assert!(!one.includes(&both));
    let replaced = key_set(&[OTHER.jwk("a", "P-256"), b]).unwrap();
    assert!(!replaced.includes(&one));
}
