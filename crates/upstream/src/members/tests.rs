use super::*;

fn spec() -> EndpointSpec {
    EndpointSpec::parse("http://origin.example:80").unwrap()
}

fn targets(addresses: &[&str]) -> Vec<(String, Option<String>)> {
    let addresses: Vec<SocketAddr> = addresses.iter().map(|one| one.parse().unwrap()).collect();
    let text = |address: SocketAddr| address.to_string();
    let targets = targets_of(&spec(), &addresses).into_iter();
    targets
        .map(|one| (text(one.address), one.alternate.map(text)))
        .collect()
}

// req: GW-11
#[test]
fn a_host_of_two_families_is_one_endpoint_with_a_way_round() {
    let both = targets(&["127.0.0.1:80", "[::1]:80"]);
    assert_eq!(
        both,
        [("127.0.0.1:80".to_owned(), Some("[::1]:80".to_owned()))]
    );
    let six = targets(&["[::1]:80"]);
    assert_eq!(six, [("[::1]:80".to_owned(), None)]);
}

// req: GW-11
#[test]
fn every_address_of_a_name_is_an_endpoint_up_to_a_bound() {
    let four = targets(&["10.0.0.1:80", "10.0.0.2:80", "[fd00::1]:80"]);
    let addresses: Vec<_> = four.iter().map(|(address, _)| &**address).collect();
    assert_eq!(addresses, ["10.0.0.1:80", "10.0.0.2:80"]);
    assert!(four.iter().all(|(_, alternate)| alternate.is_none()));
    let many: Vec<String> = (0..200).map(|n| format!("10.0.0.{n}:80")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(targets(&many).len(), ADDRESSES_MAX);
}
