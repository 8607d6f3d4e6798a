//! Callers that client certificates name.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use authority::{Authority, asked};
use e2e::gateway::{Gateway, PATIENCE, to};
use testkit::upstream::Upstream;

#[path = "secure/authority.rs"]
mod authority;

// req: GW-12
// attack: H-02
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_shows_a_certificate_stays_who_it_is_whatever_it_brings_for_the_upstream() {
    let authority = Authority::new();
    let ((cert, key), root) = (authority.issue("node.test"), authority.file("root.pem"));
    let upstream = Upstream::start().await.unwrap();
    let section = format!(
        "[gateway.tls]\nlisten = [\"127.0.0.1:0\"]\n\
         certificates = [{{ cert = {cert:?}, key = {key:?} }}]\n\
         client_certificates = \"optional\"\nclient_ca = {root:?}\n\
         [gateway.identity]\nrequired = true\n\
         [[gateway.identity.certificates]]\nsubject = \"worker.test\"\ntenant = \"batch\"\n\
         [gateway.quota]\nverifications_per_ip = {{ per_second = 1, burst = 1 }}\n\
         [[gateway.policy.rules]]\nverdict = \"deny\"\nmethods = [\"PUT\"]\ntenants = [\"batch\"]\n\
         [[gateway.policy.rules]]\nverdict = \"allow\"\n{}",
        to(upstream.addr(), "")
    );
    let gateway = Gateway::start(&section).await;
    let door = gateway.process.addr("gateway.tls", PATIENCE).await.unwrap();
    let long = format!("authorization: Bearer {}", "a".repeat(9_000));
    let brought = [
        "accept: */*",
        "authorization: Bearer eyJhbGciOiJSUzI1NiJ9.e30.AAAA",
        "authorization: Bearer a b",
        "authorization: Bearer mp1_AAAA",
        &long,
        "x-api-key: the-upstreams-own",
    ];
    for line in brought {
        for (method, status) in [("GET", 200), ("PUT", 403)] {
            let request = format!(
                "{method} / HTTP/1.1\r\nhost: node.test\r\n{line}\r\ncontent-length: 0\r\n\r\n"
            );
            let answer = asked(authority.client("worker.test"), door, &request).await;
            let said = format!(" {status} ");
            assert!(answer.contains(&said), "{method}, {line:.60}: {answer}");
        }
        let seen = upstream.requests().pop().unwrap().head.unwrap().headers;
        assert_eq!(seen.get("x-tenant"), Some("batch"), "{line:.60}");
        let (name, value) = line.split_once(": ").unwrap();
        assert_eq!(seen.get(name), Some(value), "it is passed on");
    }
}
