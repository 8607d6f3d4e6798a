use super::*;

// req: GW-06
#[test]
fn policies_and_what_is_left_are_structured_lists() {
    let day = Duration::from_secs(86_400);
    let promised = policies(&[
        Policy {
            name: "burst",
            quota: 100,
            window: Duration::from_secs(60),
        },
        Policy {
            name: "daily",
            quota: 1000,
            window: day,
        },
    ]);
    assert_eq!(
        promised.unwrap(),
        "\"burst\";q=100;w=60, \"daily\";q=1000;w=86400"
    );
    let now = left(&[Left {
        name: "burst",
        remaining: 0,
        reset: Duration::from_millis(1001),
    }]);
    assert_eq!(now.unwrap(), "\"burst\";r=0;t=2");
    assert_eq!(policies(&[]), None);
}

#[test]
fn names_and_numbers_stay_within_the_format() {
    let odd = Left {
        name: "a\"b\\c\r\né",
        remaining: u64::MAX,
        reset: Duration::MAX,
    };
    let value = left(&[odd]).unwrap();
    assert_eq!(
        value,
        "\"a\\\"b\\\\c???\";r=999999999999999;t=999999999999999"
    );
}

// req: GW-06, GW-07
#[test]
fn retry_after_never_says_too_early() {
    assert_eq!(retry_after(Duration::ZERO), "1");
    assert_eq!(retry_after(Duration::from_millis(1)), "1");
    assert_eq!(retry_after(Duration::from_secs(2)), "2");
    assert_eq!(retry_after(Duration::from_millis(2001)), "3");
}
