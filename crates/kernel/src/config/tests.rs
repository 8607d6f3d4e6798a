use std::fs;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use strict_config::{load, read_file};

use super::*;
use crate::drain::{Outcome, Phase};
use crate::readiness::State;
use crate::testing::{supervise, until_ready};
use crate::tree::{Child, ChildSpec, Restart};

static SPEC: ChildSpec = ChildSpec {
    name: "config",
    doc: "test",
    depends_on: &[],
    phase: Phase::Support,
    restart: Restart::Always,
    essential: false,
};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
struct Text {
    /// How many.
    #[schemars(range(min = 1, max = 100))]
    size: u64,
    /// Where.
    #[schemars(extend("x-reload" = "restart"))]
    place: String,
    /// A file that holds more.
    more: Option<PathBuf>,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            size: 1,
            place: "here".to_owned(),
            more: None,
        }
    }
}

impl ConfigText for Text {
    const ENV_PREFIX: &'static str = "KERNEL_TEST__";

    fn files(&self) -> Vec<(String, PathBuf)> {
        let more = self.more.clone().into_iter();
        more.map(|more| ("more".to_owned(), more)).collect()
    }
}

struct Bench {
    kernel: Kernel,
    reloader: Arc<Reloader<Text, u64>>,
    live: Live<u64>,
    file: PathBuf,
    requests: ReloadRequests,
    running: tokio::task::JoinHandle<Outcome>,
    _directory: tempfile::TempDir,
}

async fn bench(text: &str) -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("node.toml");
    fs::write(&file, text).unwrap();
    let (kernel, publisher) = Kernel::new();
    let sources = Sources {
        file: Some(read_file(&file).unwrap()),
        ..Sources::default()
    };
    let loaded = load::<Text>(&sources).unwrap();
    let (reloader, live) = Reloader::new(
        &kernel,
        (Source::File(file.clone()), Vec::new()),
        loaded,
        |text| text.size,
        Arc::new(|size| match size {
            99 => Err("the files of 99 are not there".to_owned()),
            _ => Ok(Box::new(|| {})),
        }),
    );
    let (requests, updates) = reload_requests(&kernel);
    let blocking = Blocking::new(&kernel.registry);
    let (child_reloader, child_requests) = (reloader.clone(), requests.clone());
    let child = Child::new(&SPEC, move |context| {
        child_reloader.clone().run(
            context,
            child_requests.clone(),
            updates.clone(),
            blocking.clone(),
        )
    });
    let running = supervise(&kernel, publisher, vec![child]);
    until_ready(&kernel).await;
    Bench {
        kernel,
        reloader,
        live,
        file,
        requests,
        running,
        _directory: directory,
    }
}

impl Bench {
    /// Replaces the file as a whole, the way editors and orchestrators do.
    fn replace(&self, text: &str) {
        let fresh = self.file.with_extension("new");
        fs::write(&fresh, text).unwrap();
        fs::rename(&fresh, &self.file).unwrap();
    }

    async fn until(&self, what: &str, met: impl Fn(&ReloadStatus) -> bool) -> ReloadStatus {
        for _ in 0..500 {
            let status = self.reloader.status();
            if met(&status) {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("never happened: {what}: {:?}", self.reloader.status());
    }

    fn count(&self, result: &'static str) -> u64 {
        self.kernel.registry.counter(&RELOADS, &[result]).get()
    }
}

// req: KN-14
#[tokio::test]
async fn a_config_that_cannot_be_followed_changes_nothing_and_is_told_of() {
    let bench = bench("size = 5").await;
    bench.replace("size = 99");
    let status = bench.until("refused", |status| status.reloads == 1).await;
    assert_eq!((status.last_result, status.generation), ("invalid", 1));
    assert_eq!(status.last_error, "the files of 99 are not there");
    assert_eq!(**bench.live.load().clone(), 5);
    assert_eq!(bench.reloader.document()["size"], 5);
    bench.replace("size = 6");
    let status = bench
        .until("applied", |status| status.generation == 2)
        .await;
    assert_eq!((status.last_result, &*status.last_error), ("applied", ""));
    assert_eq!((bench.count("invalid"), bench.count("applied")), (1, 1));
    bench.kernel.requests.request();
    bench.running.await.unwrap();
}

#[test]
fn parts_are_put_in_force_together_or_not_at_all() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let done = Arc::new(AtomicU32::new(0));
    let part = |worst: u64| -> Prepare<u64> {
        let done = done.clone();
        Arc::new(move |size| {
            let done = done.clone();
            match *size < worst {
                true => Ok(Box::new(move || {
                    done.fetch_add(1, Ordering::Relaxed);
                })),
                false => Err(format!("not {size}")),
            }
        })
    };
    let all = together(vec![part(10), part(5), part(20)]);
    let refused = all(&7).map(|_| ());
    assert_eq!(
        (refused, done.load(Ordering::Relaxed)),
        (Err("not 7".to_owned()), 0)
    );
    let ready = all(&3).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(done.load(Ordering::Relaxed), 0);
    ready();
    assert_eq!(done.load(Ordering::Relaxed), 3);
}

// req: KN-14
#[tokio::test]
async fn a_changed_file_takes_effect_by_itself_and_is_told_on_the_bus() {
    let bench = bench("size = 5").await;
    assert_eq!(**bench.live.load().clone(), 5);
    bench.replace("size = 6");
    bench
        .until("applied", |status| status.generation == 2)
        .await;
    assert_eq!(
        (**bench.live.load().clone(), bench.live.load().generation),
        (6, 2)
    );
    for _ in 0..100 {
        if bench.kernel.bus.snapshot().config_generation == 2 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not told");
}

// req: KN-14
// attack: I-01, I-02, I-03, I-04, I-05
#[tokio::test]
async fn a_bad_file_keeps_the_old_config_and_says_what_is_wrong() {
    let bench = bench("size = 5").await;
    let bad = [
        ("size = ", "node.toml:1"),
        ("sise = 6", "sise"),
        ("size = 101", "101"),
        ("size = 7\npl", "node.toml:2"),
    ];
    for (index, (text, said)) in bad.into_iter().enumerate() {
        bench.replace(text);
        let status = bench
            .until(text, |status| status.last_error.contains(said))
            .await;
        assert_eq!(status.last_result, "invalid");
        assert!(bench.count("invalid") > index as u64);
    }
    fs::remove_file(&bench.file).unwrap();
    bench
        .until("file gone", |status| {
            !status.last_error.is_empty() && !status.last_error.contains(":2")
        })
        .await;
    assert_eq!(
        (**bench.live.load().clone(), bench.live.load().generation),
        (5, 1)
    );
    bench.replace("size = 8");
    bench
        .until("mended", |status| status.last_result == "applied")
        .await;
    assert_eq!(**bench.live.load().clone(), 8);
}

// req: KN-14
// attack: I-07
#[tokio::test]
async fn a_change_that_needs_a_restart_is_refused_by_name_as_a_whole() {
    let bench = bench("size = 5").await;
    bench.replace("size = 6\nplace = 'there'");
    let status = bench
        .until("refused", |status| status.last_result == "refused")
        .await;
    assert!(
        status.last_error.contains("place") && !status.last_error.contains("size"),
        "{}",
        status.last_error
    );
    assert_eq!(
        **bench.live.load().clone(),
        5,
        "the other change does not slip in"
    );
}

// req: KN-14
// attack: I-06
#[tokio::test]
async fn a_storm_of_requests_is_a_few_reloads() {
    let bench = bench("size = 5").await;
    let began = crate::clock::now();
    while crate::clock::now() - began < Duration::from_millis(500) {
        bench.requests.request();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    bench.until("one reload", |status| status.reloads > 0).await;
    tokio::time::sleep(limits::CONFIG_SETTLE * 4).await;
    let reloads = bench.reloader.status().reloads;
    assert!(reloads <= 3, "{reloads} reloads for about 250 requests");
    let queued = bench
        .kernel
        .registry
        .counter(&crate::queue::COALESCED, &["cfg_updates"])
        .get();
    assert!(bench.kernel.registry.counter(&COALESCED, &[]).get() + queued > 50);
}

// req: KN-02, KN-14
#[tokio::test]
async fn readers_keep_the_snapshot_they_took() {
    let bench = bench("size = 5").await;
    let taken = bench.live.load().clone();
    bench.replace("size = 6");
    bench
        .until("applied", |status| status.generation == 2)
        .await;
    assert_eq!((**taken, taken.generation), (5, 1));
    bench.kernel.requests.request();
    assert_eq!(bench.running.await.unwrap(), Outcome::Drained);
}

// req: KN-14
#[tokio::test]
async fn a_directory_that_is_replaced_is_watched_again_and_one_that_is_missing_is_told() {
    let bench = bench("size = 1\n").await;
    let directory = bench.file.parent().unwrap();
    fs::remove_dir_all(directory).unwrap();
    let blind = |_: &ReloadStatus| bench.kernel.readiness.of("config") == State::Degraded;
    bench.until("told", blind).await;
    fs::create_dir(directory).unwrap();
    fs::write(&bench.file, "size = 2\n").unwrap();
    let applied = |generation| move |status: &ReloadStatus| status.generation == generation;
    bench.until("found again", applied(2)).await;
    assert_eq!(bench.kernel.readiness.of("config"), State::Ready);

    let away = directory.with_extension("away");
    fs::rename(directory, &away).unwrap();
    fs::create_dir(directory).unwrap();
    fs::write(&bench.file, "size = 3\n").unwrap();
    bench.until("seen beside the old one", applied(3)).await;
    bench.replace("size = 4\n");
    bench.until("watched as before", applied(4)).await;
    fs::remove_dir_all(away).unwrap();
}

/// A config that names a file, and the file.
async fn naming() -> (Bench, PathBuf, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let more = directory.path().join("more.txt");
    fs::write(&more, "first").unwrap();
    let bench = bench(&format!("more = '{}'", more.display())).await;
    (bench, more, directory)
}

// req: KN-14
#[tokio::test]
async fn what_a_named_file_holds_is_part_of_the_config() {
    let (bench, more, _directory) = naming().await;
    bench.requests.request();
    let status = bench.until("asked", |status| status.reloads == 1).await;
    assert_eq!(status.last_result, "unchanged");
    fs::write(&more, "other").unwrap();
    bench.requests.request();
    let status = bench
        .until("applied", |status| status.generation == 2)
        .await;
    assert_eq!(status.last_result, "applied");
}

// req: KN-14
#[tokio::test]
async fn a_named_file_that_is_written_takes_effect_by_itself_and_one_that_is_only_touched_once_asks()
 {
    let (bench, more, _directory) = naming().await;
    fs::write(&more, "other").unwrap();
    bench
        .until("written", |status| status.generation == 2)
        .await;
    let fresh = more.with_extension("new");
    fs::write(&fresh, "third").unwrap();
    fs::rename(&fresh, &more).unwrap();
    bench
        .until("replaced", |status| status.generation == 3)
        .await;
    fs::write(&more, "third").unwrap();
    let before = bench.count("unchanged");
    bench
        .until("touched", |status| status.last_result == "unchanged")
        .await;
    tokio::time::sleep(limits::WATCH_LOOK * 2).await;
    assert_eq!(bench.count("unchanged"), before + 1);
}

#[test]
fn of_very_many_keys_the_first_are_named_and_the_others_counted() {
    let keys: Vec<_> = (0..=MOST_NAMED).map(|key| key.to_string()).collect();
    assert_eq!(listed(&keys[..2]), "0, 1");
    let all = listed(&keys[..MOST_NAMED]);
    assert!(all.ends_with(", 31"), "{all}");
    assert_eq!(listed(&keys), all + " and 1 more");
}
