//! Ten thousand connections that take their time: all closed when their time is over, at nobody else's expense.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use e2e::good::Good;
use e2e::site::Site;
use e2e::wait::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// As many as the machine lets one process open, up to this.
const CONNECTIONS: u64 = 10_000;
/// Descriptors for everything else.
const SPARE: u64 = 500;
/// The head timeout, and what a debug build on a machine that has other things to do may make of it.
const HEAD: Duration = Duration::from_secs(5);
const LATEST: Duration = Duration::from_secs(20);
/// What the requirement allows; most have to keep it here too.
const WANTED: Duration = Duration::from_millis(5500);

/// Raises the limit of descriptors as far as it goes; the node inherits it.
fn connections() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: plain system calls on a local structure.
    let raised = unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) == 0
        }
    };
    assert!(raised, "{}", std::io::Error::last_os_error());
    CONNECTIONS.min(limit.rlim_cur.saturating_sub(SPARE))
}

/// What a slow client says: at once, and then piece by piece.
#[derive(Clone, Copy)]
struct Manner {
    first: &'static [u8],
    then: &'static [u8],
}

const MANNERS: [Manner; 5] = [
    Manner {
        first: b"",
        then: b"",
    },
    Manner {
        first: b"G",
        then: b"",
    },
    Manner {
        first: b"GET / HTTP/1.1\r\nhost: a.test\r\n",
        then: b"",
    },
    Manner {
        first: b"GET / HTTP/1.1\r\nhost: a.test\r\nx: ",
        then: b"y",
    },
    Manner {
        first: b"GET / HTTP/1.1\r\nhost: a.test\r\n",
        then: b"x: y\r\n",
    },
];

/// How long the door keeps such a connection; nothing if it never closes it, or answers.
async fn kept(door: SocketAddr, manner: Manner) -> Option<Duration> {
    let mut stream = TcpStream::connect(door).await.ok()?;
    let began = Instant::now();
    stream.write_all(manner.first).await.ok()?;
    let mut byte = [0];
    loop {
        match timeout(Duration::from_secs(1), stream.read(&mut byte)).await {
            Ok(Ok(0) | Err(_)) => return Some(began.elapsed()),
            Ok(Ok(_)) => return None,
            Err(_) if began.elapsed() > LATEST * 2 => return None,
            Err(_) => {}
        }
        if stream.write_all(manner.then).await.is_err() {
            return Some(began.elapsed());
        }
    }
}

// req: GW-03, GW-15
// attack: A-50
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_slow_connections_are_closed_in_time_while_others_are_served() {
    let many = connections();
    let site = Site::start("", "").await;
    let door = site.gateway.door;
    let calm = Good::alone(door, Duration::from_secs(1)).await;
    let timeouts = async || {
        let metrics = site.gateway.metrics().await;
        metrics.sum("io_timeouts_total", &[("op", "read")]) as u64
    };
    let before = timeouts().await;
    let good = Good::begin(door);
    let mut slow = JoinSet::new();
    for (number, manner) in (0..many).zip(MANNERS.into_iter().cycle()) {
        slow.spawn(kept(door, manner));
        // No faster than the backlog of a busy node can take: what overflows it the system resets.
        if number % 100 == 99 {
            sleep(Duration::from_millis(25)).await;
        }
    }
    let all = slow.join_all().await;
    let mut times: Vec<Duration> = all.iter().copied().flatten().collect();
    times.sort();
    let (asked_p99, asked) = good.p99().await;
    assert_eq!(
        times.len() as u64,
        many,
        "all are closed, and none is answered"
    );
    let (first, last) = (times[0], times[times.len() - 1]);
    let in_time = times.iter().filter(|time| **time <= WANTED).count();
    let ratio = asked_p99.as_secs_f64() / calm.as_secs_f64();
    println!(
        "{many} connections closed after {first:?} to {last:?}, {in_time} of them within {WANTED:?}"
    );
    println!(
        "a good client: p99 {calm:?} alone, {asked_p99:?} among them ({ratio:.2}x, {asked} requests)"
    );
    assert!(first >= HEAD - Duration::from_millis(200), "{first:?}");
    assert!(last <= LATEST, "{last:?}");
    assert!(in_time as u64 >= many / 2, "{in_time} of {many}");
    assert!(
        asked > 100 && asked_p99 < Duration::from_secs(2),
        "{asked} requests, {asked_p99:?}"
    );
    eventually("each is counted", Duration::from_secs(5), async || {
        timeouts().await - before == many
    })
    .await;
    assert_eq!(site.gateway.get("/next").await.status, 200);
    let heard: usize = site
        .origin
        .take()
        .iter()
        .map(|tape| {
            let seen = testkit::strict::requests(tape).expect("whole requests");
            seen.iter()
                .filter(|request| !matches!(&*request.target, "/good" | "/next"))
                .count()
        })
        .sum();
    assert_eq!(heard, 0, "no slow head became a request");
}

// req: GW-03
// attack: A-50, D-03
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_rests_between_requests_is_not_slow() {
    let site = Site::start("[gateway.timeouts]\nhead_ms = 500\nidle_ms = 3000\n", "").await;
    let ask = e2e::site::request("GET", "/good", "", "");
    let mut connection = site.gateway.connect().await;
    for pause in [1000, 1500, 0] {
        let answer = connection
            .exchange(&ask, e2e::START)
            .await
            .expect("an answer");
        assert_eq!(answer.status, 200);
        sleep(Duration::from_millis(pause)).await;
    }
    let began = Instant::now();
    let (said, closed) = connection.read_until_close(e2e::START).await;
    assert!(closed && said.is_empty(), "{said:?}");
    let idle = Duration::from_millis(2900)..Duration::from_millis(4500);
    assert!(idle.contains(&began.elapsed()), "{:?}", began.elapsed());
}
