//! SIGKILL at any moment of filling the store: the node starts again at once, and nothing partial is ever given out.

use std::time::Duration;

use e2e::edge::{Edge, home};
use futures_util::future::join_all;
use testkit::http::Response;
use testkit::sim::Rng;
use testkit::upstream::{Reply, Upstream};

/// Addresses; together they are longer than the store is large.
const ADDRESSES: u64 = 40;
/// Requests at once, and in a row until the node is killed or they end.
const CLIENTS: u64 = 8;
const EACH: u64 = 12;

/// The only true content of an address.
fn content(address: u64) -> Vec<u8> {
    let mut rng = Rng::with_seed(address);
    let length = rng.usize(..200_000);
    (0..length)
        .map(|at| (address as usize + at / 7) as u8)
        .collect()
}

fn section(origin: &Upstream, dir: &std::path::Path) -> String {
    format!(
        "memory_bytes = 0\nlimits.inflight = 4000\nstore.dir = \"{}\"\nstore.bytes = 3000000\n\
         store.object_bytes = 1000000\n[[edge.origins]]\nname = \"o\"\nmount = \"/o\"\nto = \"http://{}\"\n\
         private_networks = [\"127.0.0.0/8\"]\n",
        dir.display(),
        origin.addr()
    )
}

/// Whether it is the whole truth about an address.
fn check(address: u64, answer: &Response) {
    let case = answer.header("cache-status").unwrap_or_default();
    assert_eq!(answer.status, 200, "{address}: {case}");
    assert!(
        answer.body == content(address),
        "{address} is not what it was: {case}"
    );
}

/// A few in the suite; `MACRONODE_KILLS` asks for more.
fn kills() -> u64 {
    let asked = std::env::var("MACRONODE_KILLS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(6)
}

// req: ED-03
// attack: K-03, L-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_kill_interrupts_the_next_start_is_quick_and_gives_out_nothing_partial() {
    let (origin, disk) = (Upstream::start().await.unwrap(), home());
    for address in 0..ADDRESSES {
        let reply = Reply::status(200).header("cache-control", "max-age=600");
        origin.set(&format!("/{address}"), reply.body(content(address)));
    }
    let (section, mut slowest) = (section(&origin, &disk.path().join("s")), Duration::ZERO);
    let (mut rng, mut hits) = (Rng::with_seed(0x6b11), 0);
    for _ in 0..kills() {
        let edge = Edge::start(&[], &section).await;
        slowest = slowest.max(edge.process.started().elapsed());
        // What the last life left behind.
        for address in 0..ADDRESSES / 4 {
            let answer = edge.get(&format!("/o/{address}")).await;
            check(address, &answer);
            hits += u64::from(
                answer
                    .header("cache-status")
                    .unwrap_or_default()
                    .contains("; hit"),
            );
        }
        let client = |mut rng: Rng| {
            let edge = &edge;
            async move {
                for _ in 0..EACH {
                    let address = rng.u64(..ADDRESSES);
                    // A connection that breaks off is what a kill looks like; an answer that is whole is right.
                    match edge.ask("GET", &format!("/o/{address}"), &[]).await {
                        Ok(answer) => check(address, &answer),
                        Err(_) => return,
                    }
                }
            }
        };
        let clients = join_all((0..CLIENTS).map(|_| client(rng.fork())));
        let life = Duration::from_millis(rng.u64(..250));
        let kill = async {
            tokio::time::sleep(life).await;
            edge.process.signal(libc::SIGKILL).unwrap();
        };
        tokio::join!(clients, kill);
        edge.process
            .wait_exit(e2e::gateway::PATIENCE)
            .await
            .unwrap();
    }
    println!(
        "{} kills, {hits} answers out of the store, the slowest start took {slowest:?}",
        kills()
    );
    assert!(hits > 0, "nothing survived, so nothing was proved");
}
