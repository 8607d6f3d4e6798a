use super::*;

const TEXT: &[u8] = b"sealed bytes";

// req: ED-10
#[test]
fn nobody_can_change_what_is_sealed() {
    let sealed = Sealed::new(TEXT).unwrap();
    let file = sealed.file();
    assert!(file.write_all_at(b"S", 0).is_err(), "changed");
    assert!(file.set_len(3).is_err(), "shortened");
    assert!(file.set_len(300).is_err(), "lengthened");
    assert_eq!(sealed.bytes(), TEXT);
    let mut read = [0; TEXT.len()];
    file.read_exact_at(&mut read, 0).unwrap();
    assert_eq!(read, TEXT);
}

#[test]
fn a_part_is_found_by_where_it_lies() {
    let sealed = Sealed::new(TEXT).unwrap();
    let part = sealed.bytes().slice(7..);
    assert_eq!(sealed.place_of(&part), Some(7));
    assert_eq!(sealed.place_of(sealed.bytes()), Some(0));
    // The same bytes elsewhere are not a part, nor are those of another.
    assert_eq!(sealed.place_of(TEXT), None);
    assert_eq!(sealed.place_of(Sealed::new(TEXT).unwrap().bytes()), None);
}

#[test]
fn its_bytes_stay_when_it_is_gone() {
    let part = {
        let sealed = Sealed::new(TEXT).unwrap();
        sealed.bytes().slice(..6)
    };
    assert_eq!(part, "sealed");
}

#[test]
fn of_nothing_there_is_nothing_to_seal() {
    assert!(Sealed::new(b"").is_err(), "there is no memory of no bytes");
}
