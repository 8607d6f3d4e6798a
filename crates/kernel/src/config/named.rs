//! Looks at the files that the config names: who writes one of them has changed the config.

use std::path::PathBuf;

use strict_config::Stamp;

use super::ReloadRequests;
use crate::blocking::Blocking;

/// Asks for a reload when one of them was written.
pub(super) struct NamedFiles {
    requests: ReloadRequests,
    blocking: Blocking,
    /// For which state of theirs a reload was asked last: one that changed nothing, or failed, is not asked for again.
    asked: Option<Vec<Stamp>>,
}

impl NamedFiles {
    pub(super) fn new(requests: ReloadRequests, blocking: Blocking) -> Self {
        Self {
            requests,
            blocking,
            asked: None,
        }
    }

    /// Compares them with what they were like when the config in force was read.
    pub(super) async fn look(&mut self, files: Vec<(PathBuf, Stamp)>) {
        if files.is_empty() {
            return;
        }
        let look = move || {
            let stamps = files.iter().map(|(path, _)| Stamp::of(path));
            let now: Vec<_> = stamps.collect();
            let same = files.iter().zip(&now).all(|((_, then), now)| then == now);
            (now, same)
        };
        // A pool that is busy is asked again at the next look.
        let Ok((now, same)) = self.blocking.run(look).await else {
            return;
        };
        if !same && self.asked.as_ref() != Some(&now) {
            self.asked = Some(now);
            self.requests.request();
        }
    }
}
