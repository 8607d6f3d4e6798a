use super::*;

fn header(source: &str, target: &str, length: usize) -> Parsed {
    Parsed::Header {
        speaks_for: SpeaksFor::Client(source.parse().unwrap(), target.parse().unwrap()),
        length,
    }
}

fn second(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap().to_be_bytes();
    [SIGNATURE.as_slice(), &[command, family], &length, body].concat()
}

// req: GW-14
#[test]
fn a_line_names_client_and_target() {
    let line = b"PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\nGET /";
    assert_eq!(
        parse(line),
        header("203.0.113.7:56324", "192.0.2.1:443", 44)
    );
    let line = b"PROXY TCP6 2001:db8::7 2001:db8::1 1 65535\r\n";
    assert_eq!(
        parse(line),
        header("[2001:db8::7]:1", "[2001:db8::1]:65535", 44)
    );
    let unknown = Parsed::Header {
        speaks_for: SpeaksFor::Nobody,
        length: 24,
    };
    assert_eq!(parse(b"PROXY UNKNOWN whatever\r\n"), unknown);
}

// req: GW-14
#[test]
fn version_two_names_them_in_binary_and_may_say_more() {
    let four = second(
        0x21,
        0x11,
        &[203, 0, 113, 7, 192, 0, 2, 1, 0, 80, 1, 187, 4, 0, 1, 0],
    );
    assert_eq!(parse(&four), header("203.0.113.7:80", "192.0.2.1:443", 32));
    let mut body = vec![0; 36];
    (body[15], body[31], body[33], body[35]) = (1, 2, 3, 4);
    assert_eq!(
        parse(&second(0x21, 0x21, &body)),
        header("[::1]:3", "[::2]:4", 52)
    );
    let nobody = [0x00, 0x12, 0x22, 0x31, 0x32].map(|family| (0x21, family, SpeaksFor::Nobody));
    for (command, family, speaks_for) in [(0x20, 0, SpeaksFor::Itself)].into_iter().chain(nobody) {
        let length = 20;
        let header = Parsed::Header { speaks_for, length };
        assert_eq!(parse(&second(command, family, &[0; 4])), header);
    }
    let strange = parse(&second(0x21, 0x99, &[0; 12]));
    assert!(matches!(strange, Parsed::Bad(_)), "{strange:?}");
}

// req: GW-14
#[test]
fn who_speaks_for_nobody_is_not_believed_as_the_proxy_is() {
    let [proxy, here]: [SocketAddr; 2] =
        ["10.0.0.1:5", "10.0.0.2:80"].map(|it| it.parse().unwrap());
    assert_eq!(SpeaksFor::Itself.ends(proxy, here), (proxy, here));
    let nobody = SocketAddr::from(([0; 4], 0));
    assert_eq!(SpeaksFor::Nobody.ends(proxy, here), (nobody, here));
}

// req: GW-14
#[test]
fn a_header_that_is_split_anywhere_is_waited_for() {
    let line = b"PROXY TCP4 203.0.113.7 192.0.2.1 56324 443\r\n".to_vec();
    let binary = second(0x21, 0x11, &[1; 12]);
    for whole in [line, binary] {
        for cut in 0..whole.len() {
            assert_eq!(parse(&whole[..cut]), Parsed::More, "cut at {cut}");
        }
        assert!(matches!(parse(&whole), Parsed::Header { .. }));
    }
}

// req: GW-14
#[test]
fn what_is_no_header_is_told_at_once() {
    let bad: [&[u8]; 13] = [
        b"GET / HTTP/1.1\r\n",
        b"PROXY TCP4 203.0.113.7 192.0.2.1 56324\r\n",
        b"PROXY TCP4 203.0.113.7 192.0.2.1 56324 443 9\r\n",
        b"PROXY TCP4 203.0.113.7  192.0.2.1 443\r\n",
        b"PROXY TCP4 2001:db8::7 192.0.2.1 56324 443\r\n",
        b"PROXY TCP4 203.0.113.7 192.0.2.1 +5 443\r\n",
        b"PROXY TCP4 203.0.113.7 192.0.2.1 65536 443\r\n",
        b"PROXY TCP4 203.0.113.7 192.0.2.1 5 443\n",
        b"PROXY UDP4 203.0.113.7 192.0.2.1 5 443\r\n",
        b"PROXY TCP4 \xff03.0.113.7 192.0.2.1 5 443\r\n",
        &second(0x22, 0x11, &[1; 12]),
        &second(0x11, 0x11, &[1; 12]),
        &second(0x21, 0x11, &[1; 11]),
    ];
    for bytes in bad {
        let parsed = parse(bytes);
        assert!(matches!(parsed, Parsed::Bad(_)), "{parsed:?}: {bytes:?}");
    }
    let endless = [b"PROXY TCP4 ".as_slice(), &[b'1'; LONGEST_1]].concat();
    assert!(matches!(parse(&endless), Parsed::Bad(_)));
    let huge = [SIGNATURE.as_slice(), &[0x21, 0x11, 0xff, 0xff]].concat();
    assert!(matches!(parse(&huge), Parsed::Bad(_)), "before it is read");
}
