use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;

use super::*;

const TEXT: &[u8] = b"sealed bytes";

/// No two pages of it are the same.
fn text(length: usize) -> Vec<u8> {
    (0_u32..).flat_map(u32::to_be_bytes).take(length).collect()
}

fn pages(sealed: &Sealed) -> &Well {
    match sealed.spring_of(sealed.bytes()) {
        Some(Spring::Well(well)) => well,
        _ => panic!("it would fit into a pipe"),
    }
}

// req: ED-10
#[test]
fn nobody_can_change_what_is_sealed() {
    let file = memory(TEXT).unwrap();
    assert!(file.write_all_at(b"S", 0).is_err(), "changed");
    assert!(file.set_len(3).is_err(), "shortened");
    assert!(file.set_len(300).is_err(), "lengthened");
    let mut read = [0; TEXT.len()];
    file.read_exact_at(&mut read, 0).unwrap();
    assert_eq!(read, TEXT);
}

#[test]
fn a_part_is_found_by_where_it_lies() {
    let sealed = Sealed::new(TEXT).unwrap();
    let part = sealed.bytes().slice(7..);
    assert_eq!(sealed.place_of(&part), Some(7..TEXT.len()));
    assert_eq!(sealed.place_of(sealed.bytes()), Some(0..TEXT.len()));
    // The same bytes elsewhere are not a part, nor are those of another.
    assert_eq!(sealed.place_of(TEXT), None);
    assert_eq!(sealed.place_of(Sealed::new(TEXT).unwrap().bytes()), None);
}

// req: ED-10
#[test]
fn a_few_pages_wait_in_a_pipe_and_more_of_them_in_a_file() {
    let few = Sealed::new(&text(64 * 1024)).unwrap();
    assert_eq!(pages(&few).draw().map(|_| ()), Some(()));
    let part = few.bytes().slice(1..);
    assert!(few.spring_of(&part).is_none(), "a pipe has no middle");
    let many = Sealed::new(&text(64 * 1024 + 1)).unwrap();
    let part = many.bytes().slice(1..);
    let Some(Spring::File(_, place)) = many.spring_of(&part) else {
        panic!("it fits into no pipe");
    };
    assert_eq!(place, 1..64 * 1024 + 1);
}

#[test]
fn no_more_pipes_are_kept_than_are_allowed_and_one_that_is_gone_makes_room() {
    static TWO: well::Allowance = well::Allowance::of(2);
    let first = TWO.ask().unwrap();
    let _second = TWO.ask().unwrap();
    assert_eq!(TWO.ask().err().unwrap().kind(), ErrorKind::QuotaExceeded);
    drop(first);
    assert!(TWO.ask().is_ok());
}

// req: ED-10
#[test]
fn a_well_gives_the_same_however_often_and_whether_it_was_taken_or_not() {
    let text = text(40_000);
    let sealed = Sealed::new(&text).unwrap();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut sent = Vec::new();
    // Until nobody takes any more: the last is taken in part, or not at all.
    while sent.len() < 1000 {
        let draught = pages(&sealed).draw().unwrap();
        match usize::try_from(draught.pour(ours.as_raw_fd())) {
            Ok(length) => {
                draught.poured(length);
                sent.push(length);
            }
            Err(_) => {
                assert_eq!(io::Error::last_os_error().kind(), ErrorKind::WouldBlock);
                break;
            }
        }
    }
    for length in &sent {
        let mut read = vec![0; *length];
        theirs.read_exact(&mut read).unwrap();
        assert!(read == text[..*length], "of {length} bytes");
    }
    assert!(sent.len() > 1 && sent.len() < 1000, "{sent:?}");
    let draught = pages(&sealed).draw().unwrap();
    assert_eq!(draught.pour(ours.as_raw_fd()), 40_000);
    let mut read = vec![0; 40_000];
    theirs.read_exact(&mut read).unwrap();
    assert!(read == text, "after nobody took it");
}

// req: ED-10
#[test]
fn what_is_left_of_a_draught_never_comes_before_the_next() {
    let (few, text) = (text(5_000), text(40_000));
    let (left, whole) = (Sealed::new(&few).unwrap(), Sealed::new(&text).unwrap());
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    // Nobody took any of it, or all but a byte.
    for poured in [0, 4_999] {
        pages(&left).draw().unwrap().poured(poured);
        let draught = pages(&whole).draw().unwrap();
        assert_eq!(draught.pour(ours.as_raw_fd()), 40_000);
        draught.poured(40_000);
        let mut read = vec![0; 40_000];
        theirs.read_exact(&mut read).unwrap();
        assert!(read == text, "after {poured} bytes of another");
    }
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
