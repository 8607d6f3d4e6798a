use super::*;

fn at(address: &str) -> SocketAddr {
    address.parse().expect("an address")
}

fn door(name: &'static str, address: SocketAddr) -> Place {
    Place {
        name,
        key: "any.listen",
        address,
    }
}

/// What was open before: names, and where a predecessor was asked to listen for each. What systemd gives has no such
/// address.
fn left(sockets: &[(&str, Option<&str>)]) -> (Inherited, Vec<SocketAddr>) {
    let heirloom = |(name, asked): &(&str, Option<&str>)| Heirloom {
        name: (*name).to_owned(),
        asked: asked.map(at),
        listener: TcpListener::bind("127.0.0.1:0").expect("a free port"),
    };
    let listeners: Vec<_> = sockets.iter().map(heirloom).collect();
    let bound = |one: &Heirloom| one.listener.local_addr().expect("bound");
    let bound = listeners.iter().map(bound).collect();
    (
        Inherited {
            listeners,
            others: Vec::new(),
        },
        bound,
    )
}

/// Which door has which address then.
fn shared(inherited: Inherited, places: &[Place]) -> Vec<(&'static str, SocketAddr)> {
    let shared = inherited.share(places).expect("a door for each");
    let bound = |listener: &TcpListener| listener.local_addr().expect("bound");
    shared
        .iter()
        .map(|(name, one)| (*name, bound(one)))
        .collect()
}

// req: GW-16
#[test]
fn a_successor_takes_what_it_is_asked_for_and_nothing_that_is_elsewhere() {
    for (wanted, taken) in [
        ("127.0.0.1:8080", true),
        ("127.0.0.1:8081", false),
        ("0.0.0.0:8080", false),
    ] {
        let (inherited, bound) = left(&[("gateway.http", Some("127.0.0.1:8080"))]);
        let expected: Vec<_> = bound.iter().map(|at| ("gateway.http", *at)).collect();
        let found = shared(inherited, &[door("gateway.http", at(wanted))]);
        assert_eq!(found == expected, taken, "{wanted}");
        assert_eq!(found.is_empty(), !taken, "{wanted}");
    }
}

// req: GW-16
#[test]
fn an_address_that_has_changed_its_place_in_a_list_is_found_and_any_port_is_none() {
    let (inherited, bound) = left(&[
        ("gateway.http", Some("127.0.0.1:8080")),
        ("gateway.http2", Some("127.0.0.1:8081")),
        ("gateway.http3", Some("127.0.0.1:0")),
    ]);
    let places = [
        door("gateway.http", at("127.0.0.1:8081")),
        door("gateway.http2", at("127.0.0.1:0")),
        door("gateway.http3", at("127.0.0.1:0")),
    ];
    let expected = [("gateway.http", bound[1]), ("gateway.http3", bound[2])];
    assert_eq!(shared(inherited, &places), expected);
}

// req: GW-16
#[test]
fn what_systemd_gives_is_taken_by_name_wherever_it_listens_and_by_address_without_one() {
    let (inherited, bound) = left(&[("macronode.socket", None), ("gateway.http", None)]);
    let places = [
        door("admin", at("127.0.0.1:1")),
        door("gateway.http", at("127.0.0.1:2")),
        door("gateway.http2", bound[0]),
    ];
    let expected = [("gateway.http", bound[1]), ("gateway.http2", bound[0])];
    assert_eq!(shared(inherited, &places), expected);
}

// req: GW-16
#[test]
fn sockets_of_one_unit_share_its_name_and_are_told_apart_by_where_they_listen() {
    let (inherited, bound) = left(&[("gateway.http", None), ("gateway.http", None)]);
    let places = [
        door("gateway.http", bound[1]),
        door("gateway.http2", bound[0]),
    ];
    let expected = [("gateway.http", bound[1]), ("gateway.http2", bound[0])];
    assert_eq!(shared(inherited, &places), expected);
}

// req: GW-16
#[test]
fn a_socket_that_is_no_door_is_refused_with_the_names_there_are() {
    for name in ["macronode.socket", "unknown", "", "demo"] {
        let (inherited, bound) = left(&[(name, None)]);
        let places = [
            door("admin", at("127.0.0.1:0")),
            door("gateway.http", at("127.0.0.1:2")),
        ];
        let stray = inherited.share(&places).expect_err(name).to_string();
        for part in [
            &format!("`{name}` at {}", bound[0]),
            "(admin, gateway.http)",
        ] {
            assert!(stray.contains(part), "{stray}");
        }
    }
}
