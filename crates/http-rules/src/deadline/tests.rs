use super::*;
use proptest::prelude::*;

const BOUNDS: Bounds = Bounds {
    least: Duration::from_millis(1),
    most: Duration::from_secs(5),
};
const NOW: Duration = Duration::from_secs(1_700_000_000);

fn asked(name: HeaderName, value: &str) -> Duration {
    budget_of(&[(name, value)])
}

fn budget_of(lines: &[(HeaderName, &str)]) -> Duration {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    budget(&headers, BOUNDS, || NOW)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

// req: GW-09
#[test]
fn each_header_is_understood() {
    assert_eq!(asked(REQUEST_TIMEOUT, "2"), ms(2000));
    assert_eq!(asked(REQUEST_TIMEOUT, "0.25"), ms(250));
    assert_eq!(asked(GRPC_TIMEOUT, "250m"), ms(250));
    assert_eq!(asked(GRPC_TIMEOUT, "1S"), ms(1000));
    assert_eq!(asked(GRPC_TIMEOUT, "2000u"), ms(2));
    assert_eq!(asked(GRPC_TIMEOUT, "3000000n"), ms(3));
    assert_eq!(asked(REQUEST_DEADLINE, "1700000000750"), ms(750));
    assert_eq!(asked(REQUEST_DEADLINE, "2023-11-14T22:13:21Z"), ms(1000));
}

// req: GW-09
#[test]
fn the_shortest_wish_holds_and_none_is_the_most() {
    assert_eq!(budget_of(&[]), BOUNDS.most);
    let several = [
        (REQUEST_TIMEOUT, "3"),
        (GRPC_TIMEOUT, "2S"),
        (REQUEST_DEADLINE, "1700000001000"),
        (REQUEST_TIMEOUT, "4"),
    ];
    assert_eq!(budget_of(&several), ms(1000));
}

// req: GW-09
// attack: H-10
#[test]
fn zero_negative_past_and_huge_wishes_are_clamped() {
    let none = [
        (REQUEST_TIMEOUT, "0"),
        (REQUEST_TIMEOUT, "-1"),
        (REQUEST_TIMEOUT, "0.0000000001"),
        (GRPC_TIMEOUT, "0S"),
        (GRPC_TIMEOUT, "-5m"),
        (GRPC_TIMEOUT, "1n"),
        (REQUEST_DEADLINE, "0"),
        (REQUEST_DEADLINE, "-1"),
        (REQUEST_DEADLINE, "1699999999999"),
    ];
    for (name, value) in none {
        assert_eq!(asked(name, value), BOUNDS.least, "{value}");
    }
    let huge = "9".repeat(60);
    for (name, value) in [
        (REQUEST_TIMEOUT, huge.clone()),
        (REQUEST_TIMEOUT, format!("{huge}.{huge}")),
        (GRPC_TIMEOUT, format!("{huge}H")),
        (GRPC_TIMEOUT, "99999999H".to_owned()),
        (REQUEST_DEADLINE, huge),
    ] {
        assert_eq!(asked(name, &value), BOUNDS.most, "{value}");
    }
}

#[test]
fn what_cannot_be_read_is_no_wish() {
    for odd in [
        "", "-", ".5", "1.", "1e3", "1s", "0x1", "NaN", "inf", "1,5", "+1", " 1",
    ] {
        assert_eq!(asked(REQUEST_TIMEOUT, odd), BOUNDS.most, "{odd:?}");
    }
    for odd in ["", "1", "S", "1s", "1.5S", "1 S", "1h"] {
        assert_eq!(asked(GRPC_TIMEOUT, odd), BOUNDS.most, "{odd:?}");
    }
}

#[test]
fn the_clock_is_not_read_for_relative_wishes() {
    let mut headers = HeaderMap::new();
    headers.insert(REQUEST_TIMEOUT, HeaderValue::from_static("1"));
    let left = budget(&headers, BOUNDS, || panic!("no moment is named"));
    assert_eq!(left, ms(1000));
}

// req: GW-09
#[test]
fn the_remainder_goes_on_in_the_forms_the_caller_used() {
    let mut headers = HeaderMap::new();
    pass_on(&mut headers, ms(1234), || NOW);
    assert_eq!(headers[REQUEST_TIMEOUT], "1.234");
    assert_eq!(headers.len(), 1);
    headers.insert(GRPC_TIMEOUT, HeaderValue::from_static("5S"));
    headers.append(REQUEST_TIMEOUT, HeaderValue::from_static("9"));
    headers.insert(REQUEST_DEADLINE, HeaderValue::from_static("9"));
    pass_on(&mut headers, ms(800), || NOW);
    assert_eq!(headers[REQUEST_TIMEOUT], "0.800");
    assert_eq!(headers[GRPC_TIMEOUT], "800m");
    assert_eq!(headers[REQUEST_DEADLINE], "1700000000800");
    assert_eq!(headers.len(), 3);
}

#[test]
fn a_grpc_timeout_has_at_most_eight_digits() {
    assert_eq!(grpc_timeout(Duration::ZERO), "0u");
    assert_eq!(grpc_timeout(Duration::from_micros(999)), "999u");
    assert_eq!(grpc_timeout(ms(99_999_999)), "99999999m");
    assert_eq!(grpc_timeout(ms(100_000_000)), "100000S");
    assert_eq!(grpc_timeout(Duration::MAX), "99999999S");
}

proptest! {
    // req: GW-09
    #[test]
    fn what_is_passed_on_is_understood_and_never_more(nanos in 0..5_000_000_000_u64) {
        let left = Duration::from_nanos(nanos);
        let wide = Bounds { least: Duration::ZERO, most: Duration::MAX };
        for (name, value) in [(REQUEST_TIMEOUT, request_timeout(left)), (GRPC_TIMEOUT, grpc_timeout(left))] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value);
            let read = budget(&headers, wide, || NOW);
            prop_assert!(read <= left && left - read < ms(1));
        }
    }

    #[test]
    fn any_bytes_give_a_budget_within_bounds(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(value) = HeaderValue::from_bytes(&bytes) {
            for name in [REQUEST_TIMEOUT, GRPC_TIMEOUT, REQUEST_DEADLINE] {
                let mut headers = HeaderMap::new();
                headers.insert(name, value.clone());
                let budget = budget(&headers, BOUNDS, || NOW);
                prop_assert!(BOUNDS.least <= budget && budget <= BOUNDS.most);
            }
        }
    }
}
