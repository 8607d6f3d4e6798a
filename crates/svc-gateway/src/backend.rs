//! An upstream as the gateway keeps it: its endpoints, its places, its retry budget. Outlives configs that name it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use concurrency_gate::{BreakerConfig, Trip};
use http::HeaderName;
use kernel::clock::Timeline;
use strict_config::masked_url;
use upstream::{Balance, ClientTls, EndpointSpec, Health, Lent, Pool, PoolSpec, Protocol, TlsText};

use crate::budget::RetryBudget;
use crate::config::{self, ClassesText, GatewayText, UpstreamText};
use crate::labels::{Label, UPSTREAMS};
use crate::metrics::UpstreamMetrics;
use crate::plan::Plan;
use crate::shared::Shared;
use crate::slots::{Limit, Slots};

/// Failures in a row that open a breaker, when they last for a tenth of its window: a few that break off at once beside
/// much that goes well are no reason to.
const ROW: u32 = 5;

/// An upstream as one config sees it.
pub(crate) struct Backend {
    pub(crate) name: String,
    /// Whose value decides where a request goes.
    pub(crate) hash_header: Option<HeaderName>,
    pub(crate) hashes: bool,
    /// Requests share connections that may end while some of them are on their way, unheard.
    pub(crate) shares: bool,
    pub(crate) label: Label,
    pub(crate) metrics: UpstreamMetrics,
    pub(crate) body: Arc<Lasting>,
}

/// What of an upstream outlives a config.
pub(crate) struct Lasting {
    pub(crate) pool: Arc<Pool>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) budget: RetryBudget,
    pub(crate) timeline: Timeline,
    pub(crate) usual: Usual,
}

impl Lasting {
    /// Whether a request that has a place finds a connection, sooner or later.
    pub(crate) fn has_room(&self) -> bool {
        self.pool.room() != Some(0)
    }

    /// Over HTTP/1 each request needs a connection to itself: more places than connections would have requests refused
    /// that could have waited for their turn.
    pub(crate) fn follow_room(&self) {
        let room = self.pool.room().map(u32::try_from);
        self.slots
            .set_ceiling(room.and_then(Result::ok).unwrap_or(u32::MAX));
    }
}

/// A connection that goes on without a place, until this is dropped.
pub(crate) struct Kept {
    lent: Option<Lent>,
    by: Arc<Lasting>,
}

impl Kept {
    /// Said before the place is free: whoever gets that is to find a connection.
    pub(crate) fn begin(lent: Lent, by: &Arc<Lasting>) -> Self {
        by.follow_room();
        Self {
            lent: Some(lent),
            by: by.clone(),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.lent.take());
        self.by.follow_room();
    }
}

/// How long its requests usually hold a place: the measure of what one costs.
#[derive(Debug, Default)]
pub(crate) struct Usual(AtomicU64);

impl Usual {
    /// Takes one more into account, a sixteenth of the way. A lost race loses one sample.
    pub(crate) fn note(&self, hold: Duration) {
        let hold = hold.as_nanos().min(u128::from(u64::MAX)) as u64;
        let known = self.0.load(Ordering::Relaxed);
        let next = match known {
            0 => hold,
            _ => known - known / 16 + hold / 16,
        };
        self.0.store(next.max(1), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

impl Backend {
    /// All upstreams of a config, and what is to become of those that were there before, once all else is known to be
    /// well. They keep connections, places, breakers and budgets.
    pub(crate) fn all(
        shared: &Arc<Shared>,
        text: &GatewayText,
        before: Option<&Plan>,
    ) -> Result<(Vec<Arc<Self>>, Vec<Renewal>), String> {
        let mut renewals = Vec::new();
        let short = text.to.as_ref().map(|to| ("main", UpstreamText::to(to)));
        let short = short.iter().map(|(name, upstream)| (*name, upstream));
        let named = text
            .upstreams
            .iter()
            .map(|(name, upstream)| (name.as_str(), upstream));
        let all: Vec<_> = short.chain(named).collect();
        let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
        let known = |name: &str| before.and_then(|plan| plan.backend(name));
        let had = |name: &str| known(name).map(|backend| backend.label);
        // Who only has another name can do as much as it could.
        let found = |upstream| before?.found_for(upstream);
        let before = |name: &str, upstream| (known(name), found(upstream));
        let labels = shared.metrics.labels(&names, UPSTREAMS, had);
        let backends: Result<_, String> = all
            .into_iter()
            .zip(labels)
            .map(|((name, upstream), label)| {
                let (backend, renewal) = Self::new(
                    shared,
                    text,
                    (name, label),
                    upstream,
                    before(name, upstream),
                )?;
                renewals.extend(renewal);
                Ok(Arc::new(backend))
            })
            .collect();
        Ok((backends?, renewals))
    }

    fn new(
        shared: &Arc<Shared>,
        gateway: &GatewayText,
        (name, label): (&str, Label),
        text: &UpstreamText,
        (known, found): (Option<&Arc<Self>>, Option<u32>),
    ) -> Result<(Self, Option<Renewal>), String> {
        let spec = pool_spec(name, text)?;
        let limit = match (text.limit, text.adaptive) {
            (Some(limit), true) => Limit::UpTo(limit),
            (Some(limit), false) => Limit::Fixed(limit),
            (None, _) => Limit::Found(text.max_limit),
        };
        let (body, renewal) = match known {
            Some(known) => {
                let body = known.body.clone();
                let renewal = Renewal {
                    body: body.clone(),
                    spec,
                    limit,
                };
                (body, Some(renewal))
            }
            None => {
                let slots = Slots::new(limit, &gateway.classes, &gateway.queue, shared.timeline);
                if let Some(found) = found {
                    slots.go_on_from(found);
                }
                let body = Arc::new(Lasting {
                    pool: Pool::new(spec, &shared.kernel.registry, shared.blocking.clone()),
                    slots,
                    budget: RetryBudget::default(),
                    timeline: shared.timeline,
                    usual: Usual::default(),
                });
                body.follow_room();
                (body, None)
            }
        };
        let backend = Self {
            name: name.to_owned(),
            hash_header: text.hash_header.as_ref().and_then(|name| name.parse().ok()),
            hashes: text.balance == config::Balance::Hash,
            shares: text.protocol == config::UpstreamProtocol::Http2,
            label,
            metrics: shared.metrics.upstream(label),
            body,
        };
        Ok((backend, renewal))
    }
}

/// What becomes of an upstream that was there before.
pub(crate) struct Renewal {
    body: Arc<Lasting>,
    spec: PoolSpec,
    limit: Limit,
}

impl Renewal {
    pub(crate) fn apply(self, classes: &ClassesText) {
        self.body.pool.update(self.spec);
        self.body.slots.set_limit(self.limit);
        self.body.follow_room();
        self.body.slots.set_classes(classes);
    }
}

fn pool_spec(name: &str, text: &UpstreamText) -> Result<PoolSpec, String> {
    let ms = Duration::from_millis;
    let endpoints: Result<Vec<EndpointSpec>, String> = text
        .endpoints
        .iter()
        .enumerate()
        .map(|(index, url)| {
            let parsed = EndpointSpec::parse(url)
                .map_err(|error| format!("{}: {error}", masked_url(url)))?;
            let weight = text.weights.get(index).copied().unwrap_or(1);
            Ok(parsed.weighing(weight))
        })
        .collect();
    let endpoints = endpoints?;
    Ok(PoolSpec {
        balance: match text.balance {
            config::Balance::PeakEwma => Balance::PeakEwma,
            config::Balance::RoundRobin => Balance::RoundRobin,
            config::Balance::LeastRequest => Balance::LeastRequest,
            config::Balance::Hash => Balance::Hash,
        },
        protocol: match text.protocol {
            config::UpstreamProtocol::Http1 => Protocol::Http1,
            config::UpstreamProtocol::Http2 => Protocol::H2,
        },
        tls: trust(text)?,
        connect_timeout: ms(text.connect_ms),
        idle_time: ms(text.idle_ms),
        max_connections: text.connections,
        health: text.health.as_ref().map(|health| Health {
            path: health.path.as_str().into(),
            every: ms(health.every_ms),
            timeout: ms(health.timeout_ms),
            healthy_after: health.up_after,
            unhealthy_after: health.down_after,
        }),
        passive: BreakerConfig {
            trip: Trip::RatioOrRow {
                threshold: text.breaker.failures,
                min_samples: text.breaker.samples,
                row: ROW,
                lasting: ms(text.breaker.window_ms) / 10,
            },
            window: ms(text.breaker.window_ms),
            open_for: ms(text.breaker.open_ms),
            ..upstream::passive()
        },
        slow_start: ms(text.slow_start_ms),
        dns_every: ms(text.dns_ms),
        ..PoolSpec::new(name, endpoints)
    })
}

/// Whom its endpoints must be signed by, where they are to be encrypted to; or what is wrong with the file.
pub(crate) fn trust(text: &UpstreamText) -> Result<Option<ClientTls>, String> {
    let secure = text.endpoints.iter().any(|url| url.starts_with("https:"));
    match (secure, &text.ca) {
        (false, _) => Ok(None),
        (true, Some(file)) => client_tls(std::fs::read(file), file).map(Some),
        (true, None) => system_tls().map(Some),
    }
}

/// TLS that trusts whom the system trusts.
pub(crate) fn system_tls() -> Result<ClientTls, String> {
    client_tls(ClientTls::system_roots(), "the system's certificates")
}

fn client_tls(roots: std::io::Result<Vec<u8>>, from: &str) -> Result<ClientTls, String> {
    let roots = roots.map_err(|error| format!("{from}: {error}"))?;
    let text = TlsText {
        roots: &roots,
        ..TlsText::default()
    };
    ClientTls::new(text).map_err(|error| format!("{from}: {error}"))
}
