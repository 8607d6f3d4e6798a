//! Any request, any answer, any time: what may not be kept is not, what is stale is not fresh, and nothing panics.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_rules::cache::{
    Answered, Asked, ContentRange, Control, Decision, Rules, Wish, freshened, invalidated,
    storable, validators,
};

const NOW_MS: u64 = 1_794_765_600_000;

/// A line with the status and the seconds that pass, lines of the request's headers, an empty line, lines of the
/// answer's.
pub fn exercise(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let mut words = first.split(' ');
    let status = words.next().and_then(|word| word.parse().ok());
    let Some(status) = status.and_then(|code| StatusCode::from_u16(code).ok()) else {
        return;
    };
    let passed_s: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let request = headers(lines.by_ref().take_while(|line| !line.is_empty()));
    let answer = headers(lines);
    keep(&request, status, &answer, passed_s);
    change(status, &request, &answer);
}

fn keep(request: &HeaderMap, status: StatusCode, headers: &HeaderMap, passed_s: u64) {
    let rules = Rules::default();
    let asked = Asked {
        method: &Method::GET,
        headers: request,
    };
    let answer = Answered {
        status,
        headers,
        asked_at_ms: NOW_MS,
        came_at_ms: NOW_MS,
    };
    let Ok(kept) = storable(&asked, &answer, &rules) else {
        return;
    };
    let control = Control::of(headers, &http::header::CACHE_CONTROL);
    if !headers.contains_key("cdn-cache-control") {
        assert!(!control.private.is_all());
        assert!(!control.no_store || control.must_understand);
    }
    assert!(!headers.contains_key("set-cookie"));
    assert!(
        kept.varies
            .answers(&kept.varies.select(request), headers, request)
    );
    let now_ms = NOW_MS.saturating_add(passed_s.saturating_mul(1000));
    let wish = Wish::of(request);
    match kept.policy.decide(&wish, now_ms) {
        Decision::Fresh { age_s, ttl_s } => {
            assert!(age_s >= kept.policy.initial_age_s && !kept.policy.no_cache);
            assert!(ttl_s >= 0 && age_s < kept.policy.lifetime_s || wish.max_stale > 0);
        }
        Decision::Refresh { .. } => assert!(kept.policy.stale_while_revalidate_s > 0),
        Decision::Validate {
            was_fresh,
            if_error,
        } => assert!(if_error || !was_fresh),
    }
}

fn change(status: StatusCode, request: &HeaderMap, answer: &HeaderMap) {
    assert!(validators(answer).count() <= 2);
    if let Ok(merged) = freshened(answer, request, NOW_MS) {
        assert!(merged.contains_key("date"));
        assert_eq!(merged.get("content-length"), answer.get("content-length"));
    }
    let target = "http://a.example/b/c".parse().expect("written here");
    for path in invalidated(&Method::POST, &target, status, answer) {
        assert!(path.starts_with('/'), "{path}");
    }
    for value in answer.values() {
        if let Some(range) = ContentRange::parse(value.as_bytes()) {
            assert!(range.span.first <= range.span.last);
        }
    }
}

fn headers<'a>(lines: impl Iterator<Item = &'a [u8]>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.take(50) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            headers.append(name, value);
        }
    }
    headers
}
