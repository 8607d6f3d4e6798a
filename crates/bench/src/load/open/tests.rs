use super::*;
use crate::load::request;
use crate::origin::tests::start;

fn stream(target: SocketAddr, name: &str, rate_per_s: f64, path: &str) -> Stream {
    Stream::steady(
        name,
        rate_per_s,
        request("GET", target, path, &[], b""),
        Ipv4Addr::new(127, 1, 0, 1),
    )
}

fn plan(target: SocketAddr, streams: Vec<Stream>) -> Plan {
    Plan {
        target,
        streams,
        warm_up: Duration::from_millis(200),
        length: Duration::from_millis(1_200),
        patience: Duration::from_millis(300),
        connections_max: 2_000,
    }
}

#[test]
fn as_many_are_sent_as_the_rate_says_and_all_are_accounted_for() {
    let origin = start(32, 20);
    let streams = vec![
        stream(origin, "some", 500.0, "/work"),
        stream(origin, "none", 0.0, "/work"),
        stream(origin, "missing", 100.0, "/nothing"),
    ];
    let outcome = Outcome::of(&plan(origin, streams)).unwrap();
    let some = outcome.stream("some").unwrap();
    assert_eq!(some.intended, 500);
    assert_eq!(some.ok, 500, "{some:?}");
    assert!(quantile_ms(&some.latency, 0.0) >= 20.0);
    assert_eq!(outcome.stream("none").unwrap().intended, 0);
    let missing = outcome.stream("missing").unwrap();
    assert_eq!(missing.refused.get(&404), Some(&100));
    assert!((outcome.goodput_per_s() - 500.0).abs() < 15.0);
}

#[test]
fn bursts_come_at_the_beginning_of_each_period() {
    let ms = Duration::from_millis;
    let bursts = Bursts {
        period: ms(2_000),
        length: ms(500),
    };
    for (then, expected) in [(0, 0), (499, 499), (500, 2_000), (1_250, 4_250)] {
        assert_eq!(bursts.at(ms(then)), ms(expected));
    }
}

#[test]
fn who_comes_by_chance_comes_as_often_and_at_no_equal_distances() {
    let target = "127.0.0.1:1".parse().unwrap();
    let mut by_chance = stream(target, "many", 1_000.0, "/work");
    by_chance.rhythm = Rhythm::Chance;
    let mut due = due::Due::new(&[by_chance], Duration::from_secs(10));
    let came: Vec<Duration> =
        std::iter::from_fn(|| due.pop(Duration::MAX).map(|shot| shot.intended)).collect();
    assert!((9_500..10_500).contains(&came.len()), "{}", came.len());
    let gaps = came.windows(2).map(|two| two[1] - two[0]);
    let long = gaps.filter(|gap| *gap > Duration::from_millis(2)).count();
    // One in e², that is 1,353 of 10,000.
    assert!((1_150..1_550).contains(&long), "{long}");
}

#[test]
fn who_waits_too_long_leaves_and_is_counted() {
    let origin = start(1, 100);
    let outcome = Outcome::of(&plan(origin, vec![stream(origin, "many", 200.0, "/work")]));
    let outcome = outcome.unwrap();
    let many = outcome.stream("many").unwrap();
    assert_eq!(many.intended, 200);
    assert_eq!(many.ok + many.timed_out, 200, "{many:?}");
    assert!(many.timed_out > 150, "{}", many.timed_out);
}

#[test]
fn a_request_beyond_the_connections_is_lost() {
    let origin = start(1, 250);
    let mut plan = plan(origin, vec![stream(origin, "many", 200.0, "/work")]);
    plan.connections_max = 3;
    let outcome = Outcome::of(&plan).unwrap();
    let many = &outcome.streams[0];
    assert!(many.lost > 100 && outcome.connections < 60, "{many:?}");
}

#[test]
fn nobody_there_is_a_loss_too() {
    let port = testkit::process::Port::reserve().unwrap();
    let target = port.addr();
    let outcome = Outcome::of(&plan(target, vec![stream(target, "many", 100.0, "/")])).unwrap();
    let many = &outcome.streams[0];
    assert_eq!((many.intended, many.lost), (100, 100));
}

mod words {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Refuses each connection's first `refusals` requests, saying one second.
    fn fickle(refusals: u32) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = AtomicU32::new(0);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let mut client = client.unwrap();
                let _ = client.read(&mut [0; 512]);
                let text: &[u8] = match seen.fetch_add(1, Ordering::Relaxed) < refusals {
                    true => b"HTTP/1.1 503 No\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                    false => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                };
                let _ = client.write_all(text);
            }
        });
        address
    }

    fn word(refusals: u32) -> crate::load::tally::Word {
        let target = fickle(refusals);
        let mut one = stream(target, "one", 5.0, "/");
        (one.until, one.retries) = (Duration::from_millis(100), 3);
        let mut plan = plan(target, vec![one]);
        plan.warm_up = Duration::ZERO;
        Outcome::of(&plan).unwrap().streams[0].word
    }

    #[test]
    fn a_word_is_kept_when_the_one_who_comes_again_is_answered() {
        let kept = word(1);
        assert_eq!((kept.given, kept.tried), (1, 1));
        assert_eq!((kept.kept_at_once, kept.kept_within_double), (1, 1));
    }

    #[test]
    fn a_word_is_half_kept_when_the_second_try_at_twice_the_time_is_answered() {
        let late = word(2);
        assert_eq!((late.kept_at_once, late.kept_within_double), (0, 1));
    }

    #[test]
    fn a_word_is_broken_when_it_takes_more_than_twice_as_long() {
        let broken = word(3);
        assert_eq!((broken.given, broken.tried), (1, 1));
        assert_eq!((broken.kept_at_once, broken.kept_within_double), (0, 0));
    }
}
