//! The PROXY protocol over real sockets: whom a trusted proxy speaks for, and that nobody else does.

use super::*;
use crate::ProxyProtocol;

const GET: &[u8] = b"GET /who HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
const LINE: &[u8] = b"PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\n";

fn trusting(net: &str) -> DoorSettings {
    DoorSettings {
        proxy_protocol: ProxyProtocol::Accept {
            trusted: vec![net.parse().unwrap()],
        },
        ..quick()
    }
}

// req: GW-14
#[tokio::test]
async fn a_trusted_proxy_speaks_for_its_client_in_both_versions() {
    let house = House::open(trusting("127.0.0.0/8")).await;
    let binary = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\0\x71\x07\xc0\0\x02\x01\xdc\x04\x01\xbb";
    for header in [LINE, binary] {
        let answer = house.tell(&[header, GET].concat()).await;
        assert!(answer.contains("peer: 203.0.113.7:56324"), "{answer}");
        assert!(answer.contains("hop: 127.0.0.1:"), "{answer}");
        assert!(answer.contains("local: 192.0.2.1:443"), "{answer}");
    }
    let local = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
    let answer = house.tell(&[local, GET].concat()).await;
    assert!(answer.contains("peer: 127.0.0.1:"), "{answer}");
    let unknown = b"\r\n\r\n\0\r\nQUIT\n\x21\0\0\0";
    for header in [&b"PROXY UNKNOWN\r\n"[..], unknown] {
        let answer = house.tell(&[header, GET].concat()).await;
        assert!(answer.contains("peer: 0.0.0.0:0"), "{answer}");
    }
    let mut split = house.connect().await;
    for byte in [LINE, GET].concat() {
        split.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    let (_, answer) = until_closed(&mut split).await;
    assert!(answer.contains("peer: 203.0.113.7:56324"), "{answer}");
}

// req: GW-14
// attack: H-09
#[tokio::test]
async fn nobody_else_speaks_for_others_and_a_proxy_always_does() {
    let stranger = House::open(trusting("10.0.0.0/8")).await;
    let answer = stranger.tell(&[LINE, GET].concat()).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let answer = stranger.tell(GET).await;
    assert!(answer.contains("peer: 127.0.0.1:"), "{answer}");
    let off = House::open(quick()).await;
    let answer = off.tell(&[LINE, GET].concat()).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let trusted = House::open(trusting("127.0.0.1/32")).await;
    assert_eq!(
        trusted.tell(GET).await,
        "",
        "a proxy that forgot its header"
    );
    let cut = &crate::door::CUT;
    let cut = trusted
        .kernel
        .registry
        .counter(cut, &["door", "proxy-header"])
        .get();
    assert_eq!(cut, 1);
}

// req: GW-03, GW-14
#[tokio::test]
async fn a_header_that_drips_is_timed_like_a_handshake() {
    let house = House::open(trusting("127.0.0.0/8")).await;
    for said in [&b""[..], &LINE[..20]] {
        let mut stream = house.connect().await;
        stream.write_all(said).await.unwrap();
        let (took, _) = until_closed(&mut stream).await;
        assert_took(QUICK.handshake, took);
    }
    assert_eq!(house.timeouts("handshake"), 2);
}

// req: GW-03, GW-14
#[tokio::test]
async fn the_rate_of_connections_is_that_of_the_client_behind_the_proxy() {
    let rate = rate_quota::Rate::new(1, Duration::from_secs(60)).unwrap();
    let settings = DoorSettings {
        accept_rate: Some(rate.burst(2).unwrap()),
        ..trusting("127.0.0.0/8")
    };
    let house = House::open(settings).await;
    for (client, answered) in [(7, 2), (8, 2)] {
        let line = format!("PROXY TCP4 203.0.113.{client} 192.0.2.1 5 443\r\n");
        let mut count = 0;
        for _ in 0..4 {
            let answer = house.tell(&[line.as_bytes(), GET].concat()).await;
            count += usize::from(answer.starts_with("HTTP/1.1 200"));
        }
        assert_eq!(count, answered, "client {client}");
    }
}
