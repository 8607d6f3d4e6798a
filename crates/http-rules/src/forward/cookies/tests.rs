use super::*;

fn joined(lines: &[&'static str]) -> Vec<HeaderValue> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(COOKIE, HeaderValue::from_static(line));
    }
    join_cookies(&mut headers);
    headers.get_all(COOKIE).iter().cloned().collect()
}

// req: GW-14
#[test]
fn crumbs_become_one_cookie_in_their_order() {
    assert_eq!(joined(&["a=b", "c=d; e=f", "g=h"]), ["a=b; c=d; e=f; g=h"]);
    assert_eq!(joined(&["a=b"]), ["a=b"]);
    assert!(joined(&[]).is_empty());
}
