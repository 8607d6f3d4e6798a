//! The work of a fetch: asks the origin, believes it as little as can be, and lands what came.

use std::sync::Arc;

use http::header::{self, HeaderMap};
use http::{Method, Request, Response, StatusCode};
use http_rules::cache::{self, Answered, Asked, Policy, Varies};
use http_rules::forward::Node;
use kernel::clock;
use kernel::pool::{PoolSize, PoolSpec, Work};
use kernel::queue::{OnFull, QueueSpec};
use upstream::{Reply, Tried};

use crate::origin::clock::Clock;
use crate::origin::depot::Depot;
use crate::origin::entry::{Entry, Head, Resource, tags_of};
use crate::origin::failure::Failure;
use crate::origin::heads;
use crate::origin::kept::Kept;
use crate::origin::metrics::OriginMetrics;
use crate::origin::mount::Target;
use crate::origin::shelf::Shelf;

use super::afar::Afar;
use super::board::{Board, Course};
use super::intake::{self, Intake};
use super::retry::{delay, is_passing};
use super::{Flight, sending};

/// Fetches under way at once; the units of all workers.
const UNITS: usize = 256;
/// Workers. A fetch waits for the network, so each runs many; not too many, for it goes on with all that have come
/// before it lets anybody else go on.
const WORKERS: usize = 16;
/// Redirects that are followed one after the other.
const HOPS: u32 = 3;

/// Fetches that wait for a worker.
pub(crate) static FILLS: QueueSpec = QueueSpec {
    name: "edge_fills",
    capacity: 512,
    on_full: OnFull::RejectNew,
    doc: "things to fetch from origins → the edge's workers; full: the request is answered 429",
};
/// Fetches whose worker died.
pub(crate) static FILLS_AGAIN: QueueSpec = QueueSpec {
    name: "edge_fills_again",
    capacity: UNITS,
    on_full: OnFull::RejectNew,
    doc: "fetches whose worker died → living workers; holds all they can hold",
};
/// The pool's shape.
pub(crate) static POOL: PoolSpec = PoolSpec {
    name: "edge_fills",
    queue: &FILLS,
    requeue: &FILLS_AGAIN,
};
/// The pool's size.
pub(crate) const POOL_SIZE: PoolSize = PoolSize {
    workers: WORKERS,
    units_per_worker: UNITS / WORKERS,
};

/// What all fetches share.
pub(crate) struct Desk {
    pub(crate) clock: Arc<Clock>,
    pub(crate) kept: Kept,
    pub(crate) board: Board,
    pub(crate) shelf: Shelf,
    /// Behind the shelf, where there is one.
    pub(crate) depot: Option<Arc<Depot>>,
    /// This node's name in `Via` and `CDN-Loop`.
    pub(crate) node: Node,
    pub(crate) metrics: OriginMetrics,
}

/// What workers do: fetch.
pub(crate) struct Filling;

impl Work for Filling {
    type Unit = Fill;
    type Answer = ();

    fn repeatable(&self, _fill: &Fill) -> bool {
        true
    }

    async fn perform(&self, fill: Arc<Fill>) {
        fill.run().await;
    }
}

/// One fetch.
pub(crate) struct Fill {
    pub(crate) desk: Arc<Desk>,
    pub(crate) flight: Arc<Flight>,
    pub(crate) course: Course,
    pub(crate) target: Target,
    /// What the origin is sent of the client's headers.
    pub(crate) sent: HeaderMap,
    /// What decides whether the answer may be kept: the same, and what the client says of that.
    pub(crate) asked: HeaderMap,
    /// What is kept and asked about.
    pub(crate) stale: Option<Arc<Entry>>,
    /// Whether what comes is for one request only, which wants it from the origin.
    pub(crate) alone: bool,
}

/// Nobody waits for what nobody works on.
impl Drop for Fill {
    fn drop(&mut self) {
        self.flight.fail(Failure::GivenUp);
        self.desk.board.leave(&self.course, &self.flight);
    }
}

/// What one try came to.
enum Attempt {
    /// With what is to be written down, if it is kept.
    Landed(Option<Arc<Resource>>),
    Redirected(Box<Target>),
    /// A 304 about something else: it has to be asked for whole.
    NotTheSame,
    /// An answer that may be better the next time.
    Passing,
    Failed(Failure),
}

impl From<Failure> for Attempt {
    fn from(failure: Failure) -> Self {
        Attempt::Failed(failure)
    }
}

impl Fill {
    async fn run(&self) {
        // A worker that died may have shown a part: that cannot begin again.
        if self.flight.has_begun() {
            return;
        }
        self.flight.clear();
        let stale = match self.look_afar().await {
            Afar::Fresh(kept) => {
                if let Some(kept) = kept {
                    self.write_down(kept, false).await;
                }
                return;
            }
            Afar::Stale(stale) => stale,
        };
        let stale = stale.as_ref().or(self.stale.as_ref());
        let settings = self.target.settings();
        let (mut target, mut conditional) = (self.target.clone(), true);
        let (mut failures, mut hops) = (0, 0);
        loop {
            let last = failures + 1 >= settings.tries;
            let attempt = self.attempt(&target, stale.filter(|_| conditional), last);
            let attempt = tokio::time::timeout(settings.fill, attempt).await;
            let failure = match attempt.unwrap_or(Attempt::Failed(Failure::Late)) {
                Attempt::Landed(kept) => {
                    // Behind the time limit: the disk has its own pace, and nobody waits for it.
                    if let Some(kept) = kept {
                        self.write_down(kept, true).await;
                    }
                    return;
                }
                Attempt::Redirected(next) if hops < HOPS => {
                    (target, conditional, hops) = (*next, false, hops + 1);
                    continue;
                }
                Attempt::Redirected(_) => Failure::Redirect,
                Attempt::NotTheSame if conditional => {
                    conditional = false;
                    continue;
                }
                Attempt::NotTheSame => Failure::Wrong,
                Attempt::Passing => Failure::Broken,
                Attempt::Failed(failure) => failure,
            };
            let may_pass = matches!(
                failure,
                Failure::Late | Failure::Broken | Failure::Unreachable
            );
            if last || !may_pass || self.flight.has_begun() {
                self.desk.metrics.failed.inc();
                return self.flight.fail(failure);
            }
            self.flight.clear();
            self.desk.metrics.retried.inc();
            tokio::time::sleep(delay(failures, fastrand::f64())).await;
            failures += 1;
        }
    }

    async fn attempt(&self, target: &Target, stale: Option<&Arc<Entry>>, last: bool) -> Attempt {
        let asked_at_ms = self.desk.clock.now_ms();
        let answer = match self.ask(target, stale).await {
            Ok(answer) => answer,
            Err(failure) => return failure.into(),
        };
        let came_at_ms = self.desk.clock.now_ms();
        let intake = Intake {
            asked_at_ms,
            came_at_ms,
        };
        let status = answer.status();
        if is_passing(status) && !last {
            return Attempt::Passing;
        }
        if let Some(attempt) = redirected(target, &answer) {
            return attempt;
        }
        match (status, stale) {
            (StatusCode::NOT_MODIFIED, Some(stale)) => {
                self.confirm(stale, answer.headers(), intake)
            }
            (StatusCode::NOT_MODIFIED | StatusCode::PARTIAL_CONTENT, _) => Failure::Wrong.into(),
            _ if status.is_informational() => Failure::Wrong.into(),
            _ => match self.take(answer, intake).await {
                Ok(kept) => Attempt::Landed(kept),
                Err(failure) => failure.into(),
            },
        }
    }

    /// Sends the request; once more where an old connection turned out to be closed.
    async fn ask(
        &self,
        target: &Target,
        stale: Option<&Arc<Entry>>,
    ) -> Result<Response<Reply>, Failure> {
        let until = clock::now() + target.settings().fill;
        let (mut tried, mut again) = (Tried::default(), false);
        loop {
            let pick = target.origin().pool.pick(clock::now(), None, &tried);
            let pick = pick.map_err(sending::nobody)?;
            match pick.send(self.request(target, stale)?, until).await {
                Ok(answer) => return Ok(answer),
                Err(error) if error.is_stale() && !again => {
                    again = true;
                    tried.note(&error);
                }
                Err(error) => return Err(sending::failure(&error)),
            }
        }
    }

    fn request(
        &self,
        target: &Target,
        stale: Option<&Arc<Entry>>,
    ) -> Result<Request<sending::Nothing>, Failure> {
        let mut request = Request::new(sending::Nothing);
        *request.uri_mut() = target.uri().ok_or(Failure::Wrong)?;
        let headers = request.headers_mut();
        headers.clone_from(&self.sent);
        // Nobody on the way may remove it (RFC 8586).
        headers.remove(heads::CDN_LOOP);
        for line in self.asked.get_all(heads::CDN_LOOP) {
            headers.append(heads::CDN_LOOP, line.clone());
        }
        for (name, value) in stale
            .into_iter()
            .flat_map(|stale| cache::validators(&stale.head.headers))
        {
            headers.insert(name, value);
        }
        self.desk.node.sign_loop(headers);
        self.desk.node.sign(headers, http::Version::HTTP_11);
        Ok(request)
    }

    /// What is kept still holds.
    fn confirm(&self, stale: &Arc<Entry>, said: &HeaderMap, intake: Intake) -> Attempt {
        let Ok(headers) = cache::freshened(&stale.head.headers, said, intake.came_at_ms) else {
            return Attempt::NotTheSame;
        };
        let (mut head, _) = self.judge(stale.head.status, headers, intake);
        head.origin_status = StatusCode::NOT_MODIFIED;
        self.desk.metrics.confirmed.inc();
        Attempt::Landed(self.land(head, stale.body.clone()))
    }

    /// Something new: read to its end, shown while it comes if it is long, kept if it may be.
    async fn take(
        &self,
        answer: Response<Reply>,
        intake: Intake,
    ) -> Result<Option<Arc<Resource>>, Failure> {
        let (parts, mut body) = answer.into_parts();
        let settings = self.target.settings();
        let announced = heads::announced(&parts.headers).map_err(|()| Failure::Wrong)?;
        if announced.is_some_and(|length| length > settings.object_bytes) {
            return Err(Failure::TooLarge);
        }
        let headers = heads::received(parts.headers, intake.came_at_ms);
        let (mut head, own) = self.judge(parts.status, headers, intake);
        if let Some(own) = own {
            self.flight.set_aside(own);
        }
        if intake::is_worth_showing(announced, &head.headers) {
            self.flight.show(Arc::new(head.clone()));
        }
        intake::read(&self.flight, &mut body, settings.object_bytes).await?;
        let body = self.flight.body();
        if announced.is_some_and(|length| length != body.len() as u64) {
            return Err(Failure::Wrong);
        }
        intake::check_digests(&head.headers, &body)?;
        if parts.status != StatusCode::NO_CONTENT {
            head.headers
                .insert(header::CONTENT_LENGTH, body.len().into());
        }
        self.desk.metrics.fetched.inc();
        self.desk.metrics.fetched_bytes.inc_by(body.len() as u64);
        Ok(self.land(head, body))
    }

    /// What is to be thought of an answer; beside it the headers that only who asked first may see.
    fn judge(
        &self,
        status: StatusCode,
        mut headers: HeaderMap,
        intake: Intake,
    ) -> (Head, Option<HeaderMap>) {
        let rules = &self.target.settings().rules;
        if rules.cookies == cache::Cookies::Strip {
            headers.remove(header::SET_COOKIE);
        }
        let asked = Asked {
            method: &Method::GET,
            headers: &self.asked,
        };
        let answer = Answered {
            status,
            headers: &headers,
            asked_at_ms: intake.asked_at_ms,
            came_at_ms: intake.came_at_ms,
        };
        let judged = cache::storable(&asked, &answer, rules);
        let varies = Varies::of(&headers);
        let variant = varies.clone().unwrap_or_default().select(&self.sent);
        let mut own = None;
        let policy: Result<Policy, _> = judged.map(|storable| {
            if storable
                .without
                .iter()
                .any(|name| headers.contains_key(name))
            {
                own = Some(headers.clone());
            }
            for name in &storable.without {
                headers.remove(name);
            }
            storable.policy
        });
        let head = Head {
            status,
            headers,
            policy,
            varies,
            variant,
            origin_status: status,
        };
        (head, own)
    }

    /// Keeps it if it may be kept, and gives it to who waits. What is kept for the address now is to be written down.
    fn land(&self, head: Head, body: bytes::Bytes) -> Option<Arc<Resource>> {
        let tags = tags_of(&head.headers, &self.target.settings().tags);
        let entry = Arc::new(Entry::new(head, body, tags));
        let resource = self.keep(&entry);
        self.desk.board.land(&self.course, &self.flight);
        self.flight.land(entry);
        resource
    }

    /// Keeps it if it may be kept.
    pub(super) fn keep(&self, entry: &Arc<Entry>) -> Option<Arc<Resource>> {
        let (kept, key) = (&self.desk.kept, &self.target.key);
        let keeps = entry.head.policy.is_ok() && !self.flight.is_void();
        let most = self.target.settings().variants;
        let resource = keeps.then(|| kept.put(key, entry.clone(), &self.sent, most));
        // Purged while it was put away: whoever purges marks first and removes then.
        if keeps && self.flight.is_void() {
            kept.remove(key);
        }
        resource
    }

    /// Puts what is kept for the address on the disk, and where it is news into the depot. Others may do the same for
    /// another variant: whoever wrote what is no longer the latest writes again.
    async fn write_down(&self, mut resource: Arc<Resource>, is_news: bool) {
        const ROUNDS: usize = 8;
        let (desk, key) = (&self.desk, &self.target.key);
        for _ in 0..ROUNDS {
            desk.shelf.keep(key, &resource).await;
            match desk.kept.get(key) {
                Some(latest) if !Arc::ptr_eq(&latest, &resource) => resource = latest,
                _ => break,
            }
        }
        if self.flight.is_void() {
            desk.shelf.remove(key).await;
        } else if let Some(depot) = desk.depot.as_ref().filter(|_| is_news) {
            depot.offer(key);
        }
    }
}

/// What an answer that points elsewhere comes to; nothing if it does not, or is to be passed on.
fn redirected(target: &Target, answer: &Response<Reply>) -> Option<Attempt> {
    let points = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    if !points || !target.settings().follows {
        return None;
    }
    let reference = answer.headers().get(header::LOCATION)?;
    let next = reference
        .to_str()
        .ok()
        .and_then(|reference| target.follow(reference));
    Some(match next {
        Some(next) => Attempt::Redirected(Box::new(next)),
        None => Attempt::Failed(Failure::Redirect),
    })
}
