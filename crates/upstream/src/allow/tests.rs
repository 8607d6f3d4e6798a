use super::*;
use proptest::prelude::*;

fn public_only(exceptions: &[&str]) -> Allow {
    let nets = exceptions.iter().map(|net| net.parse().unwrap());
    Allow::PublicOnly {
        exceptions: nets.collect(),
    }
}

fn refused(address: &str) -> bool {
    !public_only(&[]).permits(address.parse().unwrap())
}

// attack: F-15, F-17
#[test]
fn no_spelling_of_an_inner_address_is_public() {
    let inner = [
        "0.0.0.0",
        "0.1.2.3",
        "10.1.2.3",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.9.9.9",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "203.0.113.7",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "::ffff:0:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2001:0:1::1",
        "2001:db8::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "5f00::1",
    ];
    for address in inner {
        assert!(refused(address), "{address} is not public");
    }
}

#[test]
fn the_public_internet_is_public() {
    let outer = [
        "1.1.1.1",
        "8.8.8.8",
        "172.32.0.1",
        "100.63.0.1",
        "2606:4700::1111",
        "2a00::1",
        "64:ff9b::808:808",
        "::ffff:8.8.8.8",
    ];
    for address in outer {
        assert!(!refused(address), "{address} is public");
    }
}

#[test]
fn an_exception_opens_its_network_and_nothing_else() {
    let allow = public_only(&["10.1.0.0/16", "fd00:1::/32"]);
    for address in ["10.1.2.3", "::ffff:10.1.2.3", "fd00:1::5", "8.8.8.8"] {
        assert!(allow.permits(address.parse().unwrap()), "{address}");
    }
    for address in ["10.2.0.1", "fd00:2::5", "127.0.0.1", "::ffff:10.2.0.1"] {
        assert!(!allow.permits(address.parse().unwrap()), "{address}");
    }
}

#[test]
fn anything_means_anything() {
    assert!(Allow::Anything.permits("127.0.0.1".parse().unwrap()));
}

proptest! {
    #[test]
    fn every_way_to_write_an_ipv4_address_in_ipv6_gets_its_verdict(octets in any::<[u8; 4]>()) {
        let four = Ipv4Addr::from(octets);
        let verdict = public_only(&[]).permits(four.into());
        let [a, b, c, d] = octets.map(u16::from);
        let (high, low) = (a << 8 | b, c << 8 | d);
        let mapped = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low);
        let translated = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low);
        let tunnelled = Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1);
        for six in [mapped, translated, tunnelled] {
            prop_assert_eq!(public_only(&[]).permits(six.into()), verdict, "{}", six);
        }
    }
}
