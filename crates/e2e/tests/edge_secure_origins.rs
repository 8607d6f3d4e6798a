//! Origins over TLS: whoever is not who was asked for gets no request.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use e2e::edge::{Edge, home, place};
use origin::{Authority, Origin};
use testkit::http::Response;

#[path = "secure/origin.rs"]
mod origin;

/// What origins here are called: by no name that could lead to two addresses.
const HOST: &str = "127.0.0.1";

/// An edge before an origin that it knows as `name`, and whose certificate it wants from this authority.
async fn edge(origin: &Origin, name: &str, authority: &Authority) -> Edge {
    let files = home();
    let ca = place(files.path(), "ca.pem", authority.pem.as_bytes());
    let section = format!(
        "[[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"https://{name}:{}\"\nca = \"{}\"\ntries = 1\n\
         private_networks = [\"127.0.0.0/8\"]\n",
        origin.addr.port(),
        ca.display()
    );
    Edge::at(files, &section).await
}

fn reason(answer: &Response) -> &str {
    answer.header("x-macronode-reason").unwrap_or_default()
}

// req: ED-04, ED-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_origin_is_asked_over_tls_when_it_is_who_it_should_be() {
    let authority = Authority::new();
    let origin = Origin::start(authority.identity(HOST)).await;
    let edge = edge(&origin, HOST, &authority).await;
    let answer = edge.get("/o/a").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "secure"));
    assert_eq!(edge.get("/o/a").await.text(), "secure");
    assert_eq!(origin.received(), 1);
    edge.end().await;
}

// req: ED-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_another_name_or_signer_is_refused_before_a_request_is_sent() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    for (named, signer, why) in [
        ("other.test", &authority, "another name"),
        (HOST, &stranger, "another signer"),
    ] {
        let origin = Origin::start(signer.identity(named)).await;
        let edge = edge(&origin, HOST, &authority).await;
        let answer = edge.get("/o/a").await;
        assert_eq!(
            (answer.status, reason(&answer)),
            (502, "origin-untrusted"),
            "{why}"
        );
        assert_eq!(origin.received(), 0, "{why}");
        edge.end().await;
    }
}
