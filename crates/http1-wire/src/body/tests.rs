use super::*;

// attack: K-13, K-16
#[test]
fn a_body_takes_no_more_than_its_length_and_is_short_without_it() {
    let mut inbox = BytesMut::from(&b"0123456789"[..]);
    let mut body = BodyReader::new(Framing::Length(4));
    assert_eq!(body.next(&mut inbox), Ok(Some(Piece::Data("0123".into()))));
    assert_eq!((body.next(&mut inbox), body.is_done()), (Ok(None), true));
    assert_eq!((body.left(), body.close()), (Some(0), Ok(())));
    assert_eq!(inbox, "456789");
    let mut body = BodyReader::new(Framing::Length(40));
    assert!(body.next(&mut inbox).unwrap().is_some());
    assert_eq!((body.left(), body.close()), (Some(34), Err(Fault::Short)));
    let mut body = BodyReader::new(Framing::Chunked);
    assert_eq!(body.close(), Err(Fault::Short));
}
