//! Large answers that the system sends by itself: the same bytes as ever, whatever becomes of what they came from.

use e2e::edge::{Edge, SEEN, config, home, place};
use e2e::packfile::PackFile;
use e2e::wait::eventually;
use e2e::{binary, runtime};
use testkit::process::Program;

const TILE: &str = "/tiles/p/0/0/0.png";

/// No two parts of it are the same.
fn picture(first: u32) -> Vec<u8> {
    let numbers = first..first + 50_000;
    numbers.flat_map(u32::to_be_bytes).collect()
}

fn pack(first: u32) -> Vec<u8> {
    PackFile::default().tile(0, 0, 0, &picture(first)).bytes()
}

/// How many answers the node has sealed.
fn sealed(edge: &Edge) -> usize {
    files(edge, "/memfd:sealed")
}

/// How many files of this name the node has open.
fn files(edge: &Edge, name: &str) -> usize {
    let files = std::fs::read_dir(format!("/proc/{}/fd", edge.process.pid())).expect("a process");
    let names = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let ours = names.filter(|found| found.to_string_lossy().starts_with(name));
    ours.count()
}

/// Asks for the tile until it is sealed, and each time gets all of it.
async fn sealed_tile(edge: &Edge, first: u32) {
    let expected = picture(first);
    eventually("a sealed tile", SEEN, async || {
        let answer = edge.get(TILE).await;
        assert_eq!(answer.status, 200);
        assert!(answer.body == expected, "the tile as it is in the pack");
        sealed(edge) > 0
    })
    .await;
    assert!(edge.get(TILE).await.body == expected, "sealed");
}

// req: ED-01, ED-06, ED-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tile_that_fits_into_a_pipe_is_what_it_was_whole_and_in_parts() {
    let whole = picture(1)[..40_000].to_vec();
    let pack = PackFile::default().tile(0, 0, 0, &whole).bytes();
    let edge = Edge::start(&[("p.pmtiles", pack)], "").await;
    let before = files(&edge, "pipe:");
    eventually("a tile in a pipe", SEEN, async || {
        assert!(
            edge.get(TILE).await.body == whole,
            "the tile as it is in the pack"
        );
        files(&edge, "pipe:") > before
    })
    .await;
    for _ in 0..20 {
        assert!(edge.get(TILE).await.body == whole, "drawn once more");
        let part = edge.get_with(TILE, &[("range", "bytes=5-30000")]).await;
        assert_eq!(part.status, 206);
        assert!(part.body == whole[5..=30_000], "a part of it");
    }
    edge.end().await;
}

// req: ED-01, ED-06, ED-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sealed_tile_is_what_it_was_whole_and_in_parts() {
    let edge = Edge::start(&[("p.pmtiles", pack(1))], "").await;
    sealed_tile(&edge, 1).await;
    let (whole, answer) = (picture(1), edge.get(TILE).await);
    let tag = answer.header("etag").expect("a tag").to_owned();
    for (range, part) in [
        ("bytes=5-150000", &whole[5..=150_000]),
        ("bytes=-70001", &whole[whole.len() - 70_001..]),
        ("bytes=9-12", &whole[9..=12]),
    ] {
        let answer = edge
            .get_with(TILE, &[("range", range), ("if-range", &tag)])
            .await;
        assert_eq!(answer.status, 206, "{range}");
        assert!(answer.body == part, "{range}");
    }
    let both = edge
        .get_with(TILE, &[("range", "bytes=1-40000,90000-160000")])
        .await;
    assert_eq!(both.status, 206);
    for part in [&whole[1..=40_000], &whole[90_000..=160_000]] {
        let found = both.body.windows(part.len()).any(|window| window == part);
        assert!(found, "a part of {} bytes", part.len());
    }
    let known = edge.get_with(TILE, &[("if-none-match", &tag)]).await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    let head = edge.ask("HEAD", TILE, &[]).await.expect("an answer");
    assert_eq!(head.header("content-length"), Some("200000"));
    edge.end().await;
}

// req: ED-01, ED-10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pack_that_is_replaced_sends_nothing_of_what_was_sealed() {
    let edge = Edge::start(&[("p.pmtiles", pack(1))], "").await;
    sealed_tile(&edge, 1).await;
    place(edge.home(), "p.pmtiles", &pack(900_000));
    let (old, new) = (picture(1), picture(900_000));
    eventually("the new tile", SEEN, async || {
        let body = edge.get(TILE).await.body;
        assert!(body == old || body == new, "one or the other, never both");
        body == new
    })
    .await;
    sealed_tile(&edge, 900_000).await;
    edge.end().await;
}

// req: ED-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_amnesia_nothing_is_sealed_and_the_tile_is_the_same() {
    let packs = home();
    place(packs.path(), "p.pmtiles", &pack(1));
    // Where the kernel cannot forbid everything, what it can is enough for this.
    let amnesia = "amnesia = true\namnesia_enforcement = \"best-effort\"\n";
    let text = format!("{amnesia}{}", config(packs.path(), ""));
    let program = Program::new(binary()).expect("a temporary directory");
    let program = program.args(["run", "--runtime", &runtime()]);
    let program = program.args(["--set", "admin.listen=127.0.0.1:0"]);
    let program = program.config(&text).expect("a writable file");
    let edge = Edge::of(program, packs).await;
    for _ in 0..20 {
        assert!(edge.get(TILE).await.body == picture(1));
    }
    assert_eq!(sealed(&edge), 0);
}
