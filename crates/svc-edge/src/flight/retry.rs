//! When to try again, and how long to wait before.

use std::time::Duration;

use http::StatusCode;

/// min(800, 50·2ⁿ) ms and up to 50 more, so that those who failed together do not come back together. `chance` is
/// below one.
pub(super) fn delay(failures: u32, chance: f64) -> Duration {
    let doubled = 50_u64.saturating_mul(1 << failures.min(10));
    let jitter = Duration::from_millis(50).mul_f64(chance.clamp(0.0, 1.0));
    Duration::from_millis(doubled.min(800)) + jitter
}

/// Answers that say no more than that it did not work this time.
pub(super) fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 502..=504)
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: ED-04
    #[test]
    fn delays_double_up_to_a_bound_and_never_come_together() {
        let ms = |failures, chance| delay(failures, chance).as_millis();
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 99].map(|n| ms(n, 0.0)),
            [50, 100, 200, 400, 800, 800, 800]
        );
        assert_eq!(ms(0, 1.0), 100);
        assert_eq!(ms(4, 0.5), 825);
    }

    // req: ED-04
    #[test]
    fn only_what_may_pass_is_tried_again() {
        let passing = |code| is_passing(StatusCode::from_u16(code).unwrap());
        assert!([502, 503, 504].into_iter().all(passing));
        assert!(![200, 301, 404, 429, 500, 501, 505].into_iter().any(passing));
    }
}
