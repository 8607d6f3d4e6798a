//! Packs that come, change, go and lie: what is served is always one pack as it was, or nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use e2e::edge::{Edge, SEEN, home, picture, place};
use e2e::gateway::assert_refusal;
use e2e::packfile::{HEADER, PackFile, put};
use e2e::wait::eventually;
use serde_json::Value;
use testkit::http;

// req: ED-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packs_come_and_go_with_their_files_and_with_the_config() {
    let edge = Edge::start(&[("a.pmtiles", picture(1))], "").await;
    assert_eq!(edge.get("/tiles/a/0/0/0").await.body[0], 1);
    assert_refusal(&edge.get("/tiles/b/0/0/0").await, 404, "unknown-pack");
    place(edge.home(), "b.pmtiles", &picture(2));
    edge.pack_is("b", "ready").await;
    assert_eq!(edge.get("/tiles/b/0/0/0").await.body[0], 2);
    place(edge.home(), "b.pmtiles", &picture(3));
    eventually("the new pack is served", SEEN, async || {
        edge.get("/tiles/b/0/0/0").await.body[0] == 3
    })
    .await;
    fs::remove_file(edge.home().join("a.pmtiles")).unwrap();
    eventually("the pack is gone", SEEN, async || {
        edge.get("/tiles/a/0/0/0").await.status == 404
    })
    .await;
    let elsewhere = home();
    let path = place(elsewhere.path(), "c.bin", &picture(4));
    let named = format!(
        "[[edge.packs]]\nname = \"named\"\npath = \"{}\"\n",
        path.display()
    );
    edge.reload(&named).await;
    edge.pack_is("named", "ready").await;
    assert_eq!(edge.get("/tiles/named/0/0/0").await.body[0], 4);
    edge.reload("").await;
    eventually("the pack is gone", SEEN, async || {
        edge.get("/tiles/named/0/0/0").await.status == 404
    })
    .await;
    edge.end().await;
}

/// Whether all bytes but those that say which tile it is are of one pack.
fn is_of_one(body: &[u8]) -> bool {
    body.iter().all(|byte| *byte == body[0])
}

// req: ED-01
// attack: L-21
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pack_replaced_while_it_is_read_is_never_mixed_with_another() {
    let pack = |fill: u8| {
        let tile = vec![fill; 400_000];
        PackFile::default().tile(0, 0, 0, &tile).bytes()
    };
    let edge = Arc::new(Edge::start(&[("p.pmtiles", pack(0))], "memory_bytes = 0\n").await);
    let over = Arc::new(AtomicBool::new(false));
    let seen = Arc::new(AtomicU64::new(0));
    let reader = |path: &'static str, range: &'static str| {
        let (edge, over, seen) = (edge.clone(), over.clone(), seen.clone());
        tokio::spawn(async move {
            while !over.load(Ordering::Relaxed) {
                let answer = edge.get_with(path, &[("range", range)]).await;
                assert_eq!(answer.status, 206, "{}", answer.text());
                assert!(is_of_one(&answer.body), "two packs in one answer");
                seen.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let readers = [
        reader("/tiles/p/0/0/0", "bytes=0-"),
        reader("/tiles/p/0/0/0", "bytes=5-399990"),
        reader("/packs/p", "bytes=200-380000"),
    ];
    for round in 1..=20_u8 {
        place(edge.home(), "p.pmtiles", &pack(round));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    eventually("the last pack is served", SEEN, async || {
        edge.get("/tiles/p/0/0/0").await.body[0] == 20
    })
    .await;
    over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
    assert!(seen.load(Ordering::Relaxed) > 20);
    edge.end().await;
}

// req: ED-01, ED-02
// attack: L-21, E-17
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pack_truncated_or_written_to_in_place_is_taken_out_until_it_is_whole() {
    let good = picture(5);
    let edge = Edge::start(&[("p.pmtiles", good.clone())], "memory_bytes = 0\n").await;
    let path = edge.home().join("p.pmtiles");
    assert_eq!(edge.get("/tiles/p/1/1/1").await.status, 200);
    // In place, as nobody should.
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(3000).unwrap();
    for path in ["/tiles/p/1/1/1", "/packs/p"] {
        eventually("nothing of it is served", SEEN, async || {
            let answer = edge.get(path).await;
            let whole = answer.status == 200 && answer.body.len() > 2000;
            assert!(
                !whole || answer.body == good,
                "bytes that are not the pack's"
            );
            answer.status == 503
        })
        .await;
    }
    edge.pack_is("p", "unready").await;
    let why = edge.pack("p").await["why"].as_str().unwrap().to_owned();
    assert!(!why.is_empty());
    fs::write(&path, picture(6)).unwrap();
    edge.pack_is("p", "ready").await;
    assert_eq!(edge.get("/tiles/p/1/1/1").await.body[0], 6);
    edge.end().await;
}

/// Packs that lie, each in its own way.
fn liars() -> Vec<(&'static str, Vec<u8>)> {
    let good = picture(1);
    let patched = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let far = |number: u64| number.to_le_bytes();
    let directory = |numbers: &[u64]| {
        let mut root = Vec::new();
        for number in numbers {
            put(&mut root, *number);
        }
        PackFile::default()
            .tile(0, 0, 0, b"x")
            .with_directory(&root, b"x")
    };
    vec![
        ("short.pmtiles", good[..100].to_vec()),
        ("empty.pmtiles", Vec::new()),
        ("magic.pmtiles", patched(0, b"PMTilez")),
        ("version.pmtiles", patched(7, &[2])),
        ("root-far.pmtiles", patched(8, &far(1 << 40))),
        ("root-long.pmtiles", patched(16, &far(u64::MAX))),
        ("metadata-long.pmtiles", patched(32, &far(1 << 63))),
        ("data-far.pmtiles", patched(56, &far(u64::MAX - 5))),
        ("zoom.pmtiles", patched(100, &[9, 3])),
        ("coding.pmtiles", patched(97, &[99])),
        ("count.pmtiles", directory(&[u64::MAX, 1, 1, 1, 1])),
        ("no-offset.pmtiles", directory(&[1, 0, 1, 1, 0])),
        ("outside.pmtiles", directory(&[1, 0, 1, 1 << 30, 1])),
        (
            "overflow.pmtiles",
            directory(&[2, 0, u64::MAX, 1, 1, 1, 1, 1, 1]),
        ),
        ("cut.pmtiles", good[..HEADER + 5].to_vec()),
        (
            "text.mbtiles",
            b"SQLite format 3\0 and nothing more".to_vec(),
        ),
    ]
}

// req: ED-02
// attack: L-19, L-20
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packs_that_lie_are_listed_with_what_is_wrong_and_harm_nobody() {
    let mut packs = liars();
    packs.push(("good.pmtiles", picture(8)));
    let edge = Edge::start(&packs, "").await;
    let list: Value = serde_json::from_slice(&edge.get("/packs").await.body).unwrap();
    let listed = list["packs"].as_array().unwrap();
    for (file, _) in liars() {
        let name = file.split_once('.').unwrap().0;
        let said = edge.pack(name).await;
        assert_eq!(said["state"], "unready", "{name}: {said}");
        assert!(
            said["why"].as_str().is_some_and(|why| !why.is_empty()),
            "{said}"
        );
        let public = listed.iter().find(|pack| pack["name"] == name).unwrap();
        assert_eq!(public["state"], "unready");
        assert!(public.get("why").is_none(), "{public}");
        for path in [
            format!("/tiles/{name}/0/0/0"),
            format!("/tiles/{name}.json"),
            format!("/packs/{name}"),
        ] {
            let answer = edge.get(&path).await;
            assert_refusal(&answer, 503, "pack-unready");
            assert!(answer.header("retry-after").is_some());
        }
    }
    assert_eq!(edge.get("/tiles/good/0/0/0").await.body[0], 8);
    let ready = http::get(edge.admin, "/readyz").await.unwrap();
    assert_eq!(ready.status, 200);
    assert!(
        ready.text().contains("packs cannot be served"),
        "{}",
        ready.text()
    );
    edge.end().await;
}

// req: ED-02
// attack: E-17, L-18
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tile_that_is_not_what_it_says_is_a_bad_answer_and_not_a_dead_node() {
    let noise: Vec<u8> = (0..50_000_u32).map(|n| (n * n / 13) as u8).collect();
    let bomb = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, &vec![0; 40 << 20]).unwrap();
        encoder.finish().unwrap()
    };
    let pack = PackFile::vectors(2)
        .tile(0, 0, 0, &noise)
        .tile(1, 0, 0, &bomb);
    let edge = Edge::start(&[("p.pmtiles", pack.bytes())], "").await;
    assert_refusal(&edge.get("/tiles/p/0/0/0").await, 502, "pack-broken");
    assert_refusal(&edge.get("/tiles/p/1/0/0").await, 502, "decoded-cap");
    assert_eq!(edge.rejected("decompress_cap").await, 1);
    // As it is stored, it is the client's to undo.
    let asis = edge
        .get_with("/tiles/p/1/0/0", &[("accept-encoding", "gzip")])
        .await;
    assert!(asis.body == bomb);
    edge.end().await;
}

// req: ED-01
// attack: F-08, F-09, L-05
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lies_outside_or_is_no_file_is_no_pack() {
    let outside = home();
    let secret = place(outside.path(), "secret.pmtiles", &picture(1));
    let inside = home();
    symlink(&secret, inside.path().join("escape.pmtiles")).unwrap();
    symlink("/dev/zero", inside.path().join("device.pmtiles")).unwrap();
    fs::create_dir(inside.path().join("directory.pmtiles")).unwrap();
    let pipe = inside.path().join("pipe.pmtiles");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    place(inside.path(), "good.pmtiles", &picture(2));
    let edge = Edge::at(inside, "").await;
    for name in ["escape", "device", "directory", "pipe"] {
        assert_refusal(
            &edge.get(&format!("/tiles/{name}/0/0/0")).await,
            404,
            "unknown-pack",
        );
    }
    assert_eq!(edge.get("/tiles/good/0/0/0").await.status, 200);
    edge.end().await;
}

/// How many files the node may have open: packs take half of them at most.
fn open_files() -> u64 {
    let mut limits = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: getrlimit(2) writes one rlimit, to which the pointer is valid for the whole call.
    let read = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limits) };
    assert_eq!(read, 0);
    limits.rlim_max
}

// req: ED-01
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_packs_are_mounted_before_the_node_is_ready() {
    let directory = home();
    let pack = picture(3);
    fs::write(directory.path().join("p0.pmtiles"), &pack).unwrap();
    for number in 1..10_000 {
        let (first, path) = (
            directory.path().join("p0.pmtiles"),
            format!("p{number}.pmtiles"),
        );
        fs::hard_link(first, directory.path().join(path)).unwrap();
    }
    let began = Instant::now();
    let edge = Edge::at(directory, "").await;
    eprintln!("ten thousand packs, ready after {:?}", began.elapsed());
    for number in [0, 1, 10] {
        let tile = edge.get(&format!("/tiles/p{number}/0/0/0")).await;
        assert_eq!(tile.body[0], 3);
    }
    let metrics = edge.metrics().await;
    let served = metrics.sum("edge_packs", &[("state", "ready")]);
    assert_eq!(served, open_files().min(20_000) as f64 / 2.0);
    edge.end().await;
}
