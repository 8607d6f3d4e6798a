use super::*;
use http_rules::cache::WhyNot;

fn entry(policy: Result<Policy, WhyNot>, value: HeaderValue) -> Arc<Entry> {
    let mut headers = HeaderMap::new();
    headers.insert("vary", HeaderValue::from_static("foo"));
    headers.append("x-a", HeaderValue::from_static("1"));
    headers.append("x-a", value);
    let varies = Varies::of(&headers);
    let head = Head {
        status: StatusCode::from_u16(299).unwrap(),
        variant: varies.clone().unwrap().select(&HeaderMap::new()),
        varies,
        headers,
        policy,
        origin_status: StatusCode::NOT_MODIFIED,
    };
    Arc::new(Entry::new(
        head,
        Bytes::from_static(b"body"),
        vec!["red".into()],
    ))
}

const POLICY: Policy = Policy {
    lifetime_s: 1,
    initial_age_s: 2,
    came_at_ms: 3,
    stale_while_revalidate_s: 4,
    stale_if_error_s: 5,
    no_cache: true,
    must_revalidate: false,
};

// req: ED-03
#[test]
fn what_is_written_down_is_read_again() {
    let resource = Resource {
        variants: vec![entry(Ok(POLICY), HeaderValue::from_static("2"))],
    };
    let (record, entries) = write("key", &resource).unwrap();
    assert_eq!(entries.len(), 1);
    let read = read("key", &record, vec![Bytes::from_static(b"body")]).unwrap();
    let (one, other) = (&resource.variants[0], &read.variants[0]);
    assert_eq!(one.head.status, other.head.status);
    assert_eq!(one.head.headers, other.head.headers);
    assert_eq!(one.head.policy, other.head.policy);
    assert_eq!(
        (&one.head.varies, &one.head.variant),
        (&other.head.varies, &other.head.variant)
    );
    assert_eq!(
        (one.head.origin_status, &one.tags),
        (other.head.origin_status, &other.tags)
    );
    assert_eq!(one.body, other.body);
    assert_eq!(
        names(&record).unwrap(),
        ("key".to_owned(), vec!["red".into()])
    );
}

// req: ED-03
#[test]
fn a_record_of_another_address_or_with_other_bodies_is_none() {
    let resource = Resource {
        variants: vec![entry(Ok(POLICY), HeaderValue::from_static("2"))],
    };
    let (record, _) = write("key", &resource).unwrap();
    let body = || vec![Bytes::from_static(b"body")];
    assert!(read("other", &record, body()).is_none());
    assert!(read("key", &record, Vec::new()).is_none());
    assert!(read("key", &record[..record.len() - 1], body()).is_none());
    assert!(read("key", b"", body()).is_none());
}

// req: ED-03
#[test]
fn what_may_not_be_kept_or_is_no_text_is_not_written() {
    let odd = HeaderValue::from_bytes(b"\xff").unwrap();
    let resource = Resource {
        variants: vec![
            entry(Err(WhyNot::NoStore), HeaderValue::from_static("2")),
            entry(Ok(POLICY), odd),
        ],
    };
    assert!(write("key", &resource).is_none());
}
