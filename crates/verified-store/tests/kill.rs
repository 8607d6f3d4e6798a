//! SIGKILL at any moment of filling a store: the next start is quick and finds nothing partial.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use verified_store::{Hash, Limits, Store};

const LIMITS: Limits = Limits {
    bytes: 6 << 20,
    object_bytes: 1 << 20,
    objects: 60,
    records: 40,
    record_bytes: 4096,
};

/// Where the program under the kill fills, if this is it.
const FILL: &str = "VERIFIED_STORE_FILL";
const KEYS: u64 = 50;

fn content(key: u64, version: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(key << 32 | version);
    let mut bytes = vec![0; rng.usize(0..250_000)];
    rng.fill(&mut bytes);
    bytes
}

fn name(key: u64) -> Hash {
    Hash::of(&key.to_le_bytes())
}

/// Puts and removes until it is killed. Each line says what is about to be done (`try`) or has been (`did`): a key
/// and a version, of which 0 is none.
fn fill(dir: &Path, seed: u64) {
    let store = Store::open(dir, LIMITS).expect("a good disk");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut say = std::io::stdout();
    loop {
        let (key, version) = (rng.u64(0..KEYS), rng.u64(1..1 << 30));
        let version = if rng.u8(..4) == 0 { 0 } else { version };
        writeln!(say, "try {key} {version}").expect("a listener");
        match version {
            0 => {
                store.remove_record(&name(key)).expect("a good disk");
            }
            _ => {
                let mut writing = store.begin(None).expect("room");
                content(key, version)
                    .chunks(40_000)
                    .for_each(|part| writing.write(part).expect("room"));
                let object = writing.commit().expect("a good disk");
                let record = version.to_le_bytes();
                store
                    .put_record(&name(key), &[object], &record)
                    .expect("a good disk");
            }
        }
        writeln!(say, "did {key} {version}").expect("a listener");
    }
}

fn start(dir: &Path, seed: u64) -> Child {
    let program = std::env::current_exe().expect("a test knows its program");
    let mut command = Command::new(program);
    command
        .args(["--exact", THIS, "--nocapture"])
        .env(FILL, format!("{seed} {}", dir.display()))
        .stdout(Stdio::piped());
    command.spawn().expect("the test program starts")
}

/// What the records may be by what the killed one said; what was being done may be done or not.
type May = HashMap<u64, Vec<u64>>;

/// Listens for some lines, kills, and reads the rest of what was said.
fn kill_after(mut child: Child, lines: usize, may: &mut May) {
    let mut heard = BufReader::new(child.stdout.take().expect("piped"));
    let mut said = String::new();
    for _ in 0..lines {
        heard
            .read_line(&mut said)
            .expect("it speaks until it is killed");
    }
    child.kill().expect("its own child");
    child.wait().expect("its own child");
    heard.read_to_string(&mut said).expect("what was left");
    for line in said.lines() {
        let mut words = line.split(' ');
        let (word, key, version) = (words.next(), words.next(), words.next());
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
        let (Some(key), Some(version)) = (number(key), number(version)) else {
            continue;
        };
        match word {
            Some("try") => may.entry(key).or_insert_with(|| vec![0]).push(version),
            // It may be evicted, with its object or for another record.
            Some("did") => drop(may.insert(key, vec![0, version])),
            _ => (),
        }
    }
}

fn check(dir: &Path, may: &May) -> Duration {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long a start takes is what is asked"
    )]
    let before = Instant::now();
    let store = Store::open(dir, LIMITS).expect("opens after a kill");
    let took = before.elapsed();
    assert_eq!(
        fs::read_dir(dir.join("tmp")).expect("a directory").count(),
        0
    );
    for shard in fs::read_dir(dir.join("objects")).expect("a directory") {
        for file in fs::read_dir(shard.expect("an entry").path()).expect("a directory") {
            let file = file.expect("an entry").file_name();
            let hash: Hash = file
                .to_string_lossy()
                .parse()
                .expect("only objects are there");
            let bytes = store.get(&hash).expect("all that is visible").whole();
            assert_eq!(Hash::of(&bytes.expect("is whole")), hash);
        }
    }
    for key in 0..KEYS {
        let record = store.record(&name(key));
        let version = record.as_ref().map_or(0, |record| {
            u64::from_le_bytes(record.bytes[..].try_into().expect("as it was put"))
        });
        let may = may.get(&key).map_or(&[0][..], Vec::as_slice);
        assert!(
            may.contains(&version),
            "record {key} is {version}, not of {may:?}"
        );
        if let Some(record) = record {
            let object = store.get(&record.objects[0]).expect("a record's object");
            assert!(object.whole().expect("undamaged") == content(key, version));
        }
    }
    let stats = store.stats();
    assert_eq!((stats.quarantined, stats.reserved), (0, 0));
    assert!(stats.bytes <= LIMITS.bytes && stats.objects <= LIMITS.objects);
    took
}

const THIS: &str = "a_kill_at_any_moment_leaves_nothing_partial";

/// `VERIFIED_STORE_KILLS` asks for more than a few.
// req: ED-03
// attack: K-03, L-16, J-10
#[test]
fn a_kill_at_any_moment_leaves_nothing_partial() {
    if let Ok(fills) = std::env::var(FILL) {
        let (seed, dir) = fills.split_once(' ').expect("a seed and a directory");
        return fill(Path::new(dir), seed.parse().expect("a seed"));
    }
    let kills = std::env::var("VERIFIED_STORE_KILLS")
        .ok()
        .and_then(|text| text.parse().ok());
    let kills: u64 = kills.unwrap_or(40);
    let seed = fastrand::u64(..);
    println!("seed {seed}, {kills} kills");
    let dir: TempDir = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary directory");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut may = May::new();
    let mut slowest = Duration::ZERO;
    for kill in 0..kills {
        let child = start(dir.path(), seed.wrapping_add(kill));
        kill_after(child, rng.usize(1..60), &mut may);
        slowest = slowest.max(check(dir.path(), &may));
    }
    println!("the slowest start took {slowest:?}");
    assert!(slowest < Duration::from_secs(10));
}
