use super::*;
use http::HeaderValue;

mod changing;
mod keeping;
mod reading;
mod reference;
mod selecting;
mod using;

/// Sun, 15 Nov 2026 18:00:00 GMT.
const NOW: u64 = 1_794_765_600;
const NOW_MS: u64 = NOW * 1000;

fn map(lines: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn at(offset: i64) -> String {
    let moment = NOW.checked_add_signed(offset).unwrap();
    crate::date::value(moment).to_str().unwrap().to_owned()
}

fn judged(
    request: &[(&str, &str)],
    status: u16,
    response: &[(&str, &str)],
    rules: &Rules,
) -> Result<Storable, WhyNot> {
    let (request, response) = (map(request), map(response));
    let asked = Asked {
        method: &Method::GET,
        headers: &request,
    };
    let answer = Answered {
        status: StatusCode::from_u16(status).unwrap(),
        headers: &response,
        asked_at_ms: NOW_MS,
        came_at_ms: NOW_MS,
    };
    storable(&asked, &answer, rules)
}

/// How long a 200 with these headers is fresh; nothing if it is not kept.
fn fresh_for(response: &[(&str, &str)]) -> Option<u64> {
    let kept = judged(&[], 200, response, &Rules::default()).ok()?;
    Some(
        kept.policy
            .lifetime_s
            .saturating_sub(kept.policy.initial_age_s),
    )
}
