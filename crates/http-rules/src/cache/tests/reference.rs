//! The rules once more, in the order and the words of RFC 9111, as slowly as they are written there.

use super::*;
use proptest::prelude::*;

/// What the generator says of a response, before it is text.
#[derive(Clone, Debug)]
struct Said {
    status: u16,
    directives: Vec<(&'static str, Option<u64>)>,
    expires_in: Option<i64>,
    date_ago: Option<i64>,
    age: Option<u64>,
    changed_ago: Option<i64>,
    authorized: bool,
}

const NUMBERED: [&str; 4] = [
    "max-age",
    "s-maxage",
    "stale-while-revalidate",
    "stale-if-error",
];
const FLAGS: [&str; 6] = [
    "no-store",
    "private",
    "no-cache",
    "public",
    "must-revalidate",
    "proxy-revalidate",
];

impl Said {
    fn number(&self, name: &str) -> Option<u64> {
        let found = self.directives.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, number)| *number)
    }

    fn has(&self, name: &str) -> bool {
        self.directives.iter().any(|(known, _)| *known == name)
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = map(&[("etag", "\"a\"")]);
        let mut put =
            |name: &'static str, value: String| headers.append(name, value.parse().unwrap());
        for (name, number) in &self.directives {
            let text = number.map_or((*name).to_owned(), |number| format!("{name}={number}"));
            put("cache-control", text);
        }
        let dates = [
            ("expires", self.expires_in),
            ("date", self.date_ago.map(|ago| -ago)),
            ("last-modified", self.changed_ago.map(|ago| -ago)),
        ];
        for (name, offset) in dates {
            if let Some(offset) = offset {
                put(name, at(offset));
            }
        }
        if let Some(age) = self.age {
            put("age", age.to_string());
        }
        headers
    }

    /// Section 3, for a shared cache.
    fn may_be_stored(&self) -> bool {
        let forbidden = self.has("no-store") || self.has("private");
        let explicit = ["public", "s-maxage", "max-age"]
            .iter()
            .any(|name| self.has(name));
        let cacheable =
            explicit || self.expires_in.is_some() || heuristically_cacheable(self.status);
        let authorized = ["public", "must-revalidate", "s-maxage"]
            .iter()
            .any(|name| self.has(name));
        !forbidden && cacheable && (!self.authorized || authorized)
    }

    /// Section 4.2.1 and 4.2.2.
    fn freshness_lifetime(&self) -> i64 {
        let date = -self.date_ago.unwrap_or(0);
        if let Some(number) = self.number("s-maxage").or(self.number("max-age")) {
            return number as i64;
        }
        if let Some(expires) = self.expires_in {
            return (expires - date).max(0);
        }
        let changed = -self.changed_ago.unwrap_or(-date);
        match heuristically_cacheable(self.status) || self.has("public") {
            true => ((date - changed).max(0) / 10).min(86_400),
            false => 0,
        }
    }

    /// Section 4.2.3, for a response that took no time.
    fn current_age(&self, resident: i64) -> i64 {
        let apparent_age = self.date_ago.unwrap_or(0).max(0);
        apparent_age.max(self.age.unwrap_or(0) as i64) + resident
    }

    /// Section 4, without wishes.
    fn is_reusable(&self, resident: i64) -> bool {
        self.freshness_lifetime() > self.current_age(resident) && !self.has("no-cache")
    }
}

fn heuristically_cacheable(status: u16) -> bool {
    [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(&status)
}

fn said() -> impl Strategy<Value = Said> {
    let numbered = proptest::sample::subsequence(NUMBERED.to_vec(), 0..=4);
    let numbers = proptest::collection::vec(0_u64..100, 4);
    let flags = proptest::sample::subsequence(FLAGS.to_vec(), 0..=2);
    let statuses = proptest::sample::select(vec![200, 203, 302, 404, 410, 500, 503, 599]);
    let offset = || proptest::option::of(-200_i64..200);
    let ago = proptest::option::of(0_i64..100_000);
    let rest = (
        offset(),
        offset(),
        proptest::option::of(0_u64..100),
        ago,
        any::<bool>(),
    );
    (statuses, numbered, numbers, flags, rest).prop_map(
        |(status, numbered, numbers, flags, rest)| {
            let numbered = numbered.into_iter().zip(numbers.into_iter().map(Some));
            let flags = flags.into_iter().map(|flag| (flag, None));
            let (expires_in, date_ago, age, changed_ago, authorized) = rest;
            Said {
                status,
                directives: numbered.chain(flags).collect(),
                expires_in,
                date_ago,
                age,
                changed_ago,
                authorized,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // req: ED-05
    #[test]
    fn storing_and_reuse_follow_the_letter(said in said(), resident in 0_i64..200) {
        let request = match said.authorized {
            true => map(&[("authorization", "x")]),
            false => HeaderMap::new(),
        };
        let headers = said.headers();
        let asked = Asked { method: &Method::GET, headers: &request };
        let status = StatusCode::from_u16(said.status).unwrap();
        let answer = Answered { status, headers: &headers, asked_at_ms: NOW_MS, came_at_ms: NOW_MS };
        let kept = storable(&asked, &answer, &Rules::default());
        prop_assert_eq!(kept.is_ok(), said.may_be_stored(), "{:?}", kept);
        let Ok(kept) = kept else { return Ok(()) };
        let now_ms = NOW_MS + resident as u64 * 1000;
        let decision = kept.policy.decide(&Wish::default(), now_ms);
        let fresh = matches!(decision, Decision::Fresh { .. });
        prop_assert_eq!(fresh, said.is_reusable(resident), "{:?}", kept.policy);
        prop_assert_eq!(kept.policy.age_s(now_ms) as i64, said.current_age(resident));
        if said.has("must-revalidate") || said.has("proxy-revalidate") {
            let asks = matches!(decision, Decision::Fresh { .. } | Decision::Validate { if_error: false, .. });
            prop_assert!(asks, "{:?}", decision);
        }
    }

    // req: ED-05
    #[test]
    fn what_was_stale_never_becomes_fresh_by_waiting(said in said(), first in 0_u64..300_000, more in 0_u64..300_000) {
        let headers = said.headers();
        let asked = Asked { method: &Method::GET, headers: &HeaderMap::new() };
        let status = StatusCode::from_u16(said.status).unwrap();
        let answer = Answered { status, headers: &headers, asked_at_ms: NOW_MS, came_at_ms: NOW_MS };
        let Ok(kept) = storable(&asked, &answer, &Rules::default()) else { return Ok(()) };
        let rank = |after: u64| match kept.policy.decide(&Wish::default(), NOW_MS + after) {
            Decision::Fresh { .. } => 0,
            Decision::Refresh { .. } => 1,
            Decision::Validate { if_error: true, .. } => 2,
            Decision::Validate { if_error: false, .. } => 3,
        };
        // Refreshing may end before the window for errors does, and after it.
        let (before, after) = (rank(first), rank(first + more));
        prop_assert!(before == 0 || after > 0, "{before} {after}");
        prop_assert!(before < 3 || after == 3, "{before} {after}");
    }
}
