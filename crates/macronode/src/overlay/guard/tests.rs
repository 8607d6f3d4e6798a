use std::net::SocketAddr;
use std::sync::Arc;

use front_door::{Protocol, TlsFacts};
use http::HeaderValue;
use http_rules::forward::Forwarding;

use super::*;
use crate::overlay::config::TokenText;

const READ: &str = "a-token-that-may-read";
const OPERATE: &str = "a-token-that-may-all!";

fn guard() -> Guard {
    let token = |secret: &str, role| TokenText {
        secret: secret.to_owned().into(),
        role,
    };
    let mut text = OverlayText::default();
    text.tokens
        .insert("look".to_owned(), token(READ, Role::Read));
    text.tokens
        .insert("ops".to_owned(), token(OPERATE, Role::Operate));
    text.certificates
        .insert("ops.example".to_owned(), Role::Operate);
    text.certificates
        .insert("spiffe://example/look".to_owned(), Role::Read);
    Guard::new(&text)
}

fn visit(local: &str, client: Option<ClientCertificate>) -> Visit {
    let local: SocketAddr = local.parse().expect("an address");
    let tls = client.map(|client| TlsFacts {
        server_name: None,
        group: "X25519",
        version: "TLSv1.3",
        resumed: false,
        client: Some(client),
    });
    Visit {
        peer: local,
        hop: local,
        local,
        forwarding: Forwarding::new(local.ip(), tls.is_some()),
        tls: tls.map(Arc::new),
        protocol: Protocol::H1,
        reminder: front_door::Reminder::none(),
    }
}

fn certificate(dns: &str, uri: &str) -> ClientCertificate {
    ClientCertificate {
        subject: "CN=someone".to_owned(),
        dns_names: vec![dns.to_owned()],
        uris: vec![uri.to_owned()],
    }
}

fn bearing(values: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(AUTHORIZATION, HeaderValue::from_str(value).expect("text"));
    }
    headers
}

fn asked(need: Role, headers: &HeaderMap, host: &str, visit: &Visit) -> Result<String, Refusal> {
    let authority = Authority::parse(host).expect("a host");
    let who = guard().admit(need, headers, &authority, visit);
    who.map(|who| who.name).map_err(|turned| turned.why)
}

const HERE: &str = "127.0.0.1:8660";
const THERE: &str = "192.0.2.7:8660";

// req: ND-09
#[test]
fn a_token_does_what_its_role_may_and_no_more() {
    let there = visit(THERE, None);
    let by = |need, value: &str| asked(need, &bearing(&[value]), "node", &there);
    let read = format!("Bearer {READ}");
    let operate = format!("bearer  {OPERATE}");
    assert_eq!(by(Role::Read, &read).as_deref(), Ok("token look"));
    assert_eq!(by(Role::Operate, &read), Err(Refusal::Forbidden));
    assert_eq!(by(Role::Read, &operate).as_deref(), Ok("token ops"));
    assert_eq!(by(Role::Operate, &operate).as_deref(), Ok("token ops"));
}

// req: ND-09
#[test]
fn who_is_known_and_may_not_is_told() {
    let there = visit(THERE, None);
    let authority = Authority::parse("node").unwrap();
    let turned = |headers: &HeaderMap| {
        let turned = guard().admit(Role::Operate, headers, &authority, &there);
        let turned = turned.unwrap_err();
        (turned.who.map(|who| who.name), turned.why)
    };
    let reader = bearing(&[&format!("Bearer {READ}")]);
    let look = Some("token look".to_owned());
    assert_eq!(turned(&reader), (look, Refusal::Forbidden));
    let mut led = bearing(&[&format!("Bearer {OPERATE}")]);
    led.insert(&FETCH_SITE, HeaderValue::from_static("cross-site"));
    let ops = Some("token ops".to_owned());
    assert_eq!(turned(&led), (ops, Refusal::CrossSite));
    let stranger = bearing(&["Bearer none-of-those-there-are"]);
    assert_eq!(turned(&stranger), (None, Refusal::BadToken));
}

// req: ND-09
#[test]
fn a_wrong_token_opens_nothing_that_none_would() {
    for local in [HERE, THERE] {
        let near = format!("Bearer {}", &OPERATE[..OPERATE.len() - 1]);
        let longer = format!("Bearer {OPERATE}x");
        for bad in ["Bearer ", "Basic b3Bz", OPERATE, &near, &longer] {
            let seen = asked(
                Role::Read,
                &bearing(&[bad]),
                "127.0.0.1",
                &visit(local, None),
            );
            assert_eq!(seen, Err(Refusal::BadToken), "{bad}");
        }
        let two = [&*format!("Bearer {OPERATE}"), "Bearer x"];
        let seen = asked(Role::Read, &bearing(&two), "127.0.0.1", &visit(local, None));
        assert_eq!(seen, Err(Refusal::BadToken));
    }
}

// req: ND-09
#[test]
fn who_shows_nothing_may_read_on_loopback_only() {
    let nothing = HeaderMap::new();
    let read = |host, local| asked(Role::Read, &nothing, host, &visit(local, None));
    assert_eq!(read("127.0.0.1:8660", HERE).as_deref(), Ok("loopback"));
    assert_eq!(read("localhost", HERE).as_deref(), Ok("loopback"));
    assert_eq!(read("[::1]:8660", "[::1]:8660").as_deref(), Ok("loopback"));
    assert_eq!(read("127.0.0.1:8660", THERE), Err(Refusal::Unauthorized));
    let operate = asked(Role::Operate, &nothing, "localhost", &visit(HERE, None));
    assert_eq!(operate, Err(Refusal::Unauthorized));
}

// req: ND-09
#[test]
fn a_page_whose_name_leads_here_reads_nothing() {
    let seen = asked(
        Role::Read,
        &HeaderMap::new(),
        "rebound.example:8660",
        &visit(HERE, None),
    );
    assert_eq!(seen, Err(Refusal::Misdirected));
}

// req: ND-09
#[test]
fn a_certificate_counts_by_any_name_in_it_that_is_listed() {
    let nothing = HeaderMap::new();
    let by = |need, dns, uri| {
        let visit = visit(THERE, Some(certificate(dns, uri)));
        asked(need, &nothing, "node", &visit)
    };
    let operator = by(Role::Operate, "ops.example", "spiffe://example/look");
    assert_eq!(operator.as_deref(), Ok("certificate ops.example"));
    let reader = by(Role::Read, "other.example", "spiffe://example/look");
    assert_eq!(reader.as_deref(), Ok("certificate spiffe://example/look"));
    let more = by(Role::Operate, "other.example", "spiffe://example/look");
    assert_eq!(more, Err(Refusal::Forbidden));
    let stranger = by(Role::Read, "other.example", "spiffe://example/other");
    assert_eq!(stranger, Err(Refusal::Forbidden));
}

// req: ND-09
#[test]
fn a_page_of_another_site_makes_no_browser_change_anything() {
    let visit = visit(THERE, Some(certificate("ops.example", "")));
    for (site, allowed) in [
        ("same-origin", true),
        ("none", true),
        ("same-site", false),
        ("cross-site", false),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(&FETCH_SITE, HeaderValue::from_static(site));
        let seen = asked(Role::Operate, &headers, "node", &visit);
        assert_eq!(seen.is_ok(), allowed, "{site}: {seen:?}");
        assert!(asked(Role::Read, &headers, "node", &visit).is_ok());
    }
}
