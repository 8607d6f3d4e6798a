//! The same load in frames: requests over the bridge, by the clock, on a few connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use oap::Hello;
use oap::app_proto;
use oap::bridge::{REQUEST, RequestHead};
use oap::client::{Ask, Client, Settings, Tcp};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::{Fate, ONCE_PER_S, PATH, PATIENCE, REPEATABLE_PER_S, Toll};

const CONNECTIONS: usize = 4;
/// Requests leave in beats of this.
const BEAT: Duration = Duration::from_millis(1);

/// Counts while requests are under way.
#[derive(Default)]
struct Count {
    asked: AtomicU64,
    answered: AtomicU64,
}

impl Count {
    fn fate(&self) -> Fate {
        let asked = self.asked.load(Ordering::Relaxed);
        Fate {
            asked,
            failed: asked - self.answered.load(Ordering::Relaxed),
        }
    }
}

/// One kind of request.
struct Kind {
    payload: Bytes,
    per_s: u64,
    count: Arc<Count>,
}

pub(super) fn load(target: SocketAddr, length: Duration) -> Result<Toll, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(run(target, length))
}

async fn run(target: SocketAddr, length: Duration) -> Result<Toll, String> {
    let kinds = [
        kind(target, "GET", REPEATABLE_PER_S)?,
        kind(target, "POST", ONCE_PER_S)?,
    ];
    let clients: Vec<Client> = (0..CONNECTIONS).map(|_| client(target)).collect();
    let mut under_way = JoinSet::new();
    let (began, mut beat) = (Instant::now(), interval(BEAT));
    beat.set_missed_tick_behavior(MissedTickBehavior::Burst);
    while began.elapsed() < length {
        let due = beat.tick().await - began;
        for kind in &kinds {
            let due = (due.as_secs_f64() * kind.per_s as f64) as u64;
            for number in kind.count.asked.load(Ordering::Relaxed)..due {
                kind.count.asked.fetch_add(1, Ordering::Relaxed);
                let client = clients[number as usize % CONNECTIONS].clone();
                under_way.spawn(ask(client, kind.payload.clone(), kind.count.clone()));
            }
        }
        while under_way.try_join_next().is_some() {}
    }
    while under_way.join_next().await.is_some() {}
    for client in clients {
        client.shutdown().await;
    }
    Ok(Toll {
        repeatable: kinds[0].count.fate(),
        once: kinds[1].count.fate(),
    })
}

fn kind(target: SocketAddr, method: &str, per_s: u64) -> Result<Kind, String> {
    let head = RequestHead {
        method: method.parse().expect("a constant"),
        target: PATH.parse().expect("a constant"),
        authority: target.to_string().parse().expect("an address is one"),
        headers: Default::default(),
    };
    let mut payload = BytesMut::new();
    head.put(&mut payload)
        .map_err(|refusal| format!("the head was refused: {refusal:?}"))?;
    Ok(Kind {
        payload: payload.freeze(),
        per_s,
        count: Arc::default(),
    })
}

fn client(target: SocketAddr) -> Client {
    let settings = Settings {
        hello: Hello {
            max_inflight: 1_000,
            ..Hello::full("macronode-bench")
        },
        timeout: PATIENCE,
        ..Settings::default()
    };
    Client::new(Tcp(target.to_string()), settings)
}

async fn ask(client: Client, payload: Bytes, count: Arc<Count>) {
    let ask = Ask {
        app_proto: app_proto::HTTP,
        opcode: REQUEST,
        ..Ask::default()
    };
    if let Ok(answer) = client.call(&ask, payload).await
        && answer.status() == 200
    {
        count.answered.fetch_add(1, Ordering::Relaxed);
    }
}
