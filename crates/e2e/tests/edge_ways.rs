//! The ways to the edge: TLS with HTTP/2, packs from the command line, the demonstration's map, a purge.

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

// req: ED-01
// attack: L-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_can_be_read_in_two_ways_is_refused_and_its_connection_closed() {
    let edge = Edge::start(&[("p.pmtiles", picture(1))], "").await;
    for lines in [
        "host: tiles.test\r\nhost: other.test\r\n",
        "host: tiles.test\r\n folded: line\r\n",
        "host: tiles.test\nx: y\r\n",
        "host: tiles.test\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        "host: tiles.test\r\ncontent-length: 1\r\ncontent-length: 2\r\n",
        "",
    ] {
        let mut connection = edge.connect().await;
        let request = format!("GET /tiles/p/0/0/0 HTTP/1.1\r\n{lines}\r\n");
        connection.send(request.as_bytes()).await.unwrap();
        let (bytes, closed) = connection.read_until_close(PATIENCE).await;
        let said = String::from_utf8_lossy(&bytes);
        assert!(said.starts_with("HTTP/1.1 400"), "{lines:?}: {said}");
        assert!(closed, "{lines:?}");
    }
    // Whichever length is meant, nothing of it is taken for a second request.
    let both = "GET /tiles/p/0/0/0 HTTP/1.1\r\nhost: tiles.test\r\ncontent-length: 5\r\n\
                transfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: tiles.test\r\n\r\n";
    let mut connection = edge.connect().await;
    connection.send(both.as_bytes()).await.unwrap();
    let (bytes, closed) = connection.read_until_close(PATIENCE).await;
    let answers = String::from_utf8_lossy(&bytes).matches("HTTP/1.1 ").count();
    assert_eq!((answers, closed), (1, true));
    edge.end().await;
}

// req: ED-08
// attack: L-25
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_behind_is_not_told_in_front() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let section = format!(
        "[[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"http://{address}\"\npath = \"/secret\"\n\
         private_networks = [\"127.0.0.0/8\"]\ntries = 1\n"
    );
    let edge = Edge::start(&[("bad.pmtiles", b"PMTiles".to_vec())], &section).await;
    let answer = edge.get("/o/a").await;
    assert!(matches!(answer.status, 502..=504), "{}", answer.status);
    for answer in [
        answer,
        edge.get("/tiles/bad/0/0/0").await,
        edge.get("/packs").await,
    ] {
        let said = format!("{:?} {}", answer.headers, answer.text());
        let home = edge.home().to_str().unwrap();
        for secret in ["secret", "127.0.0.1", home] {
            assert!(!said.contains(secret), "{secret} in {said}");
        }
    }
    edge.end().await;
}
