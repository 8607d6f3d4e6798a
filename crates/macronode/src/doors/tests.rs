use super::*;

fn at(address: &str) -> SocketAddr {
    address.parse().expect("an address")
}

/// What a predecessor leaves: names, and where it was asked to listen for each. What systemd gives has no such address.
fn left(sockets: &[(Option<&str>, Option<&str>)]) -> Inherited {
    let heirloom = |(name, asked): &(Option<&str>, Option<&str>)| Heirloom {
        name: name.map(str::to_owned),
        asked: asked.map(at),
        listener: TcpListener::bind("127.0.0.1:0").expect("a free port"),
    };
    Inherited {
        listeners: sockets.iter().map(heirloom).collect(),
    }
}

// req: GW-16
#[test]
fn a_successor_takes_what_it_is_asked_for_and_nothing_that_is_elsewhere() {
    let own = |door| (Some(door), Some("127.0.0.1:8080"));
    let inherited = left(&[own("gateway.http")]);
    assert_eq!(
        inherited.find("gateway.http", at("127.0.0.1:8080")),
        Some(0)
    );
    assert_eq!(inherited.find("gateway.http", at("127.0.0.1:8081")), None);
    assert_eq!(inherited.find("gateway.http", at("0.0.0.0:8080")), None);
}

// req: GW-16
#[test]
fn an_address_that_has_changed_its_place_in_a_list_is_found_and_any_port_is_none() {
    let inherited = left(&[
        (Some("gateway.http"), Some("127.0.0.1:8080")),
        (Some("gateway.http2"), Some("127.0.0.1:8081")),
        (Some("gateway.http3"), Some("127.0.0.1:0")),
    ]);
    assert_eq!(
        inherited.find("gateway.http", at("127.0.0.1:8081")),
        Some(1)
    );
    assert_eq!(inherited.find("gateway.http3", at("127.0.0.1:0")), Some(2));
    assert_eq!(inherited.find("gateway.http", at("127.0.0.1:0")), None);
}

// req: GW-16
#[test]
fn what_systemd_gives_is_taken_by_name_wherever_it_listens_and_in_order_without_one() {
    let mut inherited = left(&[(None, None), (Some("gateway.http"), None)]);
    assert_eq!(inherited.find("gateway.http", at("127.0.0.1:1")), Some(1));
    assert!(inherited.take("admin", at("127.0.0.1:1")).is_some());
    assert_eq!(inherited.find("demo", at("127.0.0.1:1")), None);
}
