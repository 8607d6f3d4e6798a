//! How many more servers a request may be passed on to (RFC 9110, 7.6.2).

use http::header::{HeaderMap, MAX_FORWARDS};
use http::{HeaderValue, Method};

/// What `Max-Forwards` says, of the methods for which it means something. A number larger than any is the largest.
pub fn hops_left(method: &Method, headers: &HeaderMap) -> Option<u64> {
    if !matches!(*method, Method::OPTIONS | Method::TRACE) {
        return None;
    }
    let said = headers.get(MAX_FORWARDS)?.to_str().ok()?;
    let digits = !said.is_empty() && said.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| said.parse().unwrap_or(u64::MAX))
}

/// Says one less to the next server.
pub fn count_hop(method: &Method, headers: &mut HeaderMap) {
    if let Some(hops) = hops_left(method, headers) {
        headers.insert(MAX_FORWARDS, HeaderValue::from(hops.saturating_sub(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: GW-14
    #[test]
    fn the_next_server_is_told_one_less_where_it_means_something() {
        let next = |method: Method, said: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(MAX_FORWARDS, HeaderValue::from_static(said));
            count_hop(&method, &mut headers);
            headers[MAX_FORWARDS]
                .to_str()
                .unwrap_or_default()
                .to_owned()
        };
        assert_eq!(next(Method::OPTIONS, "5"), "4");
        assert_eq!(next(Method::TRACE, "010"), "9");
        assert_eq!(next(Method::GET, "5"), "5");
        let most = (u64::MAX - 1).to_string();
        assert_eq!(next(Method::OPTIONS, "99999999999999999999999"), most);
        for odd in ["", "+5", "-1", "5, 5", "x"] {
            assert_eq!(next(Method::OPTIONS, odd), odd);
        }
    }
}
