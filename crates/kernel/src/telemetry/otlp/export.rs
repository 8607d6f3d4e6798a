//! The child that sends spans to a collector: in batches, each within a bound of time, and lost when it is not taken.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use http::{Request, header};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tracing::{info, warn};

use super::span::Span;
use super::{CHILD, EXPORTED, Endpoint, FAILURES, LOST, TraceSettings, encode};
use crate::deadline::Deadline;
use crate::metrics::{Counter, Registry};
use crate::queue::Receiver;
use crate::tree::{Child, Context, Failure};
use crate::{clock, limits};

/// Spans sent at once.
const BATCH: usize = 128;
/// Time a span waits for others to be sent with.
const BATCH_WAIT: Duration = Duration::from_secs(1);
/// Time a collector has to take a batch.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after a failure, in which the queue sheds what does not fit.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);
/// Time to send what is left when told to end.
const FLUSH: Duration = Duration::from_millis(400);

const _: () = {
    assert!(BATCH <= limits::TELEMETRY_QUEUE);
    assert!(FLUSH.as_millis() < limits::SUPPORT_DEADLINE.as_millis());
};

pub(super) fn child(settings: TraceSettings, spans: Receiver<Span>) -> Child {
    Child::new(&CHILD, move |context| {
        let exporter = Exporter::new(settings.clone(), spans.clone(), &context.kernel.registry);
        live(exporter, context)
    })
}

async fn live(mut exporter: Exporter, context: Context) -> Result<(), Failure> {
    // A collector that is away is no reason to look away from the node: ready, whatever it answers.
    context.ready.ready();
    let spans = exporter.spans.clone();
    let told = pin!(context.told_to_end());
    if let Either::Left(((), run)) = select(told, pin!(exporter.run())).await {
        // A closed queue is sent to its end, without waiting for more.
        spans.close();
        let _timeout = Deadline::after(clock::now(), FLUSH).bound(run).await;
    }
    exporter.count_unsent();
    Ok(())
}

struct Exporter {
    endpoint: Endpoint,
    service: String,
    spans: Receiver<Span>,
    /// Emptied when the collector has answered; what is in it when this is dropped counts as lost.
    batch: Vec<Span>,
    failing: bool,
    exported: Counter,
    lost: Counter,
    failures: Counter,
}

impl Exporter {
    fn new(settings: TraceSettings, spans: Receiver<Span>, registry: &Registry) -> Self {
        Self {
            endpoint: settings.endpoint,
            service: settings.service,
            spans,
            batch: Vec::with_capacity(BATCH),
            failing: false,
            exported: registry.counter(&EXPORTED, &[]),
            lost: registry.counter(&LOST, &[]),
            failures: registry.counter(&FAILURES, &[]),
        }
    }

    /// Ends when the queue is closed and empty.
    async fn run(&mut self) {
        while let Some(first) = self.spans.recv().await {
            self.batch.push(first);
            self.gather().await;
            if !self.export().await {
                tokio::time::sleep(FAILURE_PAUSE).await;
            }
        }
    }

    async fn gather(&mut self) {
        let deadline = Deadline::after(clock::now(), BATCH_WAIT);
        while self.batch.len() < BATCH {
            match deadline.bound(self.spans.recv()).await {
                Ok(Some(span)) => self.batch.push(span),
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn count_unsent(&self) {
        let left = std::iter::from_fn(|| self.spans.try_recv()).count();
        self.lost.inc_by(left as u64);
    }

    /// Sends the batch; whether the collector took it. A batch that it did not take is lost.
    async fn export(&mut self) -> bool {
        let body = encode::request(&self.service, &self.batch);
        let deadline = Deadline::after(clock::now(), EXPORT_TIMEOUT);
        let answer = deadline.bound(post(&self.endpoint, body)).await;
        let answer = answer.unwrap_or(Err(ExportError::Timeout));
        let spans = self.batch.len() as u64;
        self.batch.clear();
        match &answer {
            Ok(()) => self.exported.inc_by(spans),
            Err(_) => {
                self.failures.inc();
                self.lost.inc_by(spans)
            }
        };
        self.tell_change(answer.as_ref().err());
        answer.is_ok()
    }

    /// Says once that the collector fails and once that it is back, not with each batch.
    fn tell_change(&mut self, error: Option<&ExportError>) {
        let endpoint = &self.endpoint;
        match (self.failing, error) {
            (false, Some(error)) => warn!(%endpoint, %error, "the collector takes no spans"),
            (true, None) => info!(%endpoint, "the collector takes spans again"),
            _ => {}
        }
        self.failing = error.is_some();
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.lost.inc_by(self.batch.len() as u64);
    }
}

#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("cannot connect: {0}")]
    Connect(#[from] std::io::Error),
    #[error("{0}")]
    Http(#[from] hyper::Error),
    #[error("cannot be asked: {0}")]
    Request(#[from] http::Error),
    #[error("it answered {0}")]
    Refused(http::StatusCode),
    #[error("no answer in time")]
    Timeout,
}

/// A connection for each batch: at most a few a second, and none to keep alive or to find dead.
async fn post(endpoint: &Endpoint, body: Vec<u8>) -> Result<(), ExportError> {
    let request = Request::post(endpoint.path())
        .header(header::HOST, endpoint.authority())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "close")
        .body(Full::new(Bytes::from(body)))?;
    let stream = TcpStream::connect(endpoint.address()).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let answer = pin!(sender.send_request(request));
    let response = match select(answer, connection).await {
        Either::Left((response, _connection)) => response?,
        // The connection may have brought the answer in its last step.
        Either::Right((_ended, answer)) => answer.await?,
    };
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(ExportError::Refused(status)),
    }
}
