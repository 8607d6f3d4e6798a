use super::*;

const UTF8: u8 = 0x0c;

fn der(tag: u8, value: &[u8]) -> Vec<u8> {
    [&[tag, value.len() as u8], value].concat()
}

fn pair(kind: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
    der(SEQUENCE, &[der(OBJECT_ID, kind), der(tag, value)].concat())
}

fn of(kind: &[u8], tag: u8, value: &[u8]) -> Vec<u8> {
    der(SET, &pair(kind, tag, value))
}

fn text(kind: u8, value: &str) -> Vec<u8> {
    of(&[0x55, 4, kind], UTF8, value.as_bytes())
}

fn is(name: &[&[u8]], written: &str) {
    assert_eq!(subject(&name.concat()).as_deref(), Some(written));
}

// req: GW-12
#[test]
fn a_subject_is_written_the_last_part_first_and_cannot_be_forged_by_its_values() {
    let (example, bill) = (text(10, "Example"), text(3, "bill"));
    is(&[&example, &bill], "CN=bill,O=Example");
    is(
        &[&example, &text(3, "a,O=Other")],
        "CN=a\\,O\\=Other,O=Example",
    );
    is(&[&text(3, "#0c0161")], "CN=\\#0c0161");
    is(&[&text(3, " a b ")], "CN=\\ a b\\ ");
    is(&[&text(3, " ")], "CN=\\ ");
    is(&[&text(3, "")], "CN=");
    is(&[], "");
}

// req: GW-12
#[test]
fn no_part_of_a_subject_is_lost() {
    let bill = text(3, "bill");
    let serial = of(&[0x55, 4, 5], 0x13, b"7");
    is(&[&bill, &serial], "2.5.4.5=#130137,CN=bill");
    let mail = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1];
    let mail = of(&mail, 0x16, b"x@y");
    is(&[&bill, &mail], "1.2.840.113549.1.9.1=#1603784079,CN=bill");
    let pilot = |last| [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, last];
    is(
        &[&bill, &of(&pilot(25), 0x16, b"partner")],
        "DC=partner,CN=bill",
    );
    is(&[&bill, &of(&pilot(1), UTF8, b"w")], "UID=w,CN=bill");
    is(&[&text(9, "Main"), &bill], "CN=bill,STREET=Main");
    // Values that are no text that can be shown, of kinds that have a name.
    is(&[&of(&[0x55, 4, 3], 0x1e, b"\0b")], "CN=#1e020062");
    is(&[&of(&[0x55, 4, 3], UTF8, b"a\xff")], "CN=#0c0261ff");
    is(&[&text(3, "a\0")], "CN=#0c026100");
    // Several that stand together.
    let both = [
        pair(&[0x55, 4, 3], UTF8, b"bill"),
        pair(&[0x55, 4, 5], 0x13, b"7"),
        pair(&[0x55, 4, 11], UTF8, b"a+b"),
    ];
    let both = der(SET, &both.concat());
    is(&[&both], "CN=bill+2.5.4.5=#130137+OU=a\\+b");
    // Numbers of several bytes, and both ways to begin.
    is(
        &[&of(&[0x69, 0x83, 0x80, 1], UTF8, b"")],
        "2.25.49153=#0c00",
    );
    is(&[&of(&[0x27], UTF8, b"")], "0.39=#0c00");
}

#[test]
fn what_is_no_name_is_written_as_nothing() {
    let good = [text(10, "Example"), text(3, "bill")].concat();
    for end in 1..good.len() {
        let cut = subject(&good[..end]);
        assert!(cut.is_none() || end == text(10, "Example").len(), "{end}");
    }
    let kind = [0x55, 4, 3];
    let odd = [
        vec![SET, 0x84],
        der(SET, &[]),
        der(SEQUENCE, &pair(&kind, UTF8, b"a")),
        der(SET, &der(SEQUENCE, &der(OBJECT_ID, &kind))),
        der(SET, &der(SEQUENCE, &der(UTF8, b"a"))),
        of(&[], UTF8, b"a"),
        of(&[0x55, 0x84], UTF8, b"a"),
        of(&[0xff; 20], UTF8, b"a"),
        der(SET, &[&pair(&kind, UTF8, b"a")[..], &[0]].concat()),
    ];
    for name in odd {
        assert_eq!(subject(&name), None, "{name:x?}");
        assert_eq!(subject(&[&good[..], &name].concat()), None, "{name:x?}");
    }
}
