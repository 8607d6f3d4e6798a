//! The edge as a whole: the plan in force, its doors, its children.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use front_door::{DoorSettings, Fault, InPlace, Sealed, Service, Timeouts, Visit};
use http::Response;
use http_rules::request_id;
use kernel::Kernel;
use kernel::config::Commit;

use crate::asset;
use crate::body::EdgeBody;
use crate::config::EdgeText;
use crate::plan::Plan;
use crate::reject::Refusal;
use crate::respond;
use crate::shared::Shared;

/// The edge.
pub struct Edge {
    pub(crate) shared: Arc<Shared>,
    plan: ArcSwap<Plan>,
    plain: ArcSwap<DoorSettings>,
    secure: ArcSwap<DoorSettings>,
}

impl Edge {
    /// An edge by this config, or what is wrong with it. The process may have so many files open.
    pub fn new(kernel: &Kernel, text: &EdgeText, open_files: u64) -> Result<Arc<Self>, String> {
        let (plain, secure) = doors(text)?;
        Ok(Arc::new(Self {
            shared: Shared::new(kernel, text, open_files)?,
            plan: ArcSwap::from_pointee(Plan::new(text)?),
            plain: ArcSwap::from_pointee(plain),
            secure: ArcSwap::from_pointee(secure),
        }))
    }

    /// Makes ready for another config, or says why it cannot be followed. It holds from the next request after the
    /// commit on; what is under way keeps the one it began with.
    pub fn prepare(self: &Arc<Self>, text: &EdgeText) -> Result<Commit, String> {
        let ((plain, secure), plan) = (doors(text)?, Plan::new(text)?);
        let shared = self.shared.prepare(text)?;
        let edge = self.clone();
        Ok(Box::new(move || {
            shared();
            edge.plan.store(Arc::new(plan));
            edge.plain.store(Arc::new(plain));
            edge.secure.store(Arc::new(secure));
        }))
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

    /// Reads the certificates again, and takes them over if they can be used. Reads from the disk.
    pub(crate) fn renew_certificates(&self) -> Result<(), String> {
        let (_, secure) = doors(&self.plan().text)?;
        self.secure.store(Arc::new(secure));
        Ok(())
    }

    /// Where it listens for plain and for TLS connections, as configured.
    pub fn addresses(text: &EdgeText) -> (Vec<SocketAddr>, Vec<SocketAddr>) {
        let secure = text.tls.as_ref().map(|tls| tls.listen.clone());
        (text.listen.clone(), secure.unwrap_or_default())
    }
}

fn doors(text: &EdgeText) -> Result<(DoorSettings, DoorSettings), String> {
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
        ..DoorSettings::default()
    };
    plain
        .with_accepts_per_ip(text.limits.accepts_per_ip)?
        .plain_and_secure(text.tls.as_ref())
}

impl Service for Edge {
    type Body = EdgeBody;

    async fn call(&self, request: InPlace<'_>, visit: &Visit) -> Response<EdgeBody> {
        asset::answer(&self.shared, &self.plan(), request.take(), visit).await
    }

    fn sealed(body: &EdgeBody) -> Option<&Sealed> {
        body.sealed()
    }

    fn refuse(&self, fault: Fault, _visit: &Visit) -> Response<Bytes> {
        let refusal = match fault {
            Fault::Malformed => Refusal::Malformed,
            Fault::HeadTooLarge => Refusal::HeadTooLarge,
            Fault::TargetTooLong => Refusal::TargetTooLong,
            Fault::Panic => Refusal::Internal,
        };
        self.shared.metrics.refused(&refusal);
        let id = request_id::make([fastrand::u64(..), fastrand::u64(..)]);
        respond::refusal(&refusal, id)
    }
}
