//! Measures a store against plain files: what a checked read costs, and how long a start takes.
//!
//! `cargo run --release -p verified-store --example measure [DIRECTORY]`

#![expect(
    clippy::disallowed_methods,
    reason = "a measurement reads the clock, and nothing else here does"
)]

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use verified_store::{Hash, Limits, Store};

const ROUNDS: usize = 15;
const MANY: u64 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let root = match std::env::args_os().nth(1) {
        Some(root) => tempfile::tempdir_in(root)?,
        None => tempfile::tempdir()?,
    };
    reads(&root.path().join("reads"))?;
    starts(&root.path().join("starts"))
}

/// Rounds of one and of the other in turn, so that what disturbs one disturbs both.
fn reads(dir: &Path) -> Result<(), Box<dyn Error>> {
    let store = Store::open(dir, Limits::of_bytes(4 << 30))?;
    println!(
        "{:>9}  {:>10}  {:>10}  {:>5}",
        "bytes", "fs::read", "checked", "ratio"
    );
    for (len, count) in [
        (1 << 10, 500),
        (16 << 10, 500),
        (64 << 10, 300),
        (1 << 20, 60),
    ] {
        let hashes: Vec<Hash> = (0..count)
            .map(|seed| put(&store, len, seed))
            .collect::<Result<_, _>>()?;
        let paths: Vec<PathBuf> = hashes.iter().map(|hash| path(dir, hash)).collect();
        let mut ratios = Vec::new();
        let (mut plain_best, mut checked_best) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            let plain = timed(|| {
                paths
                    .iter()
                    .try_for_each(|path| fs::read(path).map(|bytes| drop(black_box(bytes))))
            })?;
            let checked = timed(|| {
                hashes.iter().try_for_each(|hash| {
                    let object = store.get(hash).ok_or("it was just put")?;
                    black_box(object.whole()?);
                    Ok::<(), Box<dyn Error>>(())
                })
            })?;
            ratios.push(checked.as_secs_f64() / plain.as_secs_f64());
            plain_best = plain_best.min(plain);
            checked_best = checked_best.min(checked);
        }
        ratios.sort_by(f64::total_cmp);
        let each = |all: Duration| format!("{:.1} us", all.as_secs_f64() * 1e6 / count as f64);
        println!(
            "{len:>9}  {:>10}  {:>10}  {:>5.2}",
            each(plain_best),
            each(checked_best),
            ratios[ROUNDS / 2]
        );
    }
    Ok(())
}

fn starts(dir: &Path) -> Result<(), Box<dyn Error>> {
    let limits = Limits::of_bytes(16 << 30);
    drop(Store::open(dir, limits)?);
    for number in 0..MANY {
        let bytes = number.to_le_bytes();
        // Past the store: it would wait for two hundred thousand syncs.
        fs::write(path(dir, &Hash::of(&bytes)), bytes)?;
    }
    let before = resident();
    let mut opened = None;
    let worked = processor_time();
    let took = timed(|| Store::open(dir, limits).map(|store| opened = Some(store)))?;
    let worked = processor_time() - worked;
    let store = opened.ok_or("it was just opened")?;
    let grown = resident().saturating_sub(before);
    println!(
        "{} objects found in {took:.0?}, {worked:.0?} of them work, {} bytes of memory each",
        store.stats().objects,
        grown / MANY
    );
    for number in 0..MANY {
        let key = Hash::of(&number.to_le_bytes());
        if number % 100 == 0 {
            store.put_record(&key, &[key], &[7; 400])?;
        }
    }
    drop(store);
    let took = timed(|| Store::open(dir, limits).map(drop))?;
    println!("again, with {} records: {took:.0?}", MANY / 100);
    Ok(())
}

fn put(store: &Store, len: usize, seed: u64) -> Result<Hash, Box<dyn Error>> {
    let mut bytes = vec![0; len];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    let mut writing = store.begin(Some(len as u64))?;
    writing.write(&bytes)?;
    Ok(writing.commit()?)
}

fn path(dir: &Path, hash: &Hash) -> PathBuf {
    let name = hash.to_string();
    dir.join("objects").join(&name[..2]).join(&name)
}

fn timed<E>(work: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
    let before = Instant::now();
    work()?;
    Ok(before.elapsed())
}

/// What all threads of this process have worked so far, on a machine that may have other things to do.
fn processor_time() -> Duration {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call writes one `rusage`, for which there is room; all zeros are one too.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |at: libc::timeval| {
        Duration::from_secs(at.tv_sec as u64) + Duration::from_micros(at.tv_usec as u64)
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Memory of this process in bytes; 0 where `/proc` does not say.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4096
}
