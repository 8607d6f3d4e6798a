//! The transport as a whole: its services, the config in force, and what all its connections share.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use arc_swap::{ArcSwap, Guard};
use concurrency_gate::{KeyReport, Notices};
use front_door::Tls;
use kernel::Kernel;
use kernel::clock::Timeline;
use kernel::pool::PoolHandle;
use kernel::reject::Reject;
use oap::{Codec, Flags, Hello};
use rate_quota::Rate;

use crate::config::TransportText;
use crate::gates::{Counter, Entry, GateLimit, Gates, OpcodeKey, Services};
use crate::metrics::Metrics;
use crate::work::Serving;

/// The protocol's name in ALPN.
const ALPN: &str = "oap/1";
/// Peers that are remembered for having been told that there is no room.
const PEERS: usize = 4_096;

/// The transport.
pub struct Transport {
    pub(crate) metrics: Metrics,
    pub(crate) timeline: Timeline,
    pub(crate) notices: Notices,
    services: Services,
    gates: Gates,
    workers: OnceLock<PoolHandle<Serving>>,
    plan: ArcSwap<Plan>,
}

/// What a config says, ready for use.
pub(crate) struct Plan {
    pub(crate) text: TransportText,
    pub(crate) counter: Counter,
    pub(crate) plain: Arc<Settings>,
    pub(crate) secure: Arc<Settings>,
}

/// The bounds of a connection, as they were when it began.
pub(crate) struct Settings {
    pub(crate) accept_rate: Option<Rate>,
    pub(crate) tls: Option<Tls>,
    pub(crate) hello: Hello,
    pub(crate) held_bytes: usize,
    pub(crate) handshake: Duration,
    pub(crate) read: Duration,
    pub(crate) write: Duration,
    pub(crate) idle: Duration,
}

impl Transport {
    /// A transport by this config for these services, or what is wrong with it.
    pub fn new(
        kernel: &Kernel,
        text: &TransportText,
        services: Services,
    ) -> Result<Arc<Self>, String> {
        let gates = Gates::new();
        let plan = Plan::new(text, &gates, &services, kernel.timeline.now())?;
        Ok(Arc::new(Self {
            metrics: Metrics::new(&kernel.registry, &services),
            timeline: kernel.timeline,
            notices: Notices::new(PEERS),
            services,
            gates,
            workers: OnceLock::new(),
            plan: ArcSwap::from_pointee(plan),
        }))
    }

    /// Makes ready for another config: once committed, its gates hold from the next request on, the rest from the next
    /// connection on.
    pub fn prepare(
        self: &Arc<Self>,
        text: &TransportText,
    ) -> Result<Box<dyn FnOnce() + Send>, String> {
        let (transport, plan) = (self.clone(), Arc::new(self.plan_by(text)?));
        Ok(Box::new(move || {
            transport.plan.store(plan.clone());
            plan.counter.renew();
        }))
    }

    fn plan_by(&self, text: &TransportText) -> Result<Plan, String> {
        Plan::new(text, &self.gates, &self.services, self.timeline.now())
    }

    /// The gates of its opcodes, those of earlier configs included, the hardest pressed first.
    pub fn gates(&self) -> Vec<(OpcodeKey, KeyReport<OpcodeKey>)> {
        self.gates.report()
    }

    /// Lets so many into the gate of an opcode at once, until the next config is in force; nothing where the opcode is
    /// not known, or the limit not allowed.
    pub fn set_gate_limit(&self, app_proto: u16, opcode: u16, limit: u32) -> Option<GateLimit> {
        let plan = self.plan();
        let entry = plan.counter.find(app_proto, opcode).ok()?;
        entry.gate.resize(limit).ok()?;
        Some(entry.limit())
    }

    /// The gates of the config whose limit is not as it says.
    pub fn limits_set(&self) -> Vec<GateLimit> {
        let plan = self.plan();
        let limits = plan.counter.entries().map(Entry::limit);
        limits.filter(|one| one.now != one.configured).collect()
    }

    /// Kills `count` workers, in the middle of whatever they do.
    #[cfg(feature = "chaos")]
    pub fn kill(&self, count: usize) {
        if let Some(workers) = self.workers.get() {
            workers.kill(count);
        }
    }

    pub(crate) fn plan(&self) -> Arc<Plan> {
        self.plan.load_full()
    }

    /// The same, for no longer than a look.
    pub(crate) fn plan_in_force(&self) -> Guard<Arc<Plan>> {
        self.plan.load()
    }

    pub(crate) fn employ(&self, workers: PoolHandle<Serving>) {
        let _employed_once = self.workers.set(workers).is_err();
    }

    pub(crate) fn workers(&self) -> Result<&PoolHandle<Serving>, Reject> {
        self.workers.get().ok_or(Reject::Degraded)
    }

    /// When each file of the TLS doors was last written. Reads from the disk.
    pub(crate) fn certificate_stamps(&self) -> Vec<SystemTime> {
        let plan = self.plan();
        let tls = plan.text.tls.as_ref();
        tls.map(|tls| tls.stamps()).unwrap_or_default()
    }

    /// Reads the certificates again, and takes them over if they can be used. Reads from the disk.
    pub(crate) fn renew_certificates(&self) -> Result<(), String> {
        let text = self.plan().text.clone();
        self.plan.store(Arc::new(self.plan_by(&text)?));
        Ok(())
    }
}

impl Plan {
    fn new(
        text: &TransportText,
        gates: &Gates,
        services: &Services,
        now: Duration,
    ) -> Result<Self, String> {
        let loaded = text.tls.as_ref().map(|tls| tls.load());
        let tls = loaded.transpose().map_err(|error| error.to_string())?;
        let settings = |tls| Settings::new(text, tls).map(Arc::new);
        Ok(Self {
            text: text.clone(),
            counter: gates.counter(services, &text.gates, now)?,
            plain: settings(None)?,
            secure: settings(tls.map(|tls| tls.speaking(ALPN)))?,
        })
    }
}

impl Settings {
    fn new(text: &TransportText, tls: Option<Tls>) -> Result<Self, String> {
        let ms = Duration::from_millis;
        let accept_rate = match text.limits.accepts_per_ip {
            0 => None,
            rate => Some(Rate::new(rate, ms(1_000)).map_err(|error| error.to_string())?),
        };
        Ok(Self {
            accept_rate,
            tls,
            hello: Hello {
                ua: concat!("macronode/", env!("CARGO_PKG_VERSION")).to_owned(),
                max_frame: text.limits.frame_bytes,
                max_inflight: text.limits.inflight,
                window: text.limits.window_bytes,
                flags: Flags::ALL.bits(),
                codecs: Codec::ALL.to_vec(),
                ..Hello::default()
            },
            held_bytes: text.limits.held_bytes,
            handshake: ms(text.timeouts.handshake_ms),
            read: ms(text.timeouts.read_ms),
            write: ms(text.timeouts.write_ms),
            idle: ms(text.timeouts.idle_ms),
        })
    }
}
