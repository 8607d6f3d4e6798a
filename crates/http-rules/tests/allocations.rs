//! What every request goes through allocates nothing on its good path.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Request, Version, request::Parts};
use http_rules::deadline::{self, Bounds};
use http_rules::forward::{self, Fields, Forwarding, Hop, Trail};
use http_rules::trace::TraceContext;
use http_rules::{framing, path, request_id};
use model_kit::allocations::{Counting, during};
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LINES: [(&str, &str); 10] = [
    ("host", "api.example.com:8443"),
    ("user-agent", "curl/8.9"),
    ("accept", "*/*"),
    ("accept-encoding", "gzip, br, zstd"),
    ("connection", "keep-alive"),
    ("content-length", "12"),
    ("content-type", "application/json"),
    ("authorization", "Bearer abc"),
    ("x-request-id", "0190f5fe-7c00-7a22-8000-0242ac120002"),
    (
        "traceparent",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    ),
];

fn head() -> Parts {
    let request = Request::builder().version(Version::HTTP_11).method("POST");
    let (mut parts, ()) = request
        .uri("/v1/orders/a%20b?x=1")
        .body(())
        .expect("a good request")
        .into_parts();
    parts.headers = HeaderMap::with_capacity(32);
    for (name, value) in LINES {
        parts.headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    parts
}

// req: GW-02
#[test]
fn a_clean_request_is_checked_without_allocating() {
    let parts = head();
    let bounds = Bounds {
        least: Duration::from_millis(1),
        most: Duration::from_secs(5),
    };
    let hop = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let counted = during(|| {
        let clean = framing::check(&parts).unwrap();
        assert_eq!(clean.authority.host, "api.example.com");
        let path = path::canonical(parts.uri.path()).unwrap();
        assert_eq!(path, parts.uri.path());
        black_box(deadline::budget(&parts.headers, bounds, || Duration::ZERO));
        black_box(forward::client_address(
            &parts.headers,
            hop,
            &[],
            Trail::XForwardedFor,
        ));
        assert!(forward::requested_upgrade(&parts).is_none());
        assert!(request_id::given(&parts.headers).is_some());
        assert!(TraceContext::given(&parts.headers).is_some());
    });
    assert_eq!(counted, 0);
}

#[test]
fn the_headers_of_the_next_hop_are_written_without_allocating() {
    let forwarding = Forwarding::new(IpAddr::V4(Ipv4Addr::LOCALHOST), true);
    let fields = Fields {
        x_forwarded: true,
        forwarded: false,
    };
    // The connection's first request makes its address shareable.
    forwarding.apply(
        &mut head().headers,
        "api.example.com:8443",
        Hop::Untrusted,
        fields,
    );
    let mut headers = head().headers;
    let counted = during(|| {
        forward::strip_hop_by_hop(&mut headers);
        forwarding.apply(&mut headers, "api.example.com:8443", Hop::Untrusted, fields);
    });
    assert_eq!(headers["x-forwarded-for"], "127.0.0.1");
    assert!(!headers.contains_key("connection"));
    assert_eq!(counted, 0);
}
