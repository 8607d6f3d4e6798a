//! A hundred changes of the config a second, half of them torn or invalid, while requests are served.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use e2e::Node;
use e2e::wait::eventually;
use testkit::http;
use testkit::load::{Load, Stream};
use testkit::sim::Rng;

const STORM: Duration = Duration::from_secs(4);
const CHANGES_PER_S: u64 = 100;
const REQUESTS_PER_S: f64 = 300.0;

/// What every valid config of the storm has in common: no request of the load fails under it.
fn valid(rng: &mut Rng) -> String {
    let (deadline, drain) = (rng.u64(5_000..6_000), rng.u64(1_000..2_000));
    format!(
        "[demo]\ndeadline_ms = {deadline}\n[drain]\ndeadline_ms = {drain}\n[log]\nlevel = \"info,kernel=info\"\n"
    )
}

/// A beginning of a valid config. Never cut inside a number, whose beginning is a number too: no node can tell.
fn torn(rng: &mut Rng) -> String {
    let whole = valid(rng);
    loop {
        let (beginning, rest) = whole.split_at(rng.usize(..whole.len()));
        let inside_number = rest.starts_with(|next: char| next.is_ascii_digit())
            && beginning.ends_with(|last: char| last.is_ascii_digit());
        if !inside_number {
            return beginning.to_owned();
        }
    }
}

fn replace(path: &Path, text: &str) {
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, text).expect("a writable directory");
    std::fs::rename(fresh, path).expect("a writable directory");
}

/// One change, by a good tool as often as by a bad one.
fn change(path: &Path, rng: &mut Rng) {
    match rng.u8(..12) {
        0..4 => replace(path, &valid(rng)),
        4 | 5 => std::fs::write(path, valid(rng)).expect("a writable file"),
        6 | 7 => std::fs::write(path, torn(rng)).expect("a writable file"),
        8 => replace(path, "= no config = {{{"),
        9 => replace(path, "[demo]\ndeadline_ms = 0\nunknown = true\n"),
        10 => replace(path, "[demo]\nworkers = 9\ndeadline_ms = 1\n"),
        _ => {
            // May be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn storm(path: PathBuf, over: Arc<AtomicBool>) -> std::thread::JoinHandle<u64> {
    std::thread::spawn(move || {
        let seed = 0x0005_7042;
        let mut rng = Rng::with_seed(seed);
        let began = Instant::now();
        let mut changes = 0;
        while !over.load(Ordering::Relaxed) {
            let due = began + Duration::from_millis(changes * 1000 / CHANGES_PER_S);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            change(&path, &mut rng);
            changes += 1;
        }
        changes
    })
}

// req: KN-14
// attack: I-01, I-04, I-05, I-06, I-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_changes_fails_no_request_and_the_last_valid_config_wins() {
    let start = valid(&mut Rng::with_seed(1));
    let node = Node::of(e2e::run(&[]).config(&start).unwrap()).await;
    let path = node.process.dir().join("macronode.toml");
    let over = Arc::new(AtomicBool::new(false));
    let writer = storm(path.clone(), over.clone());
    let report = Load::new(node.demo)
        .stream(Stream::new("work", REQUESTS_PER_S).path("/work?ms=5"))
        .duration(STORM)
        .timeout(Duration::from_secs(10))
        .run()
        .await;
    over.store(true, Ordering::Relaxed);
    let changes = tokio::task::spawn_blocking(|| writer.join().unwrap())
        .await
        .unwrap();

    replace(
        &path,
        "[demo]\ndeadline_ms = 200\n[drain]\ndeadline_ms = 4242\n",
    );
    eventually(
        "the last valid config wins",
        Duration::from_secs(2),
        async || http::get(node.demo, "/work?ms=600").await.unwrap().status == 504,
    )
    .await;

    let work = report.stream("work");
    println!("{changes} changes\n{report}");
    assert_eq!(work.ok, work.intended, "{report}");
    assert!(
        changes >= CHANGES_PER_S * STORM.as_secs() / 2,
        "only {changes} changes"
    );
    let metrics = node.process.metrics().await.unwrap();
    let results = |result| metrics.sum("config_reloads_total", &[("result", result)]);
    let (applied, invalid, refused) = (results("applied"), results("invalid"), results("refused"));
    let unchanged = results("unchanged");
    let coalesced = metrics.sum("config_coalesced_total", &[])
        + metrics.sum("queue_coalesced_total", &[("queue", "cfg_updates")]);
    println!(
        "applied {applied}, unchanged {unchanged}, invalid {invalid}, refused {refused}, coalesced {coalesced}"
    );
    let reloads = applied + unchanged + invalid + refused;
    assert!(
        applied >= 1.0 && reloads < changes as f64 / 2.0,
        "{reloads} reloads of {changes} changes"
    );
    assert!(
        reloads + coalesced >= changes as f64,
        "each change asked for a reload"
    );
    assert_eq!(metrics.sum("config_generation", &[]), 1.0 + applied);
    assert_eq!(metrics.sum("service_restarts_total", &[]), 0.0);
}
