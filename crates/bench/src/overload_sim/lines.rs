//! The queues that are compared: those of others, written down shortly, and ours as it is.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use fair_queue::{Class, Queue, Settings, Work};

use super::crowd::{NOISY, Request, TENANTS};

/// In what order waiting requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Discipline {
    /// First come, first served, all of them.
    Unbounded,
    /// The same with room for [`BOUND`].
    Fifo,
    /// Ranks that somebody configured before it was known who would be noisy.
    Priority,
    /// The fewer requests a tenant has, the sooner: what an expert makes of a stick table.
    ByLoad,
    /// Ours with its default settings, told the highest cost.
    Drr,
}

/// Requests that may wait.
pub(crate) const BOUND: usize = 512;

impl Discipline {
    pub(crate) const ALL: [Self; 5] = [
        Self::Unbounded,
        Self::Fifo,
        Self::Priority,
        Self::ByLoad,
        Self::Drr,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unbounded => "FIFO, no bound",
            Self::Fifo => "FIFO 512",
            Self::Priority => "strict priority",
            Self::ByLoad => "priority by load",
            Self::Drr => "DRR (ours)",
        }
    }

    pub(crate) fn line(self, max_cost: u32) -> Box<dyn Line> {
        match self {
            Self::Unbounded => Box::new(Fifo {
                waiting: VecDeque::new(),
                bound: usize::MAX,
            }),
            Self::Fifo => Box::new(Fifo {
                waiting: VecDeque::new(),
                bound: BOUND,
            }),
            Self::Priority => Box::new(Ranked::by(|tenant, _| rank(tenant))),
            Self::ByLoad => Box::new(Ranked::by(|tenant, held| held[tenant])),
            Self::Drr => {
                let settings = Settings {
                    quantum: max_cost.into(),
                    max_cost: max_cost.into(),
                    ..Settings::default()
                };
                Box::new(Drr(Queue::new(settings).expect("settings are valid")))
            }
        }
    }
}

/// Every other tenant stands above the last one, the others below.
fn rank(tenant: usize) -> u32 {
    match tenant {
        NOISY => 1,
        polite if polite % 2 == 0 => 0,
        _ => 2,
    }
}

/// Where requests wait for the origin. Who is turned away is just gone.
pub(crate) trait Line {
    fn push(&mut self, request: Request, now: Duration);
    fn pop(&mut self, now: Duration) -> Option<Request>;
    /// The origin is done with a request of the tenant.
    fn done(&mut self, _tenant: usize) {}
}

/// Does not notice that a client has gone.
struct Fifo {
    waiting: VecDeque<Request>,
    bound: usize,
}

impl Line for Fifo {
    fn push(&mut self, request: Request, _: Duration) {
        if self.waiting.len() < self.bound {
            self.waiting.push_back(request);
        }
    }

    fn pop(&mut self, _: Duration) -> Option<Request> {
        self.waiting.pop_front()
    }
}

/// Lowest rank first, in order of arrival within it. Made as good as such a queue can be: the last
/// in line makes room for a better one, and those who could not be answered in time are passed over.
struct Ranked<F> {
    rank: F,
    waiting: BTreeMap<(u32, u64), Request>,
    arrivals: u64,
    /// Waiting or with the origin, per tenant.
    held: [u32; TENANTS],
}

impl<F: Fn(usize, &[u32; TENANTS]) -> u32> Ranked<F> {
    fn by(rank: F) -> Self {
        Self {
            rank,
            waiting: BTreeMap::new(),
            arrivals: 0,
            held: [0; TENANTS],
        }
    }
}

impl<F: Fn(usize, &[u32; TENANTS]) -> u32> Line for Ranked<F> {
    fn push(&mut self, request: Request, _: Duration) {
        let rank = (self.rank)(request.tenant, &self.held);
        self.held[request.tenant] += 1;
        self.waiting.insert((rank, self.arrivals), request);
        self.arrivals += 1;
        if self.waiting.len() > BOUND
            && let Some((_, last)) = self.waiting.pop_last()
        {
            self.held[last.tenant] -= 1;
        }
    }

    fn pop(&mut self, now: Duration) -> Option<Request> {
        loop {
            let (_, request) = self.waiting.pop_first()?;
            if now < request.begin_by() {
                return Some(request);
            }
            self.held[request.tenant] -= 1;
        }
    }

    fn done(&mut self, tenant: usize) {
        self.held[tenant] -= 1;
    }
}

struct Drr(Queue<Request>);

impl Line for Drr {
    fn push(&mut self, request: Request, now: Duration) {
        let work = Work::of(Class::AUTHED, request.tenant as u64)
            .cost(request.cost.into())
            .weight(request.weight)
            .deadline(request.begin_by());
        // A refusal is an answer like any other here: the client does not get what it asked for.
        let _ = self.0.push(work, request, now, |_, _| ());
    }

    fn pop(&mut self, now: Duration) -> Option<Request> {
        self.0.pop(now, |_, _| ()).map(|next| next.item)
    }
}
