use std::net::IpAddr;

use fair_queue::Class;
use passport::{Identity, Limits};

use super::*;

const USER: HeaderName = HeaderName::from_static("x-user");

/// A tenant as one process knows it: its number is the process's own.
fn known(tenant: &str, number: u64) -> Caller {
    let identity = Identity {
        tenant: tenant.into(),
        key: number,
        class: passport::Class(1),
        tags: Box::new([]),
        until: None,
        how: Method::ApiKey,
        limits: Limits::default(),
    };
    Caller {
        key: number,
        identity: Some(Arc::new(identity)),
        ..unknown("192.0.2.1")
    }
}

fn unknown(address: &str) -> Caller {
    let address: IpAddr = address.parse().expect("an address");
    Caller {
        address,
        trusted: false,
        identity: None,
        key: address_key(address),
        class: Class::ANON,
        weight: 1,
    }
}

fn user(name: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(USER, HeaderValue::from_static(name));
    headers
}

// req: GW-11
#[test]
fn a_tenant_goes_to_the_same_place_from_every_process_and_node() {
    let none = HeaderMap::new();
    let of = |caller: &Caller| hash(Some(caller), None, &none);
    assert_eq!(of(&known("acme", 1)), of(&known("acme", 2)));
    assert_eq!(of(&known("acme", 1)), 0x0724_d383_f4f6_de0f, "for good");
    assert_ne!(of(&known("acme", 1)), of(&known("other", 1)));
    assert_eq!(of(&unknown("192.0.2.1")), of(&unknown("::ffff:192.0.2.1")));
    assert_ne!(of(&unknown("192.0.2.1")), of(&unknown("192.0.2.2")));
}

// req: GW-11
#[test]
fn a_header_decides_before_the_tenant_and_the_tenant_where_it_is_absent() {
    let at = |headers: &HeaderMap| hash(Some(&known("acme", 1)), Some(&USER), headers);
    assert_eq!(at(&user("ann")), hash_key(b"ann"));
    assert_eq!(at(&HeaderMap::new()), hash_key(b"acme"));
}
