use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use verified_store::Hash;
use verified_store::s3::open_record;

use super::*;
use crate::config::S3Text;

/// Storage that keeps what is put, and fails as it is told.
#[derive(Default)]
struct Storage {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    /// The status of all answers in place of its own; 1 for no answer at all.
    fault: AtomicUsize,
    asked: AtomicU64,
}

impl Storage {
    #[expect(
        clippy::disallowed_methods,
        reason = "a server of its own beside the runtime, which ends with the test"
    )]
    fn start() -> (Arc<Self>, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (storage, addr) = (Arc::new(Self::default()), listener.local_addr().unwrap());
        let kept = storage.clone();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let kept = kept.clone();
                std::thread::spawn(move || kept.serve(stream));
            }
        });
        (storage, addr)
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        loop {
            let (mut line, mut length) = (String::new(), 0);
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let mut words = line.split(' ').map(str::to_owned);
            let (method, target) = (words.next()?, words.next()?);
            let mut signed = false;
            loop {
                let mut header = String::new();
                reader.read_line(&mut header).ok()?;
                let header = header.trim().to_lowercase();
                signed |= header.starts_with("authorization: aws4-hmac-sha256 credential=id/");
                if let Some(value) = header.strip_prefix("content-length: ") {
                    length = value.parse().ok()?;
                }
                if header.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            self.asked.fetch_add(1, Ordering::SeqCst);
            let (status, body) = match self.fault.load(Ordering::SeqCst) {
                0 if !signed => (403, Vec::new()),
                0 => self.answer(&method, &target, body),
                1 => loop {
                    std::thread::park();
                },
                status => (status, Vec::new()),
            };
            let sent = if method == "HEAD" { &[][..] } else { &body };
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            (&stream)
                .write_all(&[head.as_bytes(), sent].concat())
                .ok()?;
        }
    }

    fn answer(&self, method: &str, target: &str, body: Vec<u8>) -> (usize, Vec<u8>) {
        let mut objects = self.objects.lock().unwrap();
        if target.contains("list-type=2") {
            let keys = objects.keys().filter(|key| key.contains("/records/"));
            let keys: String = keys
                .map(|key| format!("<Contents><Key>{key}</Key></Contents>"))
                .collect();
            return (
                200,
                format!("<ListBucketResult>{keys}</ListBucketResult>").into(),
            );
        }
        match method {
            "PUT" => {
                objects.insert(target.to_owned(), body);
                (200, Vec::new())
            }
            "DELETE" => {
                objects.remove(target);
                (204, Vec::new())
            }
            _ => objects
                .get(target)
                .map_or((404, Vec::new()), |body| (200, body.clone())),
        }
    }

    fn count(&self, part: &str) -> usize {
        let objects = self.objects.lock().unwrap();
        objects.keys().filter(|key| key.contains(part)).count()
    }

    fn spoil(&self, part: &str) {
        let mut objects = self.objects.lock().unwrap();
        let found = objects.iter_mut().filter(|(key, _)| key.contains(part));
        found.for_each(|(_, body)| body[0] ^= 1);
    }
}

fn text(addr: SocketAddr) -> S3Text {
    let text = format!(
        "{{\"endpoint\":\"http://{addr}\",\"bucket\":\"tiles\",\"prefix\":\"a/b\",\"access_key\":\"id\",\
         \"secret_key\":\"key\",\"find_ms\":10000}}"
    );
    serde_json::from_str(&text).unwrap()
}

/// Two nodes before one origin with one bucket between them, and nothing else that lasts.
async fn pair() -> (Arc<Storage>, Site, Site) {
    let (storage, addr) = Storage::start();
    let first = Site::behind(
        Upstream::start().await.unwrap(),
        None,
        Some(&text(addr)),
        |_| {},
    );
    let origin = format!("http://{}", first.origin.addr());
    let second = Site::behind(
        Upstream::start().await.unwrap(),
        None,
        Some(&text(addr)),
        |text| {
            text.to = Some(origin);
        },
    );
    (storage, first, second)
}

// req: ED-03
#[tokio::test]
async fn what_one_node_has_fetched_another_finds_in_the_bucket() {
    let (storage, first, second) = pair().await;
    first
        .origin
        .set("/a", fresh("shared", 100).header("x-a", "1"));
    assert!(!first.get("/o/a").await.is_hit());
    first.until(|| storage.count("/records/") == 1).await;
    second.later(5);
    let found = second.get("/o/a").await;
    assert_eq!((found.text(), found.header("x-a")), ("shared", "1"));
    assert!(
        found.is_hit() && found.did().contains("bucket"),
        "{}",
        found.did()
    );
    assert!(found.header("age").parse::<u64>().unwrap() >= 4);
    let asked = storage.asked.load(Ordering::SeqCst);
    assert!(second.get("/o/a").await.is_hit());
    assert_eq!(
        (first.asked(), storage.asked.load(Ordering::SeqCst)),
        (1, asked)
    );
    let objects = storage.objects.lock().unwrap();
    let key = format!("o http://{}/a", first.origin.addr());
    let name = Hash::of(key.as_bytes());
    let sealed = &objects[&format!("/tiles/a/b/records/{name}")];
    assert!(open_record(&name, sealed).is_some());
}

// req: ED-03, ED-05
#[tokio::test]
async fn what_is_past_its_time_there_is_asked_about_and_stands_in_when_the_origin_fails() {
    let (storage, first, second) = pair().await;
    let reply = || fresh("kept", 10).header("etag", "\"a\"");
    first.origin.set("/a", reply());
    first.origin.set("/b", reply());
    first.get("/o/a").await;
    first.get("/o/b").await;
    first.until(|| storage.count("/records/") == 2).await;
    second.later(20);
    first.origin.set(
        "/a",
        Reply::status(304)
            .header("etag", "\"a\"")
            .header("cache-control", "max-age=10"),
    );
    assert_eq!(second.get("/o/a").await.text(), "kept");
    assert_eq!(first.origin_saw("if-none-match").as_deref(), Some("\"a\""));
    first.origin.set("/b", Fault::Garbage);
    let stood_in = second.get("/o/b").await;
    assert_eq!((stood_in.status, stood_in.text()), (200, "kept"));
    let did = stood_in.did();
    assert!(did.starts_with("macronode; fwd=stale; ttl=-1"), "{did}");
    assert!(did.ends_with("; detail=origin-broken"), "{did}");
}

// req: ED-03
// attack: J-05
#[tokio::test]
async fn what_was_changed_in_the_bucket_is_not_given_out() {
    for part in ["/objects/", "/records/"] {
        let (storage, first, second) = pair().await;
        first.origin.set("/a", fresh("true", 100));
        first.get("/o/a").await;
        first.until(|| storage.count("/records/") == 1).await;
        storage.spoil(part);
        let answer = second.get("/o/a").await;
        assert_eq!((answer.text(), answer.is_hit()), ("true", false), "{part}");
        assert_eq!(first.asked(), 2, "{part}");
    }
}

// req: ED-03, ED-10
#[tokio::test]
async fn a_bucket_that_fails_or_is_silent_costs_only_what_it_would_have_saved() {
    for fault in [1, 403, 500, 503] {
        let (storage, addr) = Storage::start();
        storage.fault.store(fault, Ordering::SeqCst);
        let mut text = text(addr);
        text.find_ms = 100;
        let site = Site::behind(Upstream::start().await.unwrap(), None, Some(&text), |_| {});
        for path in 0..12 {
            let path = format!("/{path}");
            site.origin.set(&path, fresh("from the origin", 100));
            let answer = site.get(&format!("/o{path}")).await;
            assert_eq!(
                (answer.status, answer.text()),
                (200, "from the origin"),
                "{fault}"
            );
        }
        let asked = storage.asked.load(Ordering::SeqCst);
        assert!(
            fault == 403 || asked < 12,
            "{fault}: it was not left alone, but asked {asked} times"
        );
    }
}

// req: ED-11
#[tokio::test]
async fn what_is_purged_or_changed_does_not_come_back_from_the_bucket() {
    let (storage, first, second) = pair().await;
    for path in ["/a", "/b", "/c", "/d/e"] {
        first
            .origin
            .set(path, fresh("old", 100).header("cache-tag", "red"));
        first.get(&format!("/o{path}")).await;
    }
    first.until(|| storage.count("/records/") == 4).await;
    assert_eq!(
        second.origins.purge(&Purge::Url("/o/a".to_owned())).await,
        1
    );
    assert_eq!(storage.count("/records/"), 3);
    second.ask("POST", "/o/b", &[]).await;
    second.until(|| storage.count("/records/") == 2).await;
    assert_eq!(
        second
            .origins
            .purge(&Purge::Prefix("/o/d/".to_owned()))
            .await,
        1
    );
    assert_eq!(second.origins.purge(&Purge::Tag("red".to_owned())).await, 1);
    assert_eq!(storage.count("/records/"), 0);
    assert_eq!(second.origins.purge(&Purge::Tag("red".to_owned())).await, 0);
}

// req: ED-11
#[tokio::test]
async fn what_could_not_be_removed_from_the_bucket_is_not_believed_any_more() {
    let (storage, first, second) = pair().await;
    for path in ["/a", "/b"] {
        first.origin.set(path, fresh("old", 100));
        first.get(&format!("/o{path}")).await;
    }
    first.until(|| storage.count("/records/") == 2).await;
    storage.fault.store(403, Ordering::SeqCst);
    second.origins.purge(&Purge::Url("/o/a".to_owned())).await;
    storage.fault.store(0, Ordering::SeqCst);
    first.origin.set("/a", fresh("new", 100));
    first.origin.set("/b", fresh("new", 100));
    assert_eq!(second.get("/o/a").await.text(), "new");
    assert_eq!(second.get("/o/b").await.text(), "new");
}
