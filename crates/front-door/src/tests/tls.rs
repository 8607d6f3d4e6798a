//! TLS over real sockets: who gets in, by which name, and how.

use rustls::client::ClientSessionMemoryCache;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::{ClientCertificates, Tls, TlsFiles};
use client::{Authority, Careless, get};

mod client;
mod exchange;

const GET: &[u8] = b"GET /who HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

async fn house(files: &TlsFiles) -> House {
    let tls = Some(Arc::new(Tls::load(files).unwrap()));
    House::open(DoorSettings { tls, ..quick() }).await
}

fn handshakes(house: &House, group: &'static str, kind: &'static str) -> u64 {
    let spec = &crate::door::HANDSHAKES;
    house
        .kernel
        .registry
        .counter(spec, &["door", group, kind])
        .get()
}

fn refused(house: &House, reason: &'static str) -> u64 {
    let spec = &crate::door::FAILURES;
    house.kernel.registry.counter(spec, &["door", reason]).get()
}

// req: GW-01
// attack: C-10
#[tokio::test]
async fn each_name_gets_its_certificate_and_an_unknown_one_an_alert() {
    let authority = Authority::new();
    let certificates = vec![
        authority.issue("a", &["a.test"]),
        authority.issue("wild", &["*.b.test", "b.test"]),
    ];
    let house = house(&authority.files(certificates)).await;
    for name in ["a.test", "b.test", "x.b.test", "X.B.Test"] {
        // That the certificate fits is the client's judgement.
        let answer = authority.client().get(&house, name).await.unwrap();
        let expected = format!("server_name: Some(\"{}\")", name.to_ascii_lowercase());
        assert!(answer.contains(&expected), "{answer}");
    }
    for name in ["c.test", "x.y.b.test", "127.0.0.1"] {
        let error = authority.client().get(&house, name).await.unwrap_err();
        assert!(error.to_string().contains("alert"), "{error}");
    }
    assert_eq!(refused(&house, "other"), 3);
}

// attack: C-10
#[tokio::test]
async fn a_default_certificate_is_for_whoever_asks_for_none_that_is_known() {
    let authority = Authority::new();
    let files = TlsFiles {
        first_is_default: true,
        ..authority.files(vec![authority.issue("a", &["a.test", "127.0.0.1"])])
    };
    let house = house(&files).await;
    let answer = authority.client().get(&house, "127.0.0.1").await.unwrap();
    assert!(answer.contains("server_name: None"), "{answer}");
}

// req: GW-01
// attack: C-06, C-07
#[tokio::test]
async fn the_protocol_is_what_the_handshake_says() {
    let authority = Authority::new();
    let house = house(&authority.files(vec![authority.issue("a", &["a.test"])])).await;
    let mut client = authority.client();
    client.alpn = Vec::new();
    let answer = client.get(&house, "a.test").await.unwrap();
    assert!(
        answer.contains("protocol: H1"),
        "without a word it is HTTP/1.1: {answer}"
    );
    client.alpn = vec![b"spdy/3".to_vec()];
    let error = client.get(&house, "a.test").await.unwrap_err();
    assert!(
        error.to_string().contains("NoApplicationProtocol"),
        "{error}"
    );
    client.alpn = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    let stream = client.connect(&house, "a.test").await.unwrap();
    let (mut requests, connection) = ::h2::client::handshake(stream).await.unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test's own task")]
    tokio::spawn(connection);
    let request = Request::get("https://a.test/").body(()).unwrap();
    let (answer, _) = requests.send_request(request, true).unwrap();
    assert_eq!(answer.await.unwrap().status(), 200);
}

// req: GW-12
#[tokio::test]
async fn a_client_certificate_is_asked_for_checked_and_passed_on() {
    let authority = Authority::new();
    let stranger = Authority::new();
    let mut files = authority.files(vec![authority.issue("a", &["a.test"])]);
    let (mut known, mut unknown) = (authority.client(), authority.client());
    known.identity = Some(authority.issue("billing", &["billing.test"]));
    unknown.identity = Some(stranger.issue("billing", &["billing.test"]));
    files.clients = ClientCertificates::Optional(authority.root.clone());
    let optional = house(&files).await;
    let answer = known.get(&optional, "a.test").await.unwrap();
    assert!(
        answer.contains("CN=billing") && answer.contains("billing.test"),
        "{answer}"
    );
    let answer = authority.client().get(&optional, "a.test").await.unwrap();
    assert!(answer.contains("client: None"), "{answer}");
    assert!(unknown.get(&optional, "a.test").await.is_err());

    files.clients = ClientCertificates::Required(authority.root.clone());
    let required = house(&files).await;
    assert!(known.get(&required, "a.test").await.is_ok());
    assert!(authority.client().get(&required, "a.test").await.is_err());
    assert!(unknown.get(&required, "a.test").await.is_err());
}

// attack: C-12, C-14
#[tokio::test]
async fn a_session_is_taken_up_again_for_its_own_name_only() {
    let authority = Authority::new();
    let certificates = vec![
        authority.issue("a", &["a.test"]),
        authority.issue("b", &["b.test"]),
    ];
    let files = authority.files(certificates);
    let first = house(&files).await;
    let mut client = authority.client();
    for versions in [&rustls::version::TLS13, &rustls::version::TLS12] {
        client.versions = vec![versions];
        client.sessions = Arc::new(Careless(ClientSessionMemoryCache::new(8)));
        // A session belongs to the configuration it was made with.
        let config = Arc::new(client.config());
        for (name, resumed) in [("a.test", false), ("a.test", true), ("b.test", false)] {
            let answer = get(&config, &first, name).await.unwrap();
            assert!(answer.contains(&format!("resumed: {resumed}")), "{answer}");
        }
    }
    assert_eq!(first.live(), 0);
    // No early data is offered, so none can be replayed.
    client.versions = vec![&rustls::version::TLS13];
    let stream = client.connect(&first, "b.test").await.unwrap();
    assert!(!stream.get_ref().1.is_early_data_accepted());
    assert_eq!(Tls::load(&files).unwrap().config.max_early_data_size, 0);
}

// req: GW-16
#[tokio::test]
async fn new_certificates_are_for_new_connections_and_lose_no_old_one() {
    let authority = Authority::new();
    let settings = |file: &str| {
        let files = authority.files(vec![authority.issue(file, &["a.test"])]);
        let tls = Some(Arc::new(Tls::load(&files).unwrap()));
        Arc::new(DoorSettings { tls, ..quick() })
    };
    let live = Arc::new(arc_swap::ArcSwap::new(settings("old")));
    let house = House::open_live(live.clone()).await;
    let client = authority.client();
    let serial =
        |stream: &TlsStream<TcpStream>| stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
    let mut before = client.connect(&house, "a.test").await.unwrap();
    live.store(settings("new"));
    let after = client.connect(&house, "a.test").await.unwrap();
    assert_ne!(serial(&before), serial(&after));
    before.write_all(GET).await.unwrap();
    let (_, answer) = until_closed(&mut before).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Asks for something on a connection that is kept.
async fn ask(stream: &mut TlsStream<TcpStream>) -> String {
    let asked = b"GET /who HTTP/1.1\r\nhost: a\r\n\r\n";
    stream.write_all(asked).await.unwrap();
    let mut answer = vec![0; 4096];
    let read = stream.read(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

// req: GW-12, GW-16
#[tokio::test]
async fn who_was_vouched_for_by_others_leaves_when_they_may_no_more() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let served = authority.issue("a", &["a.test"]);
    let settings = |vouchers: ClientCertificates| {
        let files = TlsFiles {
            clients: vouchers,
            ..authority.files(vec![served.clone()])
        };
        let idle = Duration::from_secs(30);
        let timeouts = Timeouts { idle, ..QUICK };
        let tls = Some(Arc::new(Tls::load(&files).unwrap()));
        Arc::new(DoorSettings {
            tls,
            timeouts,
            ..quick()
        })
    };
    let (mut known, nobody) = (authority.client(), authority.client());
    known.identity = Some(authority.issue("billing", &["billing.test"]));
    let ours = ClientCertificates::Optional(authority.root.clone());
    let others = ClientCertificates::Optional(stranger.root.clone());
    let live = Arc::new(arc_swap::ArcSwap::new(settings(ours.clone())));
    let house = House::open_live(live.clone()).await;
    for after in [others, ClientCertificates::Unasked] {
        live.store(settings(ours.clone()));
        let mut vouched = known.connect(&house, "a.test").await.unwrap();
        let mut unknown = nobody.connect(&house, "a.test").await.unwrap();
        for stream in [&mut vouched, &mut unknown] {
            assert!(ask(stream).await.starts_with("HTTP/1.1 200"));
        }
        known.alpn = vec![b"h2".to_vec()];
        let many = known.connect(&house, "a.test").await.unwrap();
        known.alpn = vec![b"http/1.1".to_vec()];
        let (mut requests, connection) = ::h2::client::handshake(many).await.unwrap();
        #[expect(clippy::disallowed_methods, reason = "a test's own task")]
        let shared = tokio::spawn(connection);
        let request = Request::get("https://a.test/").body(()).unwrap();
        let (answer, _) = requests.send_request(request, true).unwrap();
        assert_eq!(answer.await.unwrap().status(), 200);
        // The same again changes nothing.
        live.store(settings(ours.clone()));
        tokio::time::sleep(Duration::from_millis(1_300)).await;
        assert!(ask(&mut vouched).await.contains("CN=billing"));
        assert!(!shared.is_finished());
        live.store(settings(after));
        let (took, said) = until_closed(&mut vouched).await;
        let soon = took < Duration::from_secs(1) + LATE;
        assert!(soon && said.is_empty(), "{took:?} {said}");
        until("both have left", || shared.is_finished()).await;
        assert!(ask(&mut unknown).await.starts_with("HTTP/1.1 200"));
    }
}

// req: GW-03, ND-06
// attack: C-01, C-02, C-05, C-15
#[tokio::test]
async fn who_does_not_shake_hands_in_time_is_let_go() {
    let authority = Authority::new();
    let house = house(&authority.files(vec![authority.issue("a", &["a.test"])])).await;
    let mut silent = house.connect().await;
    let (took, _) = until_closed(&mut silent).await;
    assert_took(QUICK.handshake, took);

    let began = kernel::clock::now();
    let mut dripping = house.connect().await;
    for byte in [0x16, 3, 1, 2, 0, 1, 0, 1].into_iter().cycle() {
        if dripping.write_all(&[byte]).await.is_err() {
            break;
        }
        let took = kernel::clock::now() - began;
        assert!(took < QUICK.handshake + LATE, "drips do not prolong it");
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    // The drip may have been no hello at all; the silence was a timeout.
    assert!(house.timeouts("handshake") >= 1);
    for said in [GET, &[0x15, 3, 3, 0, 2, 1, 0], b""] {
        let mut stream = house.connect().await;
        stream.write_all(said).await.unwrap();
        stream.shutdown().await.unwrap();
        let (took, answer) = until_closed(&mut stream).await;
        assert!(took < QUICK.handshake, "{took:?}");
        assert!(!answer.contains("HTTP"), "{answer}");
    }
}

// attack: C-03, C-04, C-09
#[tokio::test]
async fn hellos_come_in_any_number_of_pieces_but_not_in_any_size_or_age() {
    let authority = Authority::new();
    let house = house(&authority.files(vec![authority.issue("a", &["a.test"])])).await;
    let name = ServerName::try_from("a.test").unwrap();
    let config = Arc::new(authority.client().config());
    let mut session = rustls::ClientConnection::new(config, name).unwrap();
    let mut hello = Vec::new();
    session.write_tls(&mut hello).unwrap();
    // In records of ten bytes, a few at a time.
    let records: Vec<u8> = hello[5..]
        .chunks(10)
        .flat_map(|part| [&[0x16, 3, 1, 0, part.len() as u8], part].concat())
        .collect();
    let mut stream = house.connect().await;
    for piece in records.chunks(333) {
        stream.write_all(piece).await.unwrap();
        tokio::task::yield_now().await;
    }
    let mut answer = [0; 3];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer[0], 0x16, "answered with a hello");

    let oversize = [&[0x16, 3, 1, 0x48, 1][..], &[1; 0x4801]].concat();
    let mut old = hello.clone();
    // A client that knows no version but 1.1.
    (old[9], old[10]) = (3, 2);
    let at = old.windows(3).position(|at| at == [0, 43, 0]).unwrap();
    old[at + 1] = 0xff;
    // And one as such clients are: it knows nothing of what came later.
    let body = [&[3, 2][..], &[7; 32], &[0, 0, 4, 0xc0, 0x13, 0, 0x2f, 1, 0]].concat();
    let length = body.len() as u8;
    let head = [0x16, 3, 1, 0, length + 4, 1, 0, 0, length];
    let ancient = [&head[..], &body].concat();
    for (said, alert) in [(oversize, None), (old, Some(70)), (ancient, Some(70))] {
        let mut stream = house.connect().await;
        let _closed_meanwhile = stream.write_all(&said).await.is_err();
        let mut read = Vec::new();
        let _reset = stream.read_to_end(&mut read).await.is_err();
        if let Some(alert) = alert {
            assert_eq!((read[0], read[6]), (0x15, alert), "{read:?}");
        }
        assert!(read.first().is_none_or(|kind| *kind == 0x15), "{read:?}");
    }
}

// req: ND-06
// attack: C-13
#[tokio::test]
async fn handshakes_that_stop_halfway_leave_turns_for_others() {
    let authority = Authority::new();
    let files = authority.files(vec![authority.issue("a", &["a.test"])]);
    let settings = DoorSettings {
        tls: Some(Arc::new(Tls::load(&files).unwrap())),
        handshakes_at_once: 2,
        max_connections: 256,
        timeouts: Timeouts {
            handshake: Duration::from_secs(8),
            ..QUICK
        },
        ..quick()
    };
    let house = House::open(settings).await;
    let mut held = Vec::new();
    for _ in 0..50 {
        // Says nothing: has no part in the work, and takes nobody's turn.
        held.push(house.connect().await);
    }
    let answer = authority.client().get(&house, "a.test").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let name = ServerName::try_from("a.test").unwrap();
    for _ in 0..20 {
        let config = Arc::new(authority.client().config());
        let mut session = rustls::ClientConnection::new(config, name.clone()).unwrap();
        let mut hello = Vec::new();
        session.write_tls(&mut hello).unwrap();
        let mut stream = house.connect().await;
        stream.write_all(&hello).await.unwrap();
        held.push(stream);
    }
    // They were answered and say no more: nobody has to wait for them.
    let mut heard = [0];
    for stream in held.iter_mut().skip(50) {
        stream.read_exact(&mut heard).await.unwrap();
        assert_eq!(heard, [0x16]);
    }
    let began = kernel::clock::now();
    let answer = authority.client().get(&house, "a.test").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let took = kernel::clock::now() - began;
    assert!(took < Duration::from_secs(4), "{took:?}");
}

// req: GW-16
#[tokio::test]
async fn who_shakes_hands_while_the_door_closes_is_still_answered() {
    let authority = Authority::new();
    let house = house(&authority.files(vec![authority.issue("a", &["a.test"])])).await;
    let stream = house.connect().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    house.kernel.requests.request();
    tokio::time::sleep(Duration::from_millis(60)).await;
    let name = ServerName::try_from("a.test").unwrap();
    let connector = TlsConnector::from(Arc::new(authority.client().config()));
    let mut stream = connector.connect(name, stream).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let (_, answer) = until_closed(&mut stream).await;
    assert!(
        answer.ends_with("hello") && answer.contains("connection: close"),
        "{answer}"
    );
    assert_eq!(house.running.await.unwrap(), Outcome::Drained);
}

// req: ED-10
#[tokio::test]
async fn sealed_bytes_are_encrypted_like_any_others() {
    let authority = Authority::new();
    let files = authority.files(vec![authority.issue("a", &["a.test"])]);
    let tls = Some(Arc::new(Tls::load(&files).unwrap()));
    let house = House::open(DoorSettings { tls, ..patient() }).await;
    let mut stream = authority.client().connect(&house, "a.test").await.unwrap();
    let ask = b"GET /sealed HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n";
    stream.write_all(ask).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let text = super::host::sealed_text();
    assert!(answer.ends_with(&text[3..text.len() - 3]));
}
