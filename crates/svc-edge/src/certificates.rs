//! The certificates of the TLS doors, renewed when their files change.

use std::sync::Arc;
use std::time::SystemTime;

use crate::edge::Edge;

/// What the files were when they were last looked at.
#[derive(Default)]
pub(crate) struct Certificates {
    stamps: Option<Vec<SystemTime>>,
}

impl Certificates {
    /// Has the certificates read again if a file of theirs was written to. What cannot be used changes nothing.
    pub(crate) async fn look(&mut self, edge: &Arc<Edge>) {
        let Some(tls) = edge.plan().text.tls.clone() else {
            return;
        };
        let disk = &edge.shared.disk;
        let Ok(now) = disk.run(move || tls.stamps()).await else {
            return;
        };
        let before = self.stamps.replace(now);
        if before.is_none() || before == self.stamps {
            return;
        }
        let edge = edge.clone();
        match edge
            .shared
            .disk
            .clone()
            .run(move || edge.renew_certificates())
            .await
        {
            Ok(Ok(())) => tracing::info!("the edge's certificates are renewed"),
            Ok(Err(error)) => tracing::error!(error, "the edge keeps its certificates"),
            Err(_) => tracing::warn!("the disk is too busy to read certificates"),
        }
    }
}
