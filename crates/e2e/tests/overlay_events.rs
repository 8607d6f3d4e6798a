//! Events of the node as a stream: what is, what comes, and where a client that comes back reads on.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails where it stands"
)]

use bytes::Bytes;
use e2e::overlay::{Overlay, PATIENCE, config};
use e2e::wait::eventually;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;

/// One event.
#[derive(Debug)]
struct Event {
    id: String,
    kind: String,
    data: Value,
}

/// A stream that is listened to.
struct Listener {
    lines: Lines<BufReader<OwnedReadHalf>>,
    _kept: tokio::net::tcp::OwnedWriteHalf,
}

impl Listener {
    async fn open(node: &Overlay, last: Option<&str>) -> Self {
        let stream = TcpStream::connect(node.door).await.unwrap();
        let (read, mut write) = stream.into_split();
        let last = last.map_or(String::new(), |id| format!("last-event-id: {id}\r\n"));
        let request = format!(
            "GET /v1/events HTTP/1.1\r\nhost: {}\r\n{last}\r\n",
            node.door
        );
        write.write_all(request.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(read).lines();
        let head = lines.next_line().await.unwrap().unwrap();
        assert!(head.contains(" 200 "), "{head}");
        Self {
            lines,
            _kept: write,
        }
    }

    /// The next event; `None` when the stream has ended.
    async fn next(&mut self) -> Option<Event> {
        let mut event = Event {
            id: String::new(),
            kind: String::new(),
            data: Value::Null,
        };
        loop {
            let line = tokio::time::timeout(PATIENCE, self.lines.next_line());
            let line = line.await.expect("an event in time").ok()??;
            match line.split_once(": ") {
                Some(("id", id)) => id.clone_into(&mut event.id),
                Some(("event", kind)) => kind.clone_into(&mut event.kind),
                Some(("data", data)) => {
                    event.data = serde_json::from_str(data).unwrap();
                    return Some(event);
                }
                _ => {}
            }
        }
    }

    async fn until(&mut self, kind: &str) -> Event {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if event.kind == kind {
                return event;
            }
        }
    }
}

fn renewed(weight: u32) -> String {
    config("").replace("weight = 3", &format!("weight = {weight}"))
}

// req: ND-09, KN-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_listens_hears_what_is_what_comes_and_the_end() {
    let node = Overlay::start("").await;
    let mut listener = Listener::open(&node, None).await;
    let first = listener.next().await.unwrap();
    assert_eq!(first.kind, "snapshot");
    assert_eq!(first.data["health"]["overlay.http"], "ready");
    node.process.replace_config(&renewed(5)).unwrap();
    let changed = listener.until("config").await;
    assert_eq!(changed.data["generation"], 2);
    node.process.signal(libc::SIGTERM).unwrap();
    let ending = listener.until("shutdown").await;
    assert!(ending.data["stage"].is_string(), "{ending:?}");
    while listener.next().await.is_some() {}
    let ended = node.process.wait_exit(PATIENCE).await.unwrap();
    assert_eq!(ended.code(), Some(0), "no stream holds the node up");
}

// req: ND-09
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_back_reads_on_where_it_stopped() {
    let node = Overlay::start("").await;
    let mut listener = Listener::open(&node, None).await;
    listener.next().await.unwrap();
    node.process.replace_config(&renewed(5)).unwrap();
    let seen = listener.until("config").await;
    drop(listener);
    node.process.replace_config(&renewed(6)).unwrap();
    eventually("a third config is in force", PATIENCE, async || {
        node.read("/v1/config").await["generation"] == 3
    })
    .await;
    let mut again = Listener::open(&node, Some(&seen.id)).await;
    let missed = again.until("config").await;
    assert_eq!(missed.data["generation"], 3, "and nothing twice");
    let mut stranger = Listener::open(&node, Some("0-1")).await;
    assert_eq!(stranger.next().await.unwrap().kind, "snapshot");
    eventually("those who left are not counted", PATIENCE, async || {
        let page = node.process.metrics().await.unwrap();
        page.sum("overlay_event_streams", &[]) == 2.0
    })
    .await;
}

// req: ND-07
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_share_an_http_2_connection() {
    let node = Overlay::start("").await;
    let stream = TokioIo::new(TcpStream::connect(node.door).await.unwrap());
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream);
    let (mut sender, connection) = handshake.await.unwrap();
    let driver = tokio::spawn(connection);
    let mut answers = Vec::new();
    for path in ["/v1/status", "/v1/events", "/v1/queues", "/v1/tenants"] {
        let uri = format!("http://{}{path}", node.door);
        let request = hyper::Request::builder().uri(uri);
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        answers.push((path, sender.send_request(request).await.unwrap()));
    }
    for (path, answer) in answers {
        assert_eq!(answer.status(), 200, "{path}");
        if path != "/v1/events" {
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            assert!(serde_json::from_slice::<Value>(&body).is_ok(), "{path}");
        }
    }
    drop(sender);
    driver.abort();
}
