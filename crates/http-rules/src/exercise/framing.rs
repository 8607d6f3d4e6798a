//! Any head at all: a first line of version, method and target, then headers; the target is also tried as a path.

use http::request::Parts;
use http::{HeaderMap, Request, Version};
use http_rules::authority::Authority;
use http_rules::deadline::{self, Bounds};
use http_rules::forward::{self, Fields, Forwarding, Hop, Node, Trail};
use http_rules::{framing, path};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// Checks what must hold whatever the head is.
pub fn exercise(data: &[u8]) {
    any_path(data);
    let Some(parts) = head(data) else {
        return;
    };
    any_path(parts.uri.path().as_bytes());
    match framing::check(&parts) {
        Ok(clean) => {
            accepted(&parts, &clean.authority);
            forwarded(parts.clone(), clean.authority.text);
        }
        Err(bad) => assert!((400..500).contains(&bad.status())),
    }
}

/// What passes has no dot segment when every escape is read, and nothing that only some take for a separator.
fn any_path(raw: &[u8]) {
    if path::check(raw).is_err() {
        return;
    }
    let mut decoded = Vec::new();
    let mut rest = raw;
    while let Some((byte, after)) = rest.split_first() {
        (decoded, rest) = match byte {
            b'%' => {
                let digits = std::str::from_utf8(&after[..2]).unwrap();
                decoded.push(u8::from_str_radix(digits, 16).unwrap());
                (decoded, &after[2..])
            }
            _ => {
                decoded.push(*byte);
                (decoded, after)
            }
        };
    }
    let text = String::from_utf8(decoded).expect("a path that passes is UTF-8");
    assert!(
        text.split('/')
            .all(|segment| segment != "." && segment != "..")
    );
    assert!(!text.contains(['\\', '\0', '\r', '\n']));
}

fn head(data: &[u8]) -> Option<Parts> {
    let text = std::str::from_utf8(data).ok()?;
    let mut lines = text.lines();
    let mut first = lines.next()?.splitn(3, ' ');
    let version = match first.next()? {
        "0.9" => Version::HTTP_09,
        "1.0" => Version::HTTP_10,
        "2" => Version::HTTP_2,
        _ => Version::HTTP_11,
    };
    let request = Request::builder()
        .version(version)
        .method(first.next()?)
        .uri(first.next()?);
    let request = lines
        .take(50)
        .fold(request, |request, line| match line.split_once(": ") {
            Some((name, value)) => request.header(name, value),
            None => request,
        });
    Some(request.body(()).ok()?.into_parts().0)
}

fn accepted(parts: &Parts, authority: &Authority<'_>) {
    let headers = &parts.headers;
    assert!(headers.get_all("host").iter().count() <= 1);
    assert!(headers.get_all("transfer-encoding").iter().count() <= 1);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    assert!(headers.keys().all(|name| name.as_str().chars().all(plain)));
    assert!(
        !authority
            .host
            .contains(|c: char| c.is_ascii_uppercase() || "@,/ %".contains(c))
    );
    match authority.text {
        "" => assert_eq!(parts.version, Version::HTTP_10),
        text => assert_eq!(Authority::parse(text).as_ref(), Some(authority)),
    }
    let bounds = Bounds {
        least: Duration::from_millis(1),
        most: Duration::from_secs(5),
    };
    let budget = deadline::budget(headers, bounds, || Duration::from_secs(1_700_000_000));
    assert!(bounds.least <= budget && budget <= bounds.most);
}

fn forwarded(parts: Parts, authority: &str) {
    let upgrade = forward::requested_upgrade(&parts).cloned();
    let mut headers = parts.headers;
    let hop = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let trusted = ["127.0.0.0/8".parse().unwrap()];
    for trail in [Trail::XForwardedFor, Trail::Forwarded] {
        forward::client_address(&headers, hop, &trusted, trail);
        assert_eq!(forward::client_address(&headers, hop, &[], trail), hop);
    }
    forward::strip_hop_by_hop(&mut headers);
    assert!(headers.get("te").is_none_or(|te| te == "trailers"));
    for gone in [
        "connection",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
        "upgrade",
    ] {
        assert!(!headers.contains_key(gone), "{gone}");
    }
    told(headers, authority, hop);
    if let Some(protocol) = upgrade {
        assert!(!protocol.as_bytes().eq_ignore_ascii_case(b"h2c"));
    }
}

fn told(mut headers: HeaderMap, authority: &str, hop: IpAddr) {
    let fields = Fields {
        x_forwarded: true,
        forwarded: true,
    };
    let forwarding = Forwarding::new(hop, true);
    forwarding.apply(&mut headers.clone(), authority, Hop::Trusted, fields);
    forwarding.apply(&mut headers, authority, Hop::Untrusted, fields);
    assert_eq!(headers["x-forwarded-for"], "127.0.0.1");
    assert!(!headers.contains_key("x-real-ip"));
    let node = Node::new("fuzzed").unwrap();
    node.sign(&mut headers, Version::HTTP_11);
    assert!(node.has_passed(&headers));
}
