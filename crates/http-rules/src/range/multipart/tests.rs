use super::*;

// req: ED-06
#[test]
fn the_length_is_that_of_the_frame_and_the_parts() {
    let whole = b"0123456789";
    let parts = Multipart::new(7, "text/plain", 10);
    let spans = [Span { first: 0, last: 1 }, Span { first: 8, last: 9 }];
    let mut body = Vec::new();
    for span in spans {
        body.extend_from_slice(&parts.before(span));
        body.extend_from_slice(&whole[span.first as usize..=span.last as usize]);
    }
    body.extend_from_slice(&parts.end());
    assert_eq!(body.len() as u64, parts.content_length(&spans));
    let text = String::from_utf8(body).unwrap();
    assert_eq!(
        text,
        "\r\n--0000000000000007\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01\
         \r\n--0000000000000007\r\nContent-Type: text/plain\r\nContent-Range: bytes 8-9/10\r\n\r\n89\
         \r\n--0000000000000007--\r\n"
    );
    assert_eq!(
        parts.content_type(),
        "multipart/byteranges; boundary=0000000000000007"
    );
}
