//! HTTP/2, with and without TLS, and TLS itself.

use std::convert::Infallible;
use std::sync::atomic::AtomicUsize;

use http::{HeaderMap, Response};
use http_body_util::{StreamBody, combinators::BoxBody};
use hyper::body::Frame;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::{ClientTls, Protocol, TlsText};

type AnyBody = BoxBody<Bytes, Infallible>;

/// Bytes of an answer that no window holds.
const LARGE: usize = 1 << 20;
/// Pieces of six bytes each that no window holds.
const SMALL: usize = 60_000;

/// A server of HTTP/2, or of HTTP/1 when asked for, behind TLS if there is any.
struct Server {
    url: String,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start(tls: Option<TlsAcceptor>, protocol: Protocol) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let connections = Arc::<AtomicUsize>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, tls, protocol, connections.clone()));
        Self {
            url,
            connections,
            _tasks: tasks,
        }
    }

    fn spec(&self, protocol: Protocol) -> PoolSpec {
        PoolSpec {
            protocol,
            ..PoolSpec::new("test", vec![EndpointSpec::parse(&self.url).unwrap()])
        }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    protocol: Protocol,
    connections: Arc<AtomicUsize>,
) {
    let mut tasks = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.fetch_add(1, Ordering::Relaxed);
        let tls = tls.clone();
        tasks.spawn(async move {
            match tls {
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, protocol).await;
                    }
                }
                None => serve(stream, protocol).await,
            }
        });
    }
}

async fn serve<S>(stream: S, protocol: Protocol)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (io, service) = (TokioIo::new(stream), service_fn(answer));
    // How a connection ends is the client's affair here.
    let _ended = match protocol {
        Protocol::Http1 => {
            let server = hyper::server::conn::http1::Builder::new();
            server.serve_connection(io, service).await
        }
        Protocol::H2 => {
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            server.serve_connection(io, service).await
        }
    };
}

async fn answer(
    request: Request<hyper::body::Incoming>,
) -> Result<Response<AnyBody>, &'static str> {
    let body = match request.uri().path() {
        "/reset" => return Err("this stream is not wanted"),
        "/leave" => {
            tokio::time::sleep(Duration::from_millis(700)).await;
            return Err("it does not come");
        }
        "/slow" => {
            tokio::time::sleep(Duration::from_millis(100)).await;
            Full::new(Bytes::from_static(b"late")).boxed()
        }
        "/authority" => {
            let authority = request.uri().authority();
            let said = authority.map_or(String::new(), |one| one.to_string());
            Full::new(Bytes::from(said)).boxed()
        }
        "/large" => Full::new(Bytes::from(vec![b'x'; LARGE])).boxed(),
        "/small" => {
            let piece = || Ok(Frame::data(Bytes::from_static(b"little")));
            let pieces = std::iter::repeat_with(piece).take(SMALL);
            BodyExt::boxed(StreamBody::new(futures_util::stream::iter(pieces)))
        }
        "/trailers" => {
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", "0".parse().unwrap());
            let data = Frame::data(Bytes::from_static(b"message"));
            let frames = [Ok(data), Ok(Frame::trailers(trailers))];
            BodyExt::boxed(StreamBody::new(futures_util::stream::iter(frames)))
        }
        _ => request
            .into_body()
            .collect()
            .await
            .map_err(|_| "cut")?
            .boxed(),
    };
    let response = Response::builder().header("trailer", "grpc-status");
    Ok(response.body(body).unwrap())
}

/// A certificate for 127.0.0.1 that vouches for itself.
fn certificate(protocol: Protocol) -> (TlsAcceptor, String) {
    certificate_and(vec![match protocol {
        Protocol::Http1 => b"http/1.1".to_vec(),
        Protocol::H2 => b"h2".to_vec(),
    }])
}

/// The same, of a server that agrees to these protocols.
fn certificate_and(protocols: Vec<Vec<u8>>) -> (TlsAcceptor, String) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::from_pem_slice(made.signing_key.serialize_pem().as_bytes()).unwrap();
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let mut config = rustls::ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = protocols;
    (TlsAcceptor::from(Arc::new(config)), made.cert.pem())
}

fn trusting(pem: &str) -> ClientTls {
    ClientTls::new(TlsText {
        roots: pem.as_bytes(),
        ..TlsText::default()
    })
    .unwrap()
}

// req: GW-01
#[tokio::test]
async fn many_requests_share_one_http2_connection() {
    let server = Server::start(None, Protocol::H2).await;
    let pool = pool(server.spec(Protocol::H2));
    let burst = (0..20).map(|_| fetch(&pool, "/slow"));
    for answer in futures_util::future::join_all(burst).await {
        assert_eq!(answer.unwrap(), (200, Bytes::from_static(b"late")));
    }
    assert_eq!(server.connections(), 1);
    let view = only(&pool);
    assert_eq!((view.idle, view.busy, view.in_flight), (1, 0, 0));
    assert_eq!(fetch(&pool, "/authority").await.unwrap().1, "test.example");
}

// req: GW-01
#[tokio::test]
async fn streams_are_bounded_and_more_go_over_another_connection() {
    let server = Server::start(None, Protocol::H2).await;
    let pool = pool(PoolSpec {
        max_streams: 4,
        max_connections: 2,
        ..server.spec(Protocol::H2)
    });
    let until = clock::now() + PATIENCE;
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(pick(&pool).ready(until).await.unwrap());
    }
    assert_eq!(server.connections(), 2);
    assert_eq!(try_pick(&pool).map(drop), Err(NoEndpoint::AllBusy));
    held.pop();
    assert_eq!(fetch(&pool, "/slow").await.unwrap().0, 200);
}

// req: GW-01
#[tokio::test]
async fn a_stream_that_is_reset_takes_no_other_with_it() {
    let server = Server::start(None, Protocol::H2).await;
    let pool = pool(server.spec(Protocol::H2));
    let (slow, reset) = tokio::join!(fetch(&pool, "/slow"), fetch(&pool, "/reset"));
    assert_eq!(slow.unwrap().0, 200);
    let error = reset.unwrap_err();
    assert_eq!(error.cause(), Cause::StreamReset, "{error}");
    assert!(error.may_have_reached());
    assert_eq!((server.connections(), only(&pool).failures), (1, 1));
}

// req: GT-07
#[tokio::test]
async fn a_stream_that_is_reset_after_a_long_wait_for_the_request_says_nothing_about_its_endpoint()
{
    let server = Server::start(None, Protocol::H2).await;
    let pool = pool(server.spec(Protocol::H2));
    for (path, cause, failures) in [
        ("/leave", Cause::KeptWaiting, 0),
        ("/reset", Cause::StreamReset, 1),
    ] {
        let never = futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>();
        let request = Request::post(path).body(StreamBody::new(never)).unwrap();
        let sent = pick(&pool).send(request, clock::now() + PATIENCE).await;
        let error = sent.map(drop).unwrap_err();
        assert_eq!(error.cause(), cause, "{error}");
        assert_eq!(only(&pool).failures, failures);
    }
}

// Neither waits for the bytes of one client until another has read its own, nor ends with it.
// req: GW-01, GW-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_reads_are_in_no_others_way() {
    for (path, unread, length) in [("/large", 20, LARGE), ("/small", 3, SMALL * 6)] {
        let server = Server::start(None, Protocol::H2).await;
        let pool = pool(server.spec(Protocol::H2));
        let until = clock::now() + PATIENCE;
        let mut held = Vec::new();
        for _ in 0..unread {
            held.push(pick(&pool).send(get(path), until).await.unwrap());
        }
        for _ in 0..3 {
            assert_eq!(fetch(&pool, "/slow").await.unwrap().1, "late", "{path}");
        }
        for response in held {
            let read = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(read.len(), length, "{path}");
        }
        assert_eq!(server.connections(), 1, "{path}");
    }
}

// req: GW-01
#[tokio::test]
async fn trailers_pass_over_both_protocols() {
    for protocol in [Protocol::H2, Protocol::Http1] {
        let server = Server::start(None, protocol).await;
        let pool = pool(server.spec(protocol));
        let until = clock::now() + PATIENCE;
        let request = Request::get("/trailers").header("te", "trailers");
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        let response = pick(&pool).send(request, until).await.unwrap();
        let exact = hyper::body::Body::size_hint(response.body()).exact();
        assert_eq!(exact, None, "a length would leave no place for them");
        let collected = response.into_body().collect().await.unwrap();
        assert_eq!(collected.trailers().unwrap()["grpc-status"], "0");
        assert_eq!(collected.to_bytes(), "message");
        assert_eq!((only(&pool).idle, only(&pool).busy), (1, 0));
    }
}

// req: GW-01
#[tokio::test]
async fn a_request_body_goes_over_http2() {
    let server = Server::start(None, Protocol::H2).await;
    let pool = pool(server.spec(Protocol::H2));
    let body = Bytes::from(vec![b'x'; 700_000]);
    let request = Request::post("/echo")
        .body(Full::new(body.clone()))
        .unwrap();
    let until = clock::now() + PATIENCE;
    let response = pick(&pool).send(request, until).await.unwrap();
    let echoed = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(echoed, body);
}

// req: GW-01
#[tokio::test]
async fn a_trusted_peer_is_spoken_to_in_the_protocol_it_agreed_to() {
    for protocol in [Protocol::Http1, Protocol::H2] {
        let (acceptor, pem) = certificate(protocol);
        let server = Server::start(Some(acceptor), protocol).await;
        let pool = pool(PoolSpec {
            tls: Some(trusting(&pem)),
            ..server.spec(protocol)
        });
        for _ in 0..3 {
            assert_eq!(fetch(&pool, "/slow").await.unwrap().1, "late");
        }
        assert_eq!(server.connections(), 1);
    }
}

// RFC 9113, 3.2: what was not agreed on may be taken for something else.
// req: GW-01
#[tokio::test]
async fn a_server_that_does_not_choose_http2_hears_nothing_of_it() {
    for protocols in [vec![], vec![b"http/1.1".to_vec()]] {
        let (acceptor, pem) = certificate_and(protocols);
        let server = Server::start(Some(acceptor), Protocol::H2).await;
        let pool = pool(PoolSpec {
            tls: Some(trusting(&pem)),
            ..server.spec(Protocol::H2)
        });
        let error = fetch(&pool, "/").await.unwrap_err();
        let seen = (error.stage(), error.cause());
        assert_eq!(seen, (Stage::Handshake, Cause::Untrusted), "{error}");
        assert!(!error.may_have_reached());
    }
    let (acceptor, pem) = certificate_and(Vec::new());
    let server = Server::start(Some(acceptor), Protocol::Http1).await;
    let pool = pool(PoolSpec {
        tls: Some(trusting(&pem)),
        ..server.spec(Protocol::Http1)
    });
    assert_eq!(fetch(&pool, "/slow").await.unwrap().1, "late");
}

// req: GW-01
#[tokio::test]
async fn a_peer_nobody_vouches_for_gets_no_request() {
    let (acceptor, _) = certificate(Protocol::Http1);
    let (_, other) = certificate(Protocol::Http1);
    let server = Server::start(Some(acceptor), Protocol::Http1).await;
    let pool = pool(PoolSpec {
        tls: Some(trusting(&other)),
        ..server.spec(Protocol::Http1)
    });
    let error = fetch(&pool, "/").await.unwrap_err();
    let seen = (error.stage(), error.cause());
    assert_eq!(seen, (Stage::Handshake, Cause::Untrusted), "{error}");
    assert!(!error.may_have_reached());
}

// req: GW-01, GW-16
#[tokio::test]
async fn the_same_certificates_read_again_close_nothing_and_others_do() {
    let (acceptor, pem) = certificate(Protocol::Http1);
    let server = Server::start(Some(acceptor), Protocol::Http1).await;
    let of = |pem: &str| PoolSpec {
        tls: Some(trusting(pem)),
        ..server.spec(Protocol::Http1)
    };
    let pool = pool(of(&pem));
    fetch(&pool, "/").await.unwrap();
    pool.update(of(&pem));
    fetch(&pool, "/").await.unwrap();
    assert_eq!(server.connections(), 1);
    let (_, more) = certificate(Protocol::Http1);
    pool.update(of(&format!("{pem}{more}")));
    fetch(&pool, "/").await.unwrap();
    assert_eq!((server.connections(), only(&pool).idle), (2, 1));
}

// What a name leads to is looked at when it is dialled: no second answer of a resolver gets past that.
// attack: F-15, F-16, L-02
#[tokio::test]
async fn an_inner_address_is_not_dialled_where_only_public_ones_may_be() {
    let origin = Upstream::start().await.unwrap();
    let pool = pool(PoolSpec {
        allow: crate::Allow::PublicOnly {
            exceptions: [].into(),
        },
        ..spec(&[&origin])
    });
    let error = fetch(&pool, "/").await.unwrap_err();
    let seen = (error.stage(), error.cause());
    assert_eq!(seen, (Stage::Connect, Cause::Forbidden));
    assert_eq!(origin.connections(), 0);
}
