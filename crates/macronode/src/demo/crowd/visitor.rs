//! A tenant of the crowd at the gateway's door: a request whenever one is due, over connections that are kept.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http::header::HOST;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use kernel::clock;
use kernel::lock::Lock;
use tokio::net::TcpStream;

use super::DESK;
use super::tally::{End, Tally};

/// Requests under way at once, at most.
const MOST_UNDER_WAY: usize = 128;

/// A tenant at the gateway's door.
pub(super) struct Visitor {
    tenant: &'static str,
    door: SocketAddr,
    desk: Lock<Desk>,
}

#[derive(Default)]
struct Desk {
    unused: Vec<Line>,
    under_way: usize,
    tally: Tally,
}

/// A connection and who drives it; nobody does while it is unused.
struct Line {
    sender: SendRequest<Empty<Bytes>>,
    driver: Connection<TokioIo<TcpStream>, Empty<Bytes>>,
}

type Error = Box<dyn std::error::Error + Send + Sync>;

impl Visitor {
    pub(super) fn new(tenant: &'static str, door: SocketAddr) -> Self {
        Self {
            tenant,
            door,
            desk: Lock::new(&DESK, Desk::default()),
        }
    }

    /// Whether there is room for one more request; if so it is under way.
    pub(super) fn comes(&self) -> bool {
        let mut desk = self.desk.lock();
        let room = desk.under_way < MOST_UNDER_WAY;
        match room {
            true => desk.under_way += 1,
            false => desk.tally.hold_back(),
        }
        room
    }

    /// What came of the requests since it was last asked.
    pub(super) fn tally(&self) -> Tally {
        std::mem::take(&mut self.desk.lock().tally)
    }

    /// One request.
    pub(super) async fn visit(self: Arc<Self>) {
        let began = clock::now();
        let unused = self.desk.lock().unused.pop();
        let mut asked = match unused {
            Some(line) => self.ask(line).await,
            None => self.ask_anew().await,
        };
        // The gateway may have closed it while nobody looked.
        if asked.is_err() {
            asked = self.ask_anew().await;
        }
        let mut desk = self.desk.lock();
        desk.under_way -= 1;
        let end = match asked {
            Ok((line, reason)) => {
                desk.unused.extend(line);
                reason.map_or_else(|| End::Served(clock::now() - began), End::Refused)
            }
            Err(_) => End::Failed,
        };
        desk.tally.note(end);
    }

    async fn ask_anew(&self) -> Result<(Option<Line>, Option<String>), Error> {
        let stream = TcpStream::connect(self.door).await?;
        stream.set_nodelay(true)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
        self.ask(Line { sender, driver }).await
    }

    /// The connection where it can be used again, and why the gateway refused where it did.
    async fn ask(&self, line: Line) -> Result<(Option<Line>, Option<String>), Error> {
        let request = Request::get("/")
            .header(HOST, self.door.to_string())
            .header("x-tenant", self.tenant)
            .body(Empty::new())?;
        line.exchange(request).await
    }
}

impl Line {
    /// Itself where it can be used again, and why the gateway refused where it did.
    async fn exchange(
        self,
        request: Request<Empty<Bytes>>,
    ) -> Result<(Option<Self>, Option<String>), Error> {
        let Self {
            mut sender,
            mut driver,
        } = self;
        let mut answer = Box::pin(answer(&mut sender, request));
        tokio::select! {
            reason = &mut answer => {
                drop(answer);
                return Ok((Some(Self { sender, driver }), reason?));
            }
            ended = &mut driver => ended?,
        }
        // It has given all it had. A request that it never took up is known to be lost only once it is dropped.
        drop(driver);
        Ok((None, answer.await?))
    }
}

/// Why the gateway refused, if it did.
async fn answer(
    sender: &mut SendRequest<Empty<Bytes>>,
    request: Request<Empty<Bytes>>,
) -> Result<Option<String>, Error> {
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    let reason = answer.headers().get("x-macronode-reason").cloned();
    answer.into_body().collect().await?;
    let word = reason.and_then(|reason| reason.to_str().map(str::to_owned).ok());
    let refused = !status.is_success();
    Ok(refused.then(|| word.unwrap_or_else(|| format!("status {status}"))))
}
