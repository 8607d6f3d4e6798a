//! The overlay over TLS: who shows a certificate that is listed may operate the node, nobody else by theirs.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use authority::{Authority, asked};
use e2e::overlay::{OPERATOR, Overlay, PATIENCE};

#[path = "secure/authority.rs"]
mod authority;

// req: ND-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_certificate_that_is_listed_may_operate() {
    let authority = Authority::new();
    let ((cert, key), root) = (authority.issue("node.test"), authority.file("root.pem"));
    let more = format!(
        "[overlay.tls]\nlisten = [\"127.0.0.1:0\"]\n\
         certificates = [{{ cert = {cert:?}, key = {key:?} }}]\n\
         client_certificates = \"optional\"\nclient_ca = {root:?}\n\
         [overlay.certificates]\n\"ops.test\" = \"operate\"\n\"look.test\" = \"read\"\n"
    );
    let node = Overlay::start(&more).await;
    let door = node.process.addr("overlay.tls", PATIENCE).await.unwrap();
    let post = "POST /v1/reload HTTP/1.1\r\nhost: node.test\r\ncontent-length: 0\r\n\r\n";
    let get = "GET /v1/status HTTP/1.1\r\nhost: node.test\r\n\r\n";
    for (name, request, status) in [
        ("ops.test", post, 202),
        ("look.test", get, 200),
        ("look.test", post, 403),
        ("other.test", get, 403),
    ] {
        let line = asked(authority.client(name), door, request).await;
        assert!(line.contains(&format!(" {status} ")), "{name}: {line}");
    }
    let by_token = node.ask("POST", "/v1/reload", Some(OPERATOR), "").await;
    assert_eq!(by_token.status, 202, "tokens count beside certificates");
}
