use super::*;
use crate::body::BrokenOff;
use crate::config::{OriginText, S3Text};
use crate::flight::{POOL, POOL_SIZE};
use crate::respond;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use kernel::Kernel;
use kernel::blocking::Blocking;
use kernel::drain::{Outcome as Drained, Phase, Plan};
use kernel::pool::Pool;
use kernel::supervisor::Supervisor;
use kernel::tree::{Child, ChildSpec, Restart};
use std::time::Duration;
use testkit::upstream::{Fault, Reply, Upstream};
use tokio::task::JoinHandle;
use verified_store::Store;

mod crowd;
mod depot;
mod forget;
mod fresh;
mod hostile;
mod lasting;
mod less;
mod letter;
mod pass;
mod reach;
mod stale;
mod stuck;
mod validate;
mod vary;

static FILLS: ChildSpec = ChildSpec {
    name: "fills",
    doc: "",
    depends_on: &[],
    phase: Phase::Work,
    restart: Restart::Always,
    essential: false,
};
static KEEPER: ChildSpec = ChildSpec {
    name: "keeper",
    ..FILLS
};

static BUCKET: ChildSpec = ChildSpec {
    name: "bucket",
    ..FILLS
};

/// An origin on a real socket, and the cache in front of it.
struct Site {
    origin: Upstream,
    origins: Arc<Origins>,
    disk: Blocking,
    kernel: Kernel,
    node: JoinHandle<Drained>,
}

/// What a client got.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Result<Bytes, BrokenOff>,
    reason: &'static str,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    fn text(&self) -> &str {
        std::str::from_utf8(self.body.as_ref().unwrap()).unwrap()
    }

    /// What the cache says it did.
    fn did(&self) -> &str {
        self.header("cache-status")
    }

    fn is_hit(&self) -> bool {
        self.did().contains("; hit")
    }
}

impl Site {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(edit: impl FnOnce(&mut OriginText)) -> Self {
        Self::on(None, edit).await
    }

    /// With a place where answers outlive the node.
    async fn on(store: Option<Store>, edit: impl FnOnce(&mut OriginText)) -> Self {
        let origin = Upstream::start().await.unwrap();
        Self::before(origin, store, edit)
    }

    fn before(origin: Upstream, store: Option<Store>, edit: impl FnOnce(&mut OriginText)) -> Self {
        Self::behind(origin, store, None, edit)
    }

    /// With a bucket behind the store.
    fn behind(
        origin: Upstream,
        store: Option<Store>,
        s3: Option<&S3Text>,
        edit: impl FnOnce(&mut OriginText),
    ) -> Self {
        let (kernel, publisher) = Kernel::new();
        let disk = Blocking::new(&kernel.registry);
        let origins = Origins::new(&kernel, &disk, store, s3, 64 << 20).unwrap();
        let mut text = OriginText::to("o", "/o", &format!("http://{}", origin.addr()));
        text.private_networks = vec!["127.0.0.0/8".to_owned()];
        edit(&mut text);
        let ready = origins.prepare(&kernel, &disk, &[text]);
        ready.unwrap_or_else(|error| panic!("{error}"))();
        let (pool, workers) = Pool::new(&POOL, POOL_SIZE, Filling, &kernel);
        origins.employ(workers);
        let (pool, kept) = (Arc::new(pool), origins.clone());
        let mut children = vec![
            Child::new(&FILLS, move |context| {
                let pool = pool.clone();
                async move { pool.run(context).await }
            }),
            Child::new(&KEEPER, move |context| keeper::keep(context, kept.clone())),
        ];
        let desk = origins.desk.clone();
        if let Some(depot) = desk.depot.clone() {
            children.push(Child::new(&BUCKET, move |context| {
                super::depot::run(context, desk.clone(), depot.clone())
            }));
        }
        let supervisor = Supervisor::new(kernel.clone(), publisher, children).unwrap();
        let plan = || Plan {
            accept_grace: Duration::ZERO,
            deadline: Duration::from_secs(3),
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "the supervisor is the root of its own tree"
        )]
        let node = tokio::spawn(supervisor.run(plan));
        Self {
            origin,
            origins,
            disk,
            kernel,
            node,
        }
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::new(());
        *request.method_mut() = method.parse().unwrap();
        *request.uri_mut() = path.parse().unwrap();
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            request
                .headers_mut()
                .append(name, HeaderValue::from_str(value).unwrap());
        }
        let (parts, ()) = request.into_parts();
        let mount = self.origins.find(parts.uri.path()).unwrap();
        let body = Full::new(Bytes::from_static(b"sent"));
        match self.origins.answer(&mount, &parts, body).await {
            Ok(answer) => {
                let (head, body) = answer.into_parts();
                let body = body.collect().await.map(|body| body.to_bytes());
                Answer {
                    status: head.status.as_u16(),
                    headers: head.headers,
                    body,
                    reason: "",
                }
            }
            Err(refusal) => {
                let told = respond::refusal(&refusal, HeaderValue::from_static("id"));
                Answer {
                    status: refusal.status(),
                    headers: told.headers().clone(),
                    body: Ok(Bytes::new()),
                    reason: refusal.reason(),
                }
            }
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[]).await
    }

    async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, headers).await
    }

    /// Lets so many seconds pass at once.
    fn later(&self, seconds: u64) {
        self.origins.desk.clock.advance(seconds * 1000);
    }

    /// Requests the origin got.
    fn asked(&self) -> u64 {
        self.origin.received()
    }

    /// A header of the latest request the origin got.
    fn origin_saw(&self, name: &str) -> Option<String> {
        let requests = self.origin.requests();
        let head = requests.last().unwrap().head.as_ref().unwrap();
        head.headers.get(name).map(str::to_owned)
    }

    /// Whether nothing is being fetched or written down.
    fn is_at_rest(&self) -> bool {
        let metrics = &self.origins.desk.metrics;
        let units = ["edge_fills", "done"];
        let done = self.kernel.registry.counter(&kernel::pool::UNITS, &units);
        done.get() == metrics.fetched.get() + metrics.failed.get() + metrics.confirmed.get()
    }

    async fn until(&self, what: impl Fn() -> bool) {
        let looked = async {
            while !what() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let came = tokio::time::timeout(Duration::from_secs(20), looked).await;
        came.expect("what was waited for did not come");
    }
}

/// An answer with these headers.
fn reply(body: &str, headers: &[(&str, &str)]) -> Reply {
    let reply = Reply::status(200).body(body);
    headers
        .iter()
        .fold(reply, |reply, (name, value)| reply.header(name, value))
}

fn fresh(body: &str, seconds: u64) -> Reply {
    reply(body, &[("cache-control", &format!("max-age={seconds}"))])
}
