use super::*;
use proptest::prelude::*;

const PROBLEM: Problem<'_> = Problem {
    kind: None,
    title: "Too Many Requests",
    status: 429,
    detail: "The queue is full.",
    reason: "busy",
    request_id: "r-1",
    retry_after_ms: Some(1500),
};

// req: GW-08
#[test]
fn a_refusal_says_why_which_and_when_again() {
    let body = PROBLEM.body();
    let expected = "{\"type\":\"about:blank\",\"title\":\"Too Many Requests\",\"status\":429,\
        \"detail\":\"The queue is full.\",\"reason\":\"busy\",\"request_id\":\"r-1\",\"retry_after_ms\":1500}";
    assert_eq!(body, expected);
}

#[test]
fn without_advice_there_is_no_member_for_it() {
    let body = Problem {
        retry_after_ms: None,
        kind: Some("urn:x"),
        ..PROBLEM
    }
    .body();
    assert!(body.ends_with(b"\"request_id\":\"r-1\"}"));
    assert!(body.starts_with(b"{\"type\":\"urn:x\","));
}

proptest! {
    // req: GW-08
    #[test]
    fn any_text_comes_back_as_it_was(detail in any::<String>(), request_id in any::<String>()) {
        let body = Problem { detail: &detail, request_id: &request_id, ..PROBLEM }.body();
        let read: serde_json::Value = serde_json::from_slice(&body).unwrap();
        prop_assert_eq!(read["detail"].as_str(), Some(detail.as_str()));
        prop_assert_eq!(read["request_id"].as_str(), Some(request_id.as_str()));
        prop_assert!(!body.contains(&b'<'));
    }
}
