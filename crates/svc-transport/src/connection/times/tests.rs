use std::sync::Arc;

use kernel::Kernel;

use super::*;
use crate::config::TransportText;
use crate::gates::Services;
use crate::transport::Transport;

fn settings() -> Arc<Settings> {
    let (kernel, _publisher) = Kernel::new();
    let text = TransportText::default();
    let transport = Transport::new(&kernel, &text, Services::new());
    transport.expect("a good config").plan().plain.clone()
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

// req: TR-07
#[tokio::test]
async fn hello_has_its_time_whatever_comes_of_it() {
    let (settings, now) = (settings(), kernel::clock::now());
    let mut times = Times::new(now);
    let due = Some((Late::Read, now + ms(2_000)));
    assert_eq!(times.next(&settings, false, true, None), due);
    times.read(now + ms(1_500));
    times.partial(true, true, now + ms(1_500));
    assert_eq!(times.next(&settings, false, false, None), due);
}

// req: TR-07
#[tokio::test]
async fn the_bytes_of_a_frame_do_not_prolong_its_time_but_the_next_frame_has_its_own() {
    let (settings, now) = (settings(), kernel::clock::now());
    let mut times = Times::new(now);
    for late in [0, 1_000, 4_000] {
        times.read(now + ms(late));
        times.partial(false, true, now + ms(late));
        let due = times.next(&settings, true, false, None);
        assert_eq!(due, Some((Late::Read, now + ms(5_000))));
    }
    times.partial(true, true, now + ms(4_500));
    let due = times.next(&settings, true, false, None);
    assert_eq!(due, Some((Late::Read, now + ms(9_500))));
    times.partial(true, false, now + ms(4_600));
    assert_eq!(times.next(&settings, true, false, None), None);
}

// req: TR-06
#[tokio::test]
async fn who_takes_something_has_all_the_time_again() {
    let (settings, now) = (settings(), kernel::clock::now());
    let mut times = Times::new(now);
    times.waits_to_write(now);
    times.waits_to_write(now + ms(4_000));
    let due = |times: &Times| times.next(&settings, true, false, None);
    assert_eq!(due(&times), Some((Late::Write, now + ms(5_000))));
    times.wrote(Some(now + ms(4_900)));
    assert_eq!(due(&times), None);
    times.waits_to_write(now + ms(5_000));
    assert_eq!(due(&times), Some((Late::Write, now + ms(10_000))));
}

// req: TR-06, TR-07
#[tokio::test]
async fn the_earliest_is_what_counts() {
    let (settings, now) = (settings(), kernel::clock::now());
    let mut times = Times::new(now);
    assert_eq!(
        times.next(&settings, true, true, None),
        Some((Late::Idle, now + ms(60_000)))
    );
    let stalled = Some(now + ms(100));
    times.waits_to_write(now + ms(200));
    let due = times.next(&settings, true, false, stalled);
    assert_eq!(due, Some((Late::Credit, now + ms(5_100))));
}
