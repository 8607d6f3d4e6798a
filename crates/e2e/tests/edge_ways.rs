//! The ways to the edge: TLS with HTTP/2, packs from the command line, the demonstration's map, a purge.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::sync::Arc;

use bytes::Bytes;
use e2e::edge::{Edge, home, picture, place};
use e2e::gateway::PATIENCE;
use e2e::{START, binary};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use serde_json::Value;
use testkit::http::{self, request_bytes};
use testkit::process::Program;
use testkit::upstream::{Reply, Upstream};
use tokio::net::TcpStream;

// req: ED-01, ED-06
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiles_come_over_tls_and_http_2_too() {
    let made = rcgen::generate_simple_self_signed(vec!["tiles.test".to_owned()]).unwrap();
    let files = home();
    let cert = place(files.path(), "cert.pem", made.cert.pem().as_bytes());
    let key = place(
        files.path(),
        "key.pem",
        made.signing_key.serialize_pem().as_bytes(),
    );
    let section = format!(
        "[edge.tls]\nlisten = [\"127.0.0.1:0\"]\ncertificates = [{{ cert = {cert:?}, key = {key:?} }}]\n"
    );
    let edge = Edge::start(&[("p.pmtiles", picture(5))], &section).await;
    let door = edge.process.addr("edge.tls", START).await.unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = TcpStream::connect(door).await.unwrap();
    let name = ServerName::try_from("tiles.test").unwrap();
    let stream = TokioIo::new(connector.connect(name, stream).await.unwrap());
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream)
            .await
            .unwrap();
    let driver = tokio::spawn(connection);
    for (method, path, expected) in [
        ("GET", "/tiles/p/0/0/0.png", Some(picture_tile())),
        ("HEAD", "/tiles/p/0/0/0.png", Some(Vec::new())),
        ("GET", "/tiles/p.json", None),
    ] {
        let request = hyper::Request::builder()
            .method(method)
            .uri(format!("https://tiles.test{path}"))
            .body(Empty::<Bytes>::new())
            .unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), 200, "{method} {path}");
        let length = answer.headers()["content-length"]
            .to_str()
            .unwrap()
            .to_owned();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        match expected {
            Some(expected) => {
                assert!(body == expected, "{method} {path}");
                assert_eq!(length, "2001");
            }
            None => {
                let json: Value = serde_json::from_slice(&body).unwrap();
                assert_eq!(
                    json["tiles"][0],
                    "https://tiles.test/tiles/p/{z}/{x}/{y}.png"
                );
            }
        }
    }
    drop(sender);
    driver.abort();
    edge.end().await;
}

/// What stands at 0/0/0 of [`picture`] 5.
fn picture_tile() -> Vec<u8> {
    [&[5; 2000][..], &[0]].concat()
}

// req: ED-01, ED-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packs_of_the_command_line_are_served_without_a_config() {
    let files = home();
    let world = place(files.path(), "my world.pmtiles", &picture(1));
    let program = Program::new(binary()).unwrap().arg("tiles").arg(&world);
    let program = program.args(["--listen", "127.0.0.1:0"]);
    let program = program.args(["--set", "admin.listen=127.0.0.1:0"]);
    let edge = Edge::of(program, files).await;
    let base = format!("http://{}", edge.door);
    for address in ["/preview/my-world", "/tiles/my-world.json"] {
        let told = edge.process.wait_for_line(
            |line| line.text.contains(&format!("{base}{address}")),
            START,
        );
        told.await.unwrap();
        assert_eq!(edge.get(address).await.status, 200, "{address}");
    }
    assert_eq!(edge.get("/tiles/my-world/0/0/0").await.body[0], 1);
    edge.process.signal(libc::SIGTERM).unwrap();
    assert_eq!(
        edge.process.wait_exit(PATIENCE).await.unwrap().code(),
        Some(0)
    );
}

// req: ED-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_purge_needs_the_token_and_leaves_nothing_behind() {
    let origin = Upstream::start().await.unwrap();
    let fresh = |body: &str| {
        Reply::default()
            .header("cache-control", "max-age=600")
            .body(body)
    };
    origin.set("/a", fresh("first"));
    let section = format!(
        "[[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"http://{}\"\n\
         private_networks = [\"127.0.0.0/8\"]\n[admin]\ntoken = \"secret\"\n",
        origin.addr()
    );
    let edge = Edge::start(&[], &section).await;
    assert_eq!(edge.get("/o/a").await.text(), "first");
    origin.set("/a", fresh("second"));
    assert_eq!(edge.get("/o/a").await.text(), "first");
    let purge = async |headers: &[(&str, &str)], query: &str| {
        let headers = [headers, &[("connection", "close")]].concat();
        let request = request_bytes(
            "POST",
            edge.admin,
            &format!("/edge/purge?{query}"),
            &headers,
            b"",
        );
        http::exchange(edge.admin, &request, PATIENCE)
            .await
            .unwrap()
    };
    let token = [("authorization", "Bearer secret")];
    assert_eq!(purge(&[], "url=/o/a").await.status, 401);
    assert_eq!(purge(&token, "everything").await.status, 400);
    assert_eq!(edge.get("/o/a").await.text(), "first");
    let done = purge(&token, "url=/o/a").await;
    let said: Value = serde_json::from_slice(&done.body).unwrap();
    assert_eq!((done.status, &said["purged"]), (200, &1.into()));
    assert_eq!(edge.get("/o/a").await.text(), "second");
    edge.end().await;
}
