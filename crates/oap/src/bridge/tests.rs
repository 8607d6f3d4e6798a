use super::*;

fn request() -> RequestHead {
    let mut headers = HeaderMap::new();
    headers.append("accept", HeaderValue::from_static("text/html"));
    headers.append("x-empty", HeaderValue::from_static(""));
    headers.append("accept", HeaderValue::from_static("text/plain"));
    RequestHead {
        method: Method::POST,
        target: PathAndQuery::from_static("/a/b?c=d"),
        authority: Authority::from_static("api.test:8080"),
        headers,
    }
}

// req: GW-19
#[test]
fn a_head_is_read_as_it_was_written_and_the_body_is_left() {
    let mut out = BytesMut::new();
    request().put(&mut out).unwrap();
    out.extend_from_slice(b"body");
    let mut payload = out.freeze();
    assert_eq!(RequestHead::take(&mut payload), Ok(request()));
    assert_eq!(&payload[..], b"body");
    let mut out = BytesMut::new();
    put_fields(&mut out, &request().headers).unwrap();
    out.extend_from_slice(b"body");
    let mut payload = out.freeze();
    assert_eq!(take_fields(&mut payload), Ok(request().headers));
    assert_eq!(&payload[..], b"body");
}

#[test]
fn a_head_that_is_cut_off_anywhere_is_refused() {
    let mut out = BytesMut::new();
    request().put(&mut out).unwrap();
    let whole = out.freeze();
    for cut in 0..whole.len() {
        let refused = RequestHead::take(&mut whole.slice(..cut));
        assert_eq!(refused, Err(Refusal::HeadBroken), "{cut}");
    }
}

#[test]
fn what_http_would_not_take_is_refused() {
    let cases: [[&[u8]; 5]; 12] = [
        [b"", b"/", b"a", b"n", b"v"],
        [b"G T", b"/", b"a", b"n", b"v"],
        [b"GET", b"http://b/", b"a", b"n", b"v"],
        [b"GET", b"", b"a", b"n", b"v"],
        [b"GET", b"?b=c", b"a", b"n", b"v"],
        [b"GET", b"*b", b"a", b"n", b"v"],
        [b"GET", b"b", b"a", b"n", b"v"],
        [b"GET", b"/ b", b"a", b"n", b"v"],
        [b"GET", b"/", b"", b"n", b"v"],
        [b"GET", b"/", b"a b", b"n", b"v"],
        [b"GET", b"/", b"a", b"Name", b"v"],
        [b"GET", b"/", b"a", b"n", b"v\r\nx: y"],
    ];
    for [method, target, authority, name, value] in cases {
        let mut out = BytesMut::new();
        put8(&mut out, method).unwrap();
        put16(&mut out, target).unwrap();
        put8(&mut out, authority).unwrap();
        out.put_u16(1);
        put8(&mut out, name).unwrap();
        put16(&mut out, value).unwrap();
        let refused = RequestHead::take(&mut out.freeze());
        assert_eq!(refused, Err(Refusal::HeadBroken), "{method:?} {target:?}");
    }
}

#[test]
fn a_head_beyond_its_limits_is_refused_on_both_sides() {
    let mut large = HeaderMap::new();
    for _ in 0..2 {
        let value = vec![b'v'; HEAD_BYTES_MAX / 2];
        large.append("n", HeaderValue::from_bytes(&value).unwrap());
    }
    let mut many = HeaderMap::new();
    for _ in 0..=HEAD_FIELDS_MAX {
        many.append("n", HeaderValue::from_static("v"));
    }
    for headers in [large, many] {
        let mut out = BytesMut::new();
        assert_eq!(put_fields(&mut out, &headers), Err(Refusal::HeadOver));
        let count = headers.len() as u16;
        let mut wire = BytesMut::new();
        wire.put_u16(count);
        for (name, value) in &headers {
            put8(&mut wire, name.as_str().as_bytes()).unwrap();
            put16(&mut wire, value.as_bytes()).unwrap();
        }
        assert_eq!(take_fields(&mut wire.freeze()), Err(Refusal::HeadOver));
    }
}
