use tokio::io::AsyncReadExt;

use super::*;

// attack: J-06
#[tokio::test]
async fn with_the_spare_descriptor_those_who_wait_are_turned_away_at_once() {
    let bound = net::bound(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    bound.set_nonblocking(true).unwrap();
    let address = bound.local_addr().unwrap();
    let listener = TcpListener::from_std(bound).unwrap();
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(TcpStream::connect(address).await.unwrap());
    }
    let mut spare = Spare::new();
    spare.turn_away(&listener);
    for stream in &mut waiting {
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
    }
    assert!(spare.0.is_some(), "kept again for the next time");
}

#[test]
fn running_out_of_descriptors_is_told_from_other_failures() {
    let error = io::Error::from_raw_os_error;
    assert!(out_of_descriptors(&error(libc::EMFILE)));
    assert!(out_of_descriptors(&error(libc::ENFILE)));
    assert!(!out_of_descriptors(&error(libc::ECONNABORTED)));
}
