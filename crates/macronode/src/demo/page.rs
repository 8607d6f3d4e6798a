//! The demonstration's HTTP door: what to try, and work to try it on.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use kernel::Kernel;
use kernel::clock;
use kernel::config::Live;
use kernel::deadline::Deadline;
use kernel::pool::PoolHandle;
use kernel::reject::Reject;
use kernel::serve::{Answer, Handler, Rejections};

use super::{Sleeper, Unit, settings};
use crate::config::Settings;

/// The longest a unit may be asked to take.
const LONGEST: Duration = Duration::from_secs(60);

/// Answers the demonstration's requests.
pub(crate) struct Page {
    pool: PoolHandle<Sleeper>,
    live: Live<Settings>,
    rejections: Rejections,
}

impl Page {
    /// In front of `pool`.
    pub(crate) fn new(pool: PoolHandle<Sleeper>, live: Live<Settings>, kernel: &Kernel) -> Self {
        Self {
            pool,
            live,
            rejections: Rejections::new(&kernel.registry),
        }
    }

    /// One unit from door to answer: parse, admit or refuse at once, wait no longer than the deadline.
    async fn work(&self, request: &Request<Incoming>) -> Result<Answer, (Reject, String)> {
        let unit = unit(request)?;
        let generation = self.live.load().generation;
        let budget = settings(&self.live).map_or(LONGEST, |demo| demo.deadline);
        let deadline = Deadline::after(clock::now(), budget);
        let ticket = self
            .pool
            .submit(unit)
            .map_err(|reject| (reject, reject.to_string()))?;
        let answer = deadline.bound(ticket.answer()).await;
        let took = answer
            .and_then(|answer| answer)
            .map_err(|reject| (reject, reject.to_string()))?;
        Ok(text(format!(
            "worked {} ms under config {generation}\n",
            took.as_millis()
        )))
    }
}

fn unit(request: &Request<Incoming>) -> Result<Unit, (Reject, String)> {
    let mut takes = Duration::from_millis(10);
    for pair in request
        .uri()
        .query()
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
    {
        let millis = pair
            .strip_prefix("ms=")
            .and_then(|text| text.parse().ok())
            .map(Duration::from_millis);
        takes = millis.filter(|takes| *takes <= LONGEST).ok_or_else(|| {
            (
                Reject::BAD_REQUEST,
                format!(
                    "the query takes `ms=N` with N from 0 to {}",
                    LONGEST.as_millis()
                ),
            )
        })?;
    }
    // What is safe may be done twice.
    Ok(Unit {
        takes,
        repeatable: matches!(*request.method(), Method::GET | Method::HEAD),
    })
}

impl Handler for Page {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        let done = match (request.method(), request.uri().path()) {
            (&Method::GET | &Method::HEAD, "/") => Ok(text(WELCOME.to_owned())),
            (&Method::GET | &Method::HEAD | &Method::POST, "/work") => self.work(&request).await,
            #[cfg(feature = "chaos")]
            (&Method::POST, "/chaos/kill") => Ok(self.kill(&request)),
            _ => Err((
                Reject::NOT_FOUND,
                "here are: GET /, GET or POST /work?ms=N".to_owned(),
            )),
        };
        done.unwrap_or_else(|(reject, detail)| self.rejections.answer(reject, &detail))
    }
}

#[cfg(feature = "chaos")]
impl Page {
    /// Kills as many workers as asked for.
    fn kill(&self, request: &Request<Incoming>) -> Answer {
        let asked = request
            .uri()
            .query()
            .and_then(|query| query.strip_prefix("workers="));
        let count = asked.and_then(|text| text.parse().ok()).unwrap_or(1);
        self.pool.kill(count);
        text(format!("killed up to {count} workers\n"))
    }
}

fn text(body: String) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    answer.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    answer
}

const WELCOME: &str = "\
macronode demonstration: a bounded queue, supervised workers, a drain that loses nothing.

  /work?ms=20     one unit of work that takes 20 ms; 429 when the queue is full, 504 past the deadline
                  (GET is repeated when its worker dies, POST is not)

On the admin address: /readyz, /status, /metrics. `macronode status` shows it as a table.
Stop the node while requests run (ctrl-c): what was accepted is answered.
";
