//! Forgetting on demand: by address, by the beginning of addresses, by tag. Whatever was under way is not kept either.

use std::sync::Arc;

use http::Uri;

use crate::flight::Desk;

use super::Origins;
use super::depot::Depot;
use super::mount::Mount;

/// What is to be forgotten. Addresses are paths as clients ask for them, query included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purge {
    /// One address, all its variants.
    Url(String),
    /// All addresses that begin so.
    Prefix(String),
    /// All answers that carried this tag.
    Tag(String),
}

impl Origins {
    /// Forgets, and says of how many addresses. Once this has returned nobody gets what was kept before it was called.
    pub(crate) async fn purge(&self, purge: &Purge) -> u64 {
        let count = match purge {
            Purge::Url(path) => match self.key_of(path) {
                Some(key) => {
                    let only = key.clone();
                    self.forget(Some(&only), move |known| known == key).await
                }
                None => 0,
            },
            Purge::Prefix(path) => match self.key_of(path) {
                Some(key) => {
                    self.forget(None, move |known| known.starts_with(&key))
                        .await
                }
                None => 0,
            },
            Purge::Tag(tag) => self.forget_tag(tag).await,
        };
        self.desk.metrics.purged.inc_by(count);
        count
    }

    /// Forgets what `gone` picks. `only` is the one address it can be.
    async fn forget(
        &self,
        only: Option<&str>,
        gone: impl Fn(&str) -> bool + Clone + Send + 'static,
    ) -> u64 {
        let desk = &self.desk;
        // Closed before anything goes, so that nothing comes back from there.
        let depot = desk.depot.as_ref().map(Depot::close);
        desk.board.make_void(&gone);
        let on_disk = gone.clone();
        let on_disk = desk.shelf.forget(move |key, _| on_disk(key)).await;
        let in_memory = desk.kept.forget(|key, _| gone(key));
        let afar = match depot {
            Some(depot) => depot.forget(only, |key, _| gone(key)).await,
            None => 0,
        };
        on_disk.max(in_memory).max(afar)
    }

    /// What is under way may turn out to carry the tag, so none of it is kept.
    async fn forget_tag(&self, tag: &str) -> u64 {
        let desk = &self.desk;
        let depot = desk.depot.as_ref().map(Depot::close);
        desk.board.make_void(|_| true);
        let wanted: Box<str> = tag.into();
        let on_disk = desk
            .shelf
            .forget(move |_, tags| tags.contains(&wanted))
            .await;
        let has = |tags: &[Box<str>]| tags.iter().any(|known| **known == *tag);
        let in_memory = desk.kept.forget(|_, resource| {
            let mut entries = resource.variants.iter();
            entries.any(|entry| has(&entry.tags))
        });
        let afar = match depot {
            Some(depot) => depot.forget(None, |_, tags| has(tags)).await,
            None => 0,
        };
        on_disk.max(in_memory).max(afar)
    }

    /// The key that a path is kept under. A mount that is not named whole has none.
    fn key_of(&self, path: &str) -> Option<String> {
        let uri: Uri = path.parse().ok()?;
        let mount = self.find(uri.path())?;
        if mount.by_host && is_bare(&mount, uri.path()) {
            return Some(format!("{} ", mount.name));
        }
        mount.target(&uri).ok().map(|target| target.key.to_string())
    }
}

impl Desk {
    /// Forgets one address, wherever it is kept.
    pub(super) async fn forget_one(&self, key: &Arc<str>) {
        let leaving = self.depot.as_ref().map(|depot| depot.leave(key));
        self.board.make_void(|known| *known == **key);
        self.kept.remove(key);
        self.shelf.remove(key).await;
        // Once more: somebody may have brought it back from the disk before it was gone there.
        self.kept.remove(key);
        if let (Some(depot), Some(leaving)) = (&self.depot, leaving) {
            depot.remove(leaving);
        }
    }
}

/// The mount itself, without a host behind it.
fn is_bare(mount: &Mount, path: &str) -> bool {
    mount
        .behind(path)
        .is_some_and(|rest| matches!(rest, "" | "/"))
}
