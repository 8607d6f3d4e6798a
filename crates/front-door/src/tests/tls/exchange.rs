//! How keys are agreed on: safe from quantum computers wherever the client can, always, or never.

use rustls::HandshakeKind;
use rustls::crypto::aws_lc_rs::kx_group::{SECP256R1, X25519, X25519MLKEM768};

use super::client::Client;
use super::*;
use crate::KeyExchange;

async fn house_with(authority: &Authority, key_exchange: KeyExchange) -> House {
    let files = authority.files(vec![authority.issue("a", &["a.test"])]);
    house(&TlsFiles {
        key_exchange,
        ..files
    })
    .await
}

/// A client that knows these groups, sends a share for the first of them, and would rather have it too.
fn knowing(
    authority: &Authority,
    groups: &[&'static dyn rustls::crypto::SupportedKxGroup],
) -> Client {
    let mut client = authority.client();
    client.groups = Some(groups.to_vec());
    client
}

/// The group that was agreed on, or the alert.
async fn agreed(client: &Client, house: &House) -> String {
    match client.get(house, "a.test").await {
        Ok(answer) => {
            let (_, rest) = answer.split_once("group: \"").unwrap();
            rest.split('"').next().unwrap().to_owned()
        }
        Err(error) => error.to_string(),
    }
}

// req: GW-01, ND-06
#[tokio::test]
async fn by_default_it_is_hybrid_where_the_client_can_and_counted_by_group() {
    let authority = Authority::new();
    let open = house_with(&authority, KeyExchange::default()).await;
    assert_eq!(agreed(&authority.client(), &open).await, "X25519MLKEM768");
    assert_eq!(
        agreed(&knowing(&authority, &[X25519]), &open).await,
        "X25519"
    );
    let other = knowing(&authority, &[SECP256R1]);
    assert_eq!(agreed(&other, &open).await, "secp256r1");
    for group in ["X25519MLKEM768", "X25519", "secp256r1"] {
        assert_eq!(handshakes(&open, group, "full"), 1, "{group}");
    }
    let mut old = authority.client();
    old.versions = vec![&rustls::version::TLS12];
    let answer = old.get(&open, "a.test").await.unwrap();
    assert!(answer.contains("TLSv1.2"), "{answer}");
}

// req: ND-06
#[tokio::test]
async fn a_client_that_can_is_asked_again_however_it_would_rather_have_it() {
    let authority = Authority::new();
    for exchange in [
        KeyExchange::PreferPostQuantum,
        KeyExchange::RequirePostQuantum,
    ] {
        let house = house_with(&authority, exchange).await;
        for first in [X25519, SECP256R1] {
            let client = knowing(&authority, &[first, X25519MLKEM768]);
            let mut stream = client.connect(&house, "a.test").await.unwrap();
            // Once it has answered, it has counted.
            stream.write_all(GET).await.unwrap();
            let (_, answer) = until_closed(&mut stream).await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            let session = stream.get_ref().1;
            let kind = session.handshake_kind();
            assert_eq!(kind, Some(HandshakeKind::FullWithHelloRetryRequest));
            let group = session.negotiated_key_exchange_group().unwrap();
            assert_eq!(group.name(), X25519MLKEM768.name());
        }
        assert_eq!(handshakes(&house, "X25519MLKEM768", "full"), 2);
    }
}

// req: ND-06
#[tokio::test]
async fn where_it_is_required_others_get_an_alert_and_are_counted() {
    let authority = Authority::new();
    let strict = house_with(&authority, KeyExchange::RequirePostQuantum).await;
    assert_eq!(agreed(&authority.client(), &strict).await, "X25519MLKEM768");
    let error = agreed(&knowing(&authority, &[X25519, SECP256R1]), &strict).await;
    assert!(error.contains("HandshakeFailure"), "{error}");
    assert_eq!(refused(&strict, "key-exchange"), 1);
    let mut old = authority.client();
    old.versions = vec![&rustls::version::TLS12];
    let error = old.get(&strict, "a.test").await.unwrap_err();
    assert!(error.to_string().contains("ProtocolVersion"), "{error}");
    assert_eq!(refused(&strict, "version"), 1);
    assert_eq!(handshakes(&strict, "X25519", "full"), 0);
}

// req: ND-06
#[tokio::test]
async fn switched_off_it_is_never_hybrid() {
    let authority = Authority::new();
    let house = house_with(&authority, KeyExchange::Classical).await;
    assert_eq!(agreed(&authority.client(), &house).await, "X25519");
    let error = agreed(&knowing(&authority, &[X25519MLKEM768]), &house).await;
    assert!(error.contains("HandshakeFailure"), "{error}");
    assert_eq!(refused(&house, "key-exchange"), 1);
}

// req: ND-06
#[tokio::test]
async fn a_session_that_began_classical_is_not_taken_up_as_hybrid_without_a_new_exchange() {
    let authority = Authority::new();
    let house = house_with(&authority, KeyExchange::PreferPostQuantum).await;
    let mut client = knowing(&authority, &[X25519]);
    assert_eq!(agreed(&client, &house).await, "X25519");
    // The same client, after an update: it has a ticket, and knows more.
    client.groups = Some(vec![X25519MLKEM768, X25519]);
    assert_eq!(agreed(&client, &house).await, "X25519MLKEM768");
}
