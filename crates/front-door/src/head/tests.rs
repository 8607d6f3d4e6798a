use super::*;

const CLEAN: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";

fn after(framing: Framing) -> HeadGuard {
    let mut guard = HeadGuard::new();
    assert_eq!(guard.pass(CLEAN), CLEAN.len());
    guard.told(framing);
    guard
}

// attack: A-19
#[test]
fn a_head_with_a_bare_line_feed_anywhere_is_dirty_however_it_is_split() {
    let dirty: [&[u8]; 6] = [
        b"GET / HTTP/1.1\nhost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\n\n",
        b"GET / HTTP/1.1\nhost: a\n\n",
        b"\nGET / HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nx: a\nb: c\r\n\r\n",
    ];
    for (head, expected) in dirty.map(|head| (head, true)).into_iter().chain([
        (CLEAN, false),
        (
            b"\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n".as_slice(),
            false,
        ),
    ]) {
        for cut in 0..=head.len() {
            let mut guard = HeadGuard::new();
            let passed = guard.pass(&head[..cut]) + guard.pass(&head[cut..]);
            let text = String::from_utf8_lossy(head);
            assert_eq!(passed, head.len(), "{text:?} cut at {cut}");
            assert!(guard.holds(), "{text:?} cut at {cut}");
            assert_eq!(guard.is_dirty(), expected, "{text:?} cut at {cut}");
        }
    }
}

// attack: A-19
#[test]
fn what_follows_a_head_is_held_until_its_framing_is_told() {
    let mut guard = HeadGuard::new();
    let two = [CLEAN, b"GET /b HTTP/1.1\nhost: a\r\n\r\n"].concat();
    assert_eq!(guard.pass(&two), CLEAN.len());
    assert_eq!(guard.pass(&two[CLEAN.len()..]), 0);
    assert!(!guard.is_dirty());
    guard.told(Framing::Length(0));
    assert_eq!(guard.pass(&two[CLEAN.len()..]), two.len() - CLEAN.len());
    assert!(guard.is_dirty(), "the second head is looked at too");
}

// attack: A-19
#[test]
fn a_head_behind_a_body_is_seen_and_the_body_is_not_taken_for_one() {
    let body = b"a\nb\n\n\r\n";
    let next = b"GET / HTTP/1.1\nhost: a\r\n\r\n";
    let both = [body.as_slice(), next].concat();
    for cut in 0..=both.len() {
        let mut guard = after(Framing::Length(body.len() as u64));
        let first = guard.pass(&both[..cut]);
        assert!(cut > body.len() || !guard.is_dirty(), "cut at {cut}");
        assert_eq!(first + guard.pass(&both[cut..]), both.len());
        assert!(guard.holds() && guard.is_dirty(), "cut at {cut}");
    }
}

// attack: A-19
#[test]
fn a_head_behind_chunks_is_seen_wherever_the_bytes_are_split() {
    let chunks: [&[u8]; 4] = [
        b"0\r\n\r\n",
        b"3\r\na\nb\r\n0\r\n\r\n",
        b"A;x=\"y\"\r\n0123456789\r\n1 \r\nz\r\n000\r\nt: 1\r\nu: 2\r\n\r\n",
        b"1\r\n\n\r\n0\r\nt: a\r\n\r\n",
    ];
    for chunks in chunks {
        let both = [chunks, CLEAN].concat();
        for cut in 0..=both.len() {
            let mut guard = after(Framing::Chunked);
            let passed = guard.pass(&both[..cut]) + guard.pass(&both[cut..]);
            let text = String::from_utf8_lossy(chunks);
            assert_eq!(passed, both.len(), "{text:?} cut at {cut}");
            assert!(
                guard.holds() && !guard.is_dirty(),
                "{text:?} cut at {cut}: {guard:?}"
            );
        }
    }
}

// attack
#[test]
fn chunks_that_are_none_break_the_body_and_nothing_behind_them_passes() {
    let broken: [&[u8]; 12] = [
        b"0x1\r\na\r\n0\r\n\r\n",
        b"+1\r\na\r\n0\r\n\r\n",
        b"-1\r\na\r\n0\r\n\r\n",
        b"0_1\r\na\r\n0\r\n\r\n",
        b"\r\na\r\n0\r\n\r\n",
        b"10000000000000000\r\na\r\n0\r\n\r\n",
        b"1\na\r\n0\r\n\r\n",
        b"1\r\nab\r\n0\r\n\r\n",
        b"1;a\nb\r\na\r\n0\r\n\r\n",
        b"1\r\na\r\n0\r\n\n",
        b"1\r\na\r\n0\r\nx: y\n\r\n",
        b"1\r\na\r\n0\r\n\nGET / HTTP/1.1\r\n\r\n",
    ];
    for chunks in broken {
        let mut guard = after(Framing::Chunked);
        guard.pass(chunks);
        assert!(guard.is_broken(), "{:?}", String::from_utf8_lossy(chunks));
        assert_eq!(
            guard.pass(CLEAN),
            0,
            "{:?}",
            String::from_utf8_lossy(chunks)
        );
    }
}

#[test]
fn the_guard_knows_how_far_a_head_has_come() {
    let mut guard = HeadGuard::new();
    assert!(guard.is_between_requests() && !guard.is_inside_head());
    guard.pass(b"GET /");
    assert!(guard.is_inside_head() && !guard.has_request_line());
    guard.pass(b" HTTP/1.1\r\n");
    assert!(guard.is_inside_head() && guard.has_request_line());
    guard.pass(b"host: a\r\n\r\n");
    assert!(!guard.is_inside_head() && guard.holds());
}

#[test]
fn another_protocol_passes_as_it_is() {
    let mut guard = after(Framing::Through);
    assert_eq!(guard.pass(b"\n\n\x00anything\n"), 12);
    assert!(!guard.is_dirty());
}
