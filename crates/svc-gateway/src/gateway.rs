//! The gateway as a whole: the plan in force, its doors, its children.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use bytes::Bytes;
use front_door::{DoorSettings, Fault, InPlace, ProxyProtocol, Service, Timeouts, Visit};
use http::Response;
use http_rules::request_id;
use kernel::Kernel;
use kernel::config::Commit;

use crate::body::Answer;
use crate::config::GatewayText;
use crate::journey::line;
use crate::plan::Plan;
use crate::reject::Refusal;
use crate::shared::Shared;
use crate::{request, respond};

/// The gateway.
pub struct Gateway {
    pub(crate) shared: Arc<Shared>,
    plan: ArcSwap<Plan>,
    plain: ArcSwap<DoorSettings>,
    secure: ArcSwap<DoorSettings>,
    /// It has once been said to be ready: a strict boot is over.
    pub(crate) booted: AtomicBool,
}

impl Gateway {
    /// A gateway by this config, or what is wrong with it.
    pub fn new(kernel: &Kernel, text: &GatewayText) -> Result<Arc<Self>, String> {
        let shared = Shared::new(kernel)?;
        let (plan, _) = Plan::new(&shared, text, None)?;
        let (plain, secure) = doors(text)?;
        Ok(Arc::new(Self {
            shared,
            plan: ArcSwap::from_pointee(plan),
            plain: ArcSwap::from_pointee(plain),
            secure: ArcSwap::from_pointee(secure),
            booted: AtomicBool::new(false),
        }))
    }

    /// Makes ready for another config, or says why it cannot be followed. It holds from the next request after the
    /// commit on; what is under way keeps the one it began with.
    pub fn prepare(self: &Arc<Self>, text: &GatewayText) -> Result<Commit, String> {
        let (plain, secure) = doors(text)?;
        let (plan, renewals) = Plan::new(&self.shared, text, Some(&self.plan.load()))?;
        let gateway = self.clone();
        Ok(Box::new(move || {
            plan.renew(renewals);
            let plan = Arc::new(plan);
            gateway.plan.store(plan.clone());
            plan.show();
            gateway.plain.store(Arc::new(plain));
            gateway.secure.store(Arc::new(secure));
        }))
    }

    /// The limits that were found, each as a number and the name of its upstream, on a line of its own: for a process
    /// that [goes on from them](Self::go_on_from).
    pub fn found_limits(&self) -> String {
        let plan = self.plan();
        let found = plan.backends.iter().filter_map(|backend| {
            let slots = &backend.body.slots;
            let told = slots.finds_limit() && !backend.name.contains(char::is_control);
            told.then(|| format!("{} {}\n", slots.limit(), backend.name))
        });
        found.collect()
    }

    /// Goes on from the limits that another process has found for upstreams of these names: to begin anew would refuse
    /// what was answered a moment before.
    pub fn go_on_from(&self, found: &str) {
        let plan = self.plan();
        for (limit, name) in found.lines().filter_map(|line| line.split_once(' ')) {
            let backend = plan.backend(name);
            if let (Ok(limit), Some(backend)) = (limit.parse(), backend) {
                backend.body.slots.go_on_from(limit);
            }
        }
    }

    pub(crate) fn plan(&self) -> Arc<Plan> {
        self.plan.load_full()
    }

    pub(crate) fn plain_door(&self) -> Arc<DoorSettings> {
        self.plain.load_full()
    }

    pub(crate) fn secure_door(&self) -> Arc<DoorSettings> {
        self.secure.load_full()
    }

    /// When each file of the TLS doors was last written.
    pub(crate) fn certificate_stamps(&self) -> Vec<SystemTime> {
        let plan = self.plan();
        let tls = plan.text.tls.as_ref();
        tls.map(|tls| tls.stamps()).unwrap_or_default()
    }

    /// Reads the certificates again, and takes them over if they can be used.
    pub(crate) fn renew_certificates(&self) -> Result<(), String> {
        let text = self.plan().text.clone();
        let (_, secure) = doors(&text)?;
        self.secure.store(Arc::new(secure));
        Ok(())
    }

    /// Where it listens for plain and for TLS connections, as configured.
    pub fn addresses(text: &GatewayText) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        let secure = text.tls.as_ref().map(|tls| tls.listen.clone());
        (text.listen.clone(), secure.unwrap_or_default())
    }
}

fn doors(text: &GatewayText) -> Result<(DoorSettings, DoorSettings), String> {
    let ms = Duration::from_millis;
    let plain = DoorSettings {
        max_connections: text.limits.connections,
        streams_per_connection: text.limits.streams,
        timeouts: Timeouts {
            handshake: ms(text.timeouts.handshake_ms),
            head: ms(text.timeouts.head_ms),
            body: ms(text.timeouts.body_ms),
            write: ms(text.timeouts.write_ms),
            idle: ms(text.timeouts.idle_ms),
        },
        proxy_protocol: match text.proxy_protocol {
            true => ProxyProtocol::Accept {
                trusted: text.trusted(),
            },
            false => ProxyProtocol::Off,
        },
        ..DoorSettings::default()
    };
    plain
        .with_accepts_per_ip(text.limits.accepts_per_ip)?
        .plain_and_secure(text.tls.as_ref())
}

impl Service for Gateway {
    type Body = Answer;

    fn kept_waiting(body: Pin<&mut Answer>) {
        body.get_mut().kept_waiting();
    }

    fn call(
        &self,
        request: InPlace<'_>,
        visit: &Visit,
    ) -> impl Future<Output = Response<Answer>> + Send {
        #[cfg(feature = "chaos")]
        let killed = crate::chaos::kill(&self.shared, request.get());
        let answer = request::answer(self.plan(), request, visit);
        #[cfg(feature = "chaos")]
        let answer = crate::chaos::instead(killed, answer);
        answer
    }

    fn refuse(&self, fault: Fault, visit: &Visit) -> Response<Bytes> {
        let refusal = match fault {
            Fault::Malformed => Refusal::Malformed,
            Fault::HeadTooLarge => Refusal::HeadTooLarge,
            Fault::TargetTooLong => Refusal::TargetTooLong,
            Fault::Panic => Refusal::Internal,
        };
        self.shared.metrics.rejected(refusal.reason());
        let id = request_id::make([fastrand::u64(..), fastrand::u64(..)]);
        let name = id.to_str().unwrap_or("");
        line::at_door(&self.plan(), &refusal, name, visit);
        let mut answer = respond::problem(&refusal, name);
        answer.headers_mut().insert(request_id::NAME, id);
        answer
    }
}
