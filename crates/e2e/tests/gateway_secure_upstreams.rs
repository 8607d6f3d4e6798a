//! Upstreams over TLS: whoever is not who was asked for gets no request.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::path::Path;

use e2e::gateway::{Gateway, PATIENCE, assert_refusal, config};
use e2e::wait::eventually;
use origin::{Authority, Origin};
use tempfile::TempDir;

#[path = "secure/origin.rs"]
mod origin;

/// What upstreams here are called: by no name that could lead to two addresses.
const HOST: &str = "127.0.0.1";

/// A section whose upstream is known as `name`, with a certificate from the authority in this file.
fn section(origin: &Origin, name: &str, ca: &Path) -> String {
    format!(
        "[[gateway.routes]]\nupstream = \"main\"\n[gateway.upstreams.main]\n\
         endpoints = [\"https://{name}:{}\"]\nca = {ca:?}\n",
        origin.addr.port(),
    )
}

/// A gateway before an upstream, and the file of the authority it trusts.
async fn gateway(origin: &Origin, authority: &Authority) -> (Gateway, TempDir) {
    let files = tempfile::tempdir().unwrap();
    let ca = files.path().join("ca.pem");
    std::fs::write(&ca, &authority.pem).unwrap();
    (Gateway::start(&section(origin, HOST, &ca)).await, files)
}

// req: GW-01, GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_is_asked_over_tls_when_it_is_who_it_should_be() {
    let authority = Authority::new();
    let origin = Origin::start(authority.identity(HOST)).await;
    let (gateway, _files) = gateway(&origin, &authority).await;
    for asked in 1..=3 {
        let answer = gateway.get("/a").await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "secure"));
        assert_eq!(origin.received(), asked);
    }
    gateway.end().await;
}

// req: GW-01, GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_another_name_or_signer_is_refused_before_a_request_is_sent() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let named = Origin::start(authority.identity("other.test")).await;
    let signed = Origin::start(stranger.identity(HOST)).await;
    for origin in [named, signed] {
        let (gateway, _files) = gateway(&origin, &authority).await;
        let answer = gateway.get("/a").await;
        assert_refusal(&answer, 502, "upstream-unreachable");
        assert_eq!(origin.received(), 0);
        gateway.end().await;
    }
}

// req: GW-16, KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_config_whose_files_cannot_be_used_changes_nothing_and_the_status_says_why() {
    let authority = Authority::new();
    let origin = Origin::start(authority.identity(HOST)).await;
    let (gateway, files) = gateway(&origin, &authority).await;
    let other = files.path().join("other.pem");
    for text in [None, Some("no certificate")] {
        if let Some(text) = text {
            std::fs::write(&other, text).unwrap();
        }
        let before = gateway.config_status().await["reloads"].clone();
        let section = section(&origin, HOST, &other);
        gateway.process.replace_config(&config(&section)).unwrap();
        eventually("the reload is tried", PATIENCE, async || {
            gateway.config_status().await["reloads"] != before
        })
        .await;
        let status = gateway.config_status().await;
        assert_eq!(
            (&status["last_result"], &status["generation"]),
            (&"invalid".into(), &1.into())
        );
        let said = status["last_error"].as_str().unwrap();
        assert!(said.contains("other.pem"), "{said}");
        assert_eq!(gateway.get("/a").await.text(), "secure");
    }
    std::fs::write(&other, &authority.pem).unwrap();
    gateway.process.signal(libc::SIGHUP).unwrap();
    eventually("the file is there now", PATIENCE, async || {
        gateway.config_status().await["generation"] == 2
    })
    .await;
    assert_eq!(gateway.config_status().await["last_error"], "");
    assert_eq!(gateway.get("/a").await.text(), "secure");
    gateway.end().await;
}

// req: GW-16, KN-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whom_an_upstream_must_be_signed_by_is_taken_over_when_its_file_is_written() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let origin = Origin::start(authority.identity(HOST)).await;
    let (gateway, files) = gateway(&origin, &authority).await;
    let ca = files.path().join("ca.pem");
    assert_eq!(gateway.get("/a").await.status, 200);
    std::fs::write(&ca, &stranger.pem).unwrap();
    eventually("it is trusted no longer", PATIENCE, async || {
        gateway.get("/a").await.status != 200
    })
    .await;
    std::fs::write(&ca, &authority.pem).unwrap();
    eventually("it is trusted again", PATIENCE, async || {
        gateway.get("/a").await.status == 200
    })
    .await;
    gateway.end().await;
}
