//! What one exchange costs its client: this pool, a connection driven by a task of its own, hyper-util's client.
//!
//! `exchange compare [requests] [clients] [bytes]` runs all three in turn, several times, each in a process of its own,
//! and prints processor time per request; `THREADS=2` gives each a runtime of two. For a profiler,
//! `exchange pool|spawned|legacy ADDRESS REQUESTS CLIENTS BYTES` runs one.

use std::error::Error;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kernel::blocking::Blocking;
use kernel::clock;
use kernel::lock::{Lock, LockSpec};
use kernel::metrics::Registry;
use testkit::upstream::Upstream;
use tokio::net::TcpStream;
use upstream::{EndpointSpec, Pool, PoolSpec, Tried};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const PATIENCE: Duration = Duration::from_secs(5);

const WAYS: [&str; 3] = ["pool", "spawned", "legacy"];
const ROUNDS: usize = 5;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, otherwise: usize| -> Outcome<usize> {
        Ok(arguments
            .get(index)
            .map_or(Ok(otherwise), |text| text.parse())?)
    };
    let threads = std::env::var("THREADS").map_or(Ok(1), |text| text.parse())?;
    let runtime = match threads {
        1 => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?,
        _ => tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build()?,
    };
    match arguments.first().map(String::as_str) {
        Some("serve") => runtime.block_on(serve()),
        Some(way) if WAYS.contains(&way) => {
            let load = Load {
                origin: arguments.get(1).ok_or("no address")?.parse()?,
                requests: number(2, 20_000)?,
                clients: number(3, 16)?,
                bytes: number(4, 1024)?,
            };
            let spent = runtime.block_on(load.run(way))?;
            println!("{spent}");
            Ok(())
        }
        _ => compare(number(1, 20_000)?, number(2, 16)?, number(3, 1024)?),
    }
}

/// Says where it listens and serves until its input ends.
async fn serve() -> Outcome<()> {
    let origin = Upstream::start().await?;
    origin.set_journal(0);
    println!("{}", origin.addr());
    std::future::pending().await
}

fn compare(requests: usize, clients: usize, bytes: usize) -> Outcome<()> {
    let this = std::env::current_exe()?;
    let mut origin = Command::new(&this)
        .arg("serve")
        .stdout(Stdio::piped())
        .spawn()?;
    let mut address = String::new();
    let said = origin.stdout.as_mut().ok_or("no output")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut address)?;
    let mut spent = [const { Vec::new() }; WAYS.len()];
    for _ in 0..ROUNDS {
        for (way, spent) in WAYS.iter().zip(&mut spent) {
            let numbers = [requests, clients, bytes].map(|number| number.to_string());
            let run = Command::new(&this)
                .arg(way)
                .arg(address.trim())
                .args(numbers)
                .output()?;
            spent.push(String::from_utf8(run.stdout)?.trim().parse::<u64>()?);
        }
    }
    origin.kill()?;
    origin.wait()?;
    println!(
        "{requests} requests by {clients} clients, {bytes} bytes each; processor time per request:"
    );
    for (way, mut spent) in WAYS.into_iter().zip(spent) {
        spent.sort_unstable();
        let micros = |spent: u64| spent as f64 / requests as f64 / 1000.0;
        let [least, .., most] = spent[..] else {
            continue;
        };
        let middle = spent[spent.len() / 2];
        println!(
            "{way:>8} {:6.2} µs ({:.2} to {:.2})",
            micros(middle),
            micros(least),
            micros(most)
        );
    }
    Ok(())
}

struct Load {
    origin: SocketAddr,
    requests: usize,
    clients: usize,
    bytes: usize,
}

impl Load {
    /// Nanoseconds of processor time for all requests, after as many to warm up.
    async fn run(&self, way: &str) -> Outcome<u64> {
        match way {
            "pool" => self.measure(Pooled::new(self.origin)?).await,
            "spawned" => self.measure(Spawned::new(self.origin)).await,
            _ => {
                self.measure(Legacy(Client::builder(TokioExecutor::new()).build_http()))
                    .await
            }
        }
    }

    async fn measure(&self, way: impl Way) -> Outcome<u64> {
        let way = Arc::new(way);
        self.send(&way, self.requests / 4).await?;
        let before = processor_ns()?;
        self.send(&way, self.requests).await?;
        Ok(processor_ns()? - before)
    }

    async fn send(&self, way: &Arc<impl Way>, requests: usize) -> Outcome<()> {
        let each = requests / self.clients;
        let (uri, bytes) = (way.uri(self.origin, self.bytes), self.bytes);
        let client = |way: Arc<_>, uri: String| async move {
            for _ in 0..each {
                let request = Request::get(&uri)
                    .header("host", "origin.example")
                    .header("user-agent", "exchange")
                    .header("accept", "*/*")
                    .body(Empty::new())?;
                let got = Way::fetch(&*way, request).await?;
                assert_eq!(got, bytes, "the body is as long as asked for");
            }
            Outcome::Ok(())
        };
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..self.clients {
            clients.spawn(client(way.clone(), uri.clone()));
        }
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        Ok(())
    }
}

/// What all threads of this process have used.
fn processor_ns() -> Outcome<u64> {
    let mut sum = 0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let first = text.split(' ').next().ok_or("an empty line")?;
        sum += first.parse::<u64>()?;
    }
    Ok(sum)
}

/// A way to send a request.
trait Way: Send + Sync + 'static {
    fn uri(&self, _origin: SocketAddr, bytes: usize) -> String {
        format!("/?bytes={bytes}")
    }

    /// The length of the body that comes back.
    fn fetch(&self, request: Request<Empty<Bytes>>) -> impl Future<Output = Outcome<usize>> + Send;
}

struct Pooled(Arc<Pool>);

impl Pooled {
    fn new(origin: SocketAddr) -> Outcome<Self> {
        let registry = Registry::default();
        let endpoint = EndpointSpec::parse(&format!("http://{origin}"))?;
        let spec = PoolSpec::new("origin", vec![endpoint]);
        let blocking = Blocking::new(&registry);
        Ok(Self(Pool::new(spec, &registry, blocking)))
    }
}

impl Way for Pooled {
    async fn fetch(&self, request: Request<Empty<Bytes>>) -> Outcome<usize> {
        let now = clock::now();
        let pick = self.0.pick(now, None, &Tried::default())?;
        let response = pick.send(request, now + PATIENCE).await?;
        Ok(response.into_body().collect().await?.to_bytes().len())
    }
}

/// The plainest pool there is: a stack of senders, their connections driven by tasks.
struct Spawned {
    origin: SocketAddr,
    idle: Lock<Vec<SendRequest<Empty<Bytes>>>>,
}

static IDLE: LockSpec = LockSpec {
    name: "idle",
    level: 1,
    doc: "senders at rest",
};

impl Spawned {
    fn new(origin: SocketAddr) -> Self {
        let idle = Lock::new(&IDLE, Vec::new());
        Self { origin, idle }
    }

    async fn sender(&self) -> Outcome<SendRequest<Empty<Bytes>>> {
        let rested = self.idle.lock().pop();
        if let Some(mut sender) = rested {
            sender.ready().await?;
            return Ok(sender);
        }
        let stream = TcpStream::connect(self.origin).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the task that is compared with doing without"
        )]
        tokio::spawn(connection);
        Ok(sender)
    }
}

impl Way for Spawned {
    async fn fetch(&self, request: Request<Empty<Bytes>>) -> Outcome<usize> {
        let mut sender = self.sender().await?;
        let response = sender.send_request(request).await?;
        let bytes = response.into_body().collect().await?.to_bytes().len();
        self.idle.lock().push(sender);
        Ok(bytes)
    }
}

struct Legacy(Client<HttpConnector, Empty<Bytes>>);

impl Way for Legacy {
    fn uri(&self, origin: SocketAddr, bytes: usize) -> String {
        format!("http://{origin}/?bytes={bytes}")
    }

    async fn fetch(&self, request: Request<Empty<Bytes>>) -> Outcome<usize> {
        let response = self.0.request(request).await?;
        Ok(response.into_body().collect().await?.to_bytes().len())
    }
}
