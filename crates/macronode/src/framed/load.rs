//! Many requests, and what came of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use kernel::clock;
use oap::client::Client;
use serde::Serialize;

use super::Trouble;
use super::peer::{Question, dial};
use crate::cli::BenchArgs;
use crate::exit::Exit;

/// What came of it, as it is shown.
#[derive(Debug, Serialize)]
struct Outcome {
    requests: u64,
    seconds: f64,
    requests_per_second: f64,
    /// Answers by status.
    statuses: BTreeMap<u16, u64>,
    /// Requests that were never answered.
    lost: u64,
    p50_us: u64,
    p99_us: u64,
    most_us: u64,
}

/// One connection's share.
#[derive(Default)]
struct Tally {
    statuses: BTreeMap<u16, u64>,
    lost: u64,
    took_us: Vec<u64>,
}

pub(super) async fn bench(args: &BenchArgs) -> Result<Exit, Trouble> {
    let question = Arc::new(Question::of(&args.ask)?);
    let left = Arc::new(AtomicU64::new(args.requests));
    let began = clock::now();
    let clients: Result<Vec<_>, _> = (0..args.connections).map(|_| dial(&args.peer)).collect();
    let clients = clients?;
    let shares: FuturesUnordered<_> = clients
        .iter()
        .flat_map(|client| (0..args.inflight).map(move |_| client))
        .map(|client| ask(client, &question, args.bytes, &left))
        .collect();
    let tallies: Vec<Tally> = shares.collect().await;
    let took = clock::now() - began;
    for client in clients {
        client.shutdown().await;
    }
    let result = sum(tallies, args.requests, took);
    match args.json {
        true => println!("{}", serde_json::json!(result)),
        false => tell(&result),
    }
    Ok(match result.lost {
        0 => Exit::Ok,
        _ => Exit::Refused,
    })
}

/// Asks, one after another, until all are asked.
async fn ask(client: &Client, question: &Question, bytes: u64, left: &AtomicU64) -> Tally {
    let mut tally = Tally::default();
    let payload = question.with(&vec![b'x'; bytes as usize]);
    let take = |left: u64| left.checked_sub(1);
    while left
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
        .is_ok()
    {
        let began = clock::now();
        let answered = async {
            let mut response = client.call(&question.ask, payload.clone()).await?;
            while response.next().await?.is_some() {}
            Ok::<_, oap::client::Failure>(response.status())
        };
        match answered.await {
            Ok(status) => *tally.statuses.entry(status).or_default() += 1,
            Err(_) => tally.lost += 1,
        }
        let took = (clock::now() - began).as_micros();
        tally.took_us.push(u64::try_from(took).unwrap_or(u64::MAX));
    }
    tally
}

fn sum(tallies: Vec<Tally>, requests: u64, took: Duration) -> Outcome {
    let mut statuses = BTreeMap::new();
    let mut took_us = Vec::new();
    let mut lost = 0;
    for tally in tallies {
        lost += tally.lost;
        took_us.extend(tally.took_us);
        for (status, count) in tally.statuses {
            *statuses.entry(status).or_default() += count;
        }
    }
    took_us.sort_unstable();
    let at = |share: f64| {
        let index = (took_us.len() as f64 * share) as usize;
        took_us
            .get(index.min(took_us.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0)
    };
    Outcome {
        requests,
        seconds: took.as_secs_f64(),
        requests_per_second: requests as f64 / took.as_secs_f64().max(f64::EPSILON),
        statuses,
        lost,
        p50_us: at(0.5),
        p99_us: at(0.99),
        most_us: at(1.0),
    }
}

fn tell(result: &Outcome) {
    let Outcome {
        requests,
        seconds,
        requests_per_second,
        ..
    } = result;
    println!("{requests} requests in {seconds:.2} s, {requests_per_second:.0} a second");
    for (status, count) in &result.statuses {
        println!("  {status}  {count}");
    }
    if result.lost > 0 {
        println!("  lost {}", result.lost);
    }
    let ms = |us: u64| us as f64 / 1000.0;
    let times = [result.p50_us, result.p99_us, result.most_us].map(ms);
    println!(
        "  half took {:.2} ms, 99 of 100 {:.2} ms, all {:.2} ms",
        times[0], times[1], times[2]
    );
}
