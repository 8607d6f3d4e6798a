//! Origins made from a config, and made over by the next one.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use concurrency_gate::BreakerConfig;
use http_rules::forward::Node;
use ipnet::IpNet;
use kernel::Kernel;
use kernel::blocking::Blocking;
use kernel::config::Commit;
use strict_config::masked_url;
use upstream::{Allow, ClientTls, EndpointSpec, Pool, PoolSpec, TlsText};
use verified_store::Store;

use crate::config::{OriginText, S3Text};
use crate::flight::{Board, Desk};

use super::Origins;
use super::clock::Clock;
use super::depot::Depot;
use super::kept::Kept;
use super::metrics::{OriginMetrics, sample};
use super::mount::{Mount, Origin, Settings};
use super::shelf::Shelf;

/// What fetches under way may hold together, where memory is set to less.
const COMING_BYTES: u64 = 64 * 1024 * 1024;

impl Origins {
    /// No origins yet. `store` and `s3` are where answers outlive the node, if they are to.
    pub(crate) fn new(
        kernel: &Kernel,
        disk: &Blocking,
        store: Option<Store>,
        s3: Option<&S3Text>,
        memory_bytes: u64,
    ) -> Result<Arc<Self>, String> {
        let unique = format!("macronode-{:08x}", fastrand::u32(..));
        let clock = Arc::new(Clock::start());
        let depot = s3
            .map(|text| Depot::new(kernel, disk, &clock, text))
            .transpose();
        let desk = Desk {
            kept: Kept::new(memory_bytes),
            board: Board::new(memory_bytes.max(COMING_BYTES)),
            shelf: Shelf::new(store, disk.clone(), &clock),
            clock,
            depot: depot.map_err(|error| format!("store.s3: {error}"))?,
            node: Node::new(&unique).expect("letters, digits and a hyphen are a token"),
            metrics: OriginMetrics::new(&kernel.registry),
        };
        let desk = Arc::new(desk);
        sample(&desk, &kernel.registry);
        Ok(Arc::new(Self {
            desk,
            mounts: ArcSwap::default(),
            workers: OnceLock::new(),
            alone: AtomicU64::new(0),
        }))
    }

    /// Makes these ready, to be asked from the next request on. Hosts that stay keep their connections; what is kept
    /// stays as well.
    pub(crate) fn prepare(
        self: &Arc<Self>,
        kernel: &Kernel,
        disk: &Blocking,
        texts: &[OriginText],
    ) -> Result<Commit, String> {
        let before = self.mounts.load_full();
        let mut mounts = Vec::with_capacity(texts.len());
        let mut renewals = Vec::new();
        for text in texts {
            let known = before.iter().find(|mount| *mount.name == *text.name);
            let mount = mount(kernel, disk, text, known, &mut renewals)?;
            mounts.push(Arc::new(mount));
        }
        mounts.sort_by_key(|mount| std::cmp::Reverse(mount.prefix.len()));
        let origins = self.clone();
        Ok(Box::new(move || {
            for (pool, spec) in renewals {
                pool.update(spec);
            }
            origins.mounts.store(Arc::new(mounts));
        }))
    }

    /// All of them, the longest mounts first.
    pub(crate) fn mounts(&self) -> Arc<Vec<Arc<Mount>>> {
        self.mounts.load_full()
    }
}

fn mount(
    kernel: &Kernel,
    disk: &Blocking,
    text: &OriginText,
    known: Option<&Arc<Mount>>,
    renewals: &mut Vec<(Arc<Pool>, PoolSpec)>,
) -> Result<Mount, String> {
    let mut origins = Vec::new();
    for url in text.to.iter().chain(&text.hosts) {
        let endpoint =
            EndpointSpec::parse(url).map_err(|error| format!("{}: {error}", masked_url(url)))?;
        let spec = pool_spec(text, endpoint.clone())?;
        let same = |origin: &&Origin| origin.authority == endpoint.authority().to_ascii_lowercase();
        let pool = match known.and_then(|mount| mount.origins.iter().find(same)) {
            Some(origin) => {
                renewals.push((origin.pool.clone(), spec));
                origin.pool.clone()
            }
            None => Pool::new(spec, &kernel.registry, disk.clone()),
        };
        origins.push(Origin::of(&endpoint, pool));
    }
    Ok(Mount {
        name: text.name.as_str().into(),
        prefix: text.mount.trim_end_matches('/').to_owned(),
        by_host: text.to.is_none(),
        origins,
        settings: Settings::new(text)?,
    })
}

/// Public addresses only, and the networks that are listed; what a name leads to is checked when it is dialled.
fn pool_spec(text: &OriginText, endpoint: EndpointSpec) -> Result<PoolSpec, String> {
    let network = |text: &String| {
        let parsed = text.parse::<IpNet>();
        parsed.map_err(|error| format!("`{text}` is no network: {error}"))
    };
    let exceptions: Vec<IpNet> = text
        .private_networks
        .iter()
        .map(network)
        .collect::<Result<_, _>>()?;
    let tls = endpoint.is_secure().then(|| trust(text.ca.as_deref()));
    let tls = tls.transpose()?;
    Ok(PoolSpec {
        tls,
        allow: Allow::PublicOnly {
            exceptions: exceptions.into(),
        },
        // An origin that says it is not well has answered; only one that does not answer is left alone.
        failure_statuses: Vec::new(),
        passive: left_alone(),
        slow_start: Duration::ZERO,
        ..PoolSpec::new(text.name.as_str(), vec![endpoint])
    })
}

/// Half of twenty or more within ten seconds: a few addresses that always fail are no reason to leave all others alone.
fn left_alone() -> BreakerConfig {
    BreakerConfig {
        open_for: Duration::from_secs(2),
        ramp: Duration::from_secs(5),
        ..BreakerConfig::ratio()
    }
}

/// Who may sign: those in the file, else whom the system trusts.
pub(super) fn trust(ca: Option<&str>) -> Result<ClientTls, String> {
    let (roots, from) = match ca {
        Some(file) => (std::fs::read(file), file),
        None => (ClientTls::system_roots(), "the system's certificates"),
    };
    let roots = roots.map_err(|error| format!("{from}: {error}"))?;
    let text = TlsText {
        roots: &roots,
        ..TlsText::default()
    };
    ClientTls::new(text).map_err(|error| format!("{from}: {error}"))
}
