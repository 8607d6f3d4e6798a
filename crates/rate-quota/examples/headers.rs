//! A client that sends too fast, and the headers it would be answered with.

use std::time::Duration;

use rate_quota::{Denied, Quota, Rate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rate = Rate::new(5, Duration::from_secs(1))?.burst(3)?;
    let quota = Quota::new(rate, 1_000);
    for step in 0..10_u32 {
        let now = Duration::from_secs(1) + step * Duration::from_millis(80);
        let line = match quota.check(42, 1, now) {
            Ok(left) => format!(
                "200  RateLimit: r={}, t={:.1?}",
                left.remaining(),
                left.reset_after()
            ),
            Err(Denied::For { retry_after, .. }) => format!("429  Retry-After: {retry_after:.1?}"),
            Err(Denied::Forever) => "413".to_owned(),
        };
        println!("{:>6.1?}  {line}", now - Duration::from_secs(1));
    }
    Ok(())
}
