//! A hundred drains under steady load, each at a random moment: nothing that was accepted is lost.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use e2e::{Node, log, rounds};
use testkit::http::{Connection, Failure, Response, request_bytes};
use testkit::load::{Load, Outcome, Stream};
use testkit::sim::Rng;

/// Drains in one run of this test; both runtimes together make two hundred.
const DRAINS: u64 = 100;
/// Times a unit takes, in milliseconds: all of them well below the deadline.
const TAKES_MS: [u32; 5] = [5, 20, 60, 150, 300];
const RATE_PER_S: f64 = 200.0;
const PATIENCE: Duration = Duration::from_secs(10);

/// What all drains together came to.
#[derive(Default)]
struct Sum {
    took: Vec<Duration>,
    accepted: usize,
    last_moment: usize,
    late_answered: usize,
    late_refused: usize,
}

// attack: K-01
// req: AC-01, KN-05, KN-08
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_at_any_moment_answers_all_that_was_accepted_and_ends_in_time() {
    let drains = std::env::var("MACRONODE_DRAINS").map_or(DRAINS, |text| {
        text.parse().expect("MACRONODE_DRAINS is a number")
    });
    let sum = Arc::new(Mutex::new(Sum::default()));
    let rounds_sum = sum.clone();
    rounds("drain", drains, move |rng| {
        drain_once(rng, rounds_sum.clone())
    })
    .await;
    let mut sum = sum.lock().unwrap();
    sum.took.sort_unstable();
    let (p50, p95, p99) = (sum.at(0.50), sum.at(0.95), sum.at(0.99));
    println!(
        "{} drains: p50 {p50:?}, p95 {p95:?}, p99 {p99:?}, max {:?}; {} requests accepted before the signal, \
         {} of them in the last moment; after it {} answered, {} refused",
        sum.took.len(),
        sum.at(1.0),
        sum.accepted,
        sum.last_moment,
        sum.late_answered,
        sum.late_refused,
    );
    assert!(p95 <= Duration::from_secs(3), "p95 {p95:?}");
    assert!(p99 <= Duration::from_secs(5), "p99 {p99:?}");
}

impl Sum {
    /// The smallest time that so large a part of the drains did not exceed.
    fn at(&self, quantile: f64) -> Duration {
        let rank = (self.took.len() as f64 * quantile).ceil() as usize;
        self.took[rank.clamp(1, self.took.len()) - 1]
    }
}

async fn drain_once(mut rng: Rng, sum: Arc<Mutex<Sum>>) {
    let node = Node::start(&[]).await;
    let load = steady(&node).start();
    let mut resting = Vec::new();
    for _ in 0..4 {
        resting.push(rested(&node).await);
    }
    tokio::time::sleep(Duration::from_micros(rng.u64(50_000..700_000))).await;
    let mut last_moment = resting;
    for _ in 0..4 {
        last_moment.push(Connection::open(node.demo, PATIENCE).await.unwrap());
    }
    let request = request_bytes("GET", node.demo, "/work?ms=10", &[], b"");
    for connection in &mut last_moment {
        connection.send(&request).await.unwrap();
    }
    let asked = Instant::now();
    assert!(node.process.signal(libc::SIGTERM).unwrap());
    let exit = async {
        let status = node.process.wait_exit(PATIENCE).await.unwrap();
        (status, asked.elapsed())
    };
    let (answers, (status, took)) = tokio::join!(all_answers(last_moment), exit);
    assert_eq!(status.code(), Some(0), "{status}");
    load.stop();
    let outcomes = load.finish().await.outcomes;
    let faults: Vec<_> = outcomes.iter().filter(|o| fault(o, asked)).collect();
    assert!(faults.is_empty(), "signal at {asked:?}: {faults:#?}");
    let unanswered: Vec<_> = answers
        .iter()
        .enumerate()
        .filter(|(_, answer)| !answer.as_ref().is_ok_and(|answer| answer.status == 200))
        .collect();
    assert!(
        unanswered.is_empty(),
        "written just before the signal (0..4 on rested connections, 4..8 on new ones): {unanswered:?}"
    );
    let aborted = log::books(&node.process).await["connection"].aborted;
    assert_eq!(aborted, 0, "no unit took longer than the deadline");
    sum.lock()
        .unwrap()
        .add(took, &outcomes, asked, answers.len());
}

/// Open loop, over connections that are kept.
fn steady(node: &Node) -> Load {
    let load = Load::new(node.demo)
        .duration(Duration::from_secs(30))
        .timeout(PATIENCE)
        .keep_outcomes(100_000);
    TAKES_MS.iter().fold(load, |load, ms| {
        let stream = Stream::new(&ms.to_string(), RATE_PER_S / TAKES_MS.len() as f64);
        load.stream(stream.path(&format!("/work?ms={ms}")))
    })
}

/// A connection that has carried a request and rests.
async fn rested(node: &Node) -> Connection {
    let mut connection = Connection::open(node.demo, PATIENCE).await.unwrap();
    let request = request_bytes("GET", node.demo, "/work?ms=0", &[], b"");
    let answer = connection.exchange(&request, PATIENCE).await.unwrap();
    assert!(answer.status == 200 && answer.keeps_alive);
    connection
}

async fn all_answers(connections: Vec<Connection>) -> Vec<Result<Response, Failure>> {
    let waiting: Vec<_> = connections
        .into_iter()
        .map(|mut connection| tokio::spawn(async move { connection.response(PATIENCE).await }))
        .collect();
    let mut answers = Vec::new();
    for answer in waiting {
        answers.push(answer.await.unwrap());
    }
    answers
}

/// Whether a request was handed over before the signal was sent.
fn accepted(outcome: &Outcome, asked: Instant) -> bool {
    outcome.written_at.is_some_and(|written| written <= asked)
}

/// Whether this should not have happened. A request that left after the signal may find the door closed, or a kept
/// connection being closed under it; it never gets half an answer.
fn fault(outcome: &Outcome, asked: Instant) -> bool {
    match outcome.result {
        Ok(status) if accepted(outcome, asked) => status >= 500,
        Ok(status) => status >= 500 && status != 503,
        Err(_) if accepted(outcome, asked) => true,
        Err(failure) => !matches!(
            failure,
            Failure::ConnectRefused
                | Failure::ConnectFailed
                | Failure::ClosedBeforeByte
                | Failure::ResetBeforeByte
        ),
    }
}

impl Sum {
    fn add(&mut self, took: Duration, outcomes: &[Outcome], asked: Instant, last_moment: usize) {
        self.took.push(took);
        self.last_moment += last_moment;
        self.accepted += last_moment;
        for outcome in outcomes {
            match (accepted(outcome, asked), outcome.result) {
                (true, _) => self.accepted += 1,
                (false, Ok(_)) => self.late_answered += 1,
                (false, Err(_)) => self.late_refused += 1,
            }
        }
    }
}
