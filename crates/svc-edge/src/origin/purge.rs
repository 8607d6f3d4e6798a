//! Forgetting on demand: by address, by the beginning of addresses, by tag. Whatever was under way is not kept either.

use http::Uri;

use super::Origins;
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
                Some(key) => self.forget(move |known| known == key).await,
                None => 0,
            },
            Purge::Prefix(path) => match self.key_of(path) {
                Some(key) => self.forget(move |known| known.starts_with(&key)).await,
                None => 0,
            },
            Purge::Tag(tag) => self.forget_tag(tag).await,
        };
        self.desk.metrics.purged.inc_by(count);
        count
    }

    async fn forget(&self, gone: impl Fn(&str) -> bool + Clone + Send + 'static) -> u64 {
        let desk = &self.desk;
        desk.board.make_void(&gone);
        let on_disk = gone.clone();
        let on_disk = desk.shelf.forget(move |key, _| on_disk(key)).await;
        let in_memory = desk.kept.forget(|key, _| gone(key));
        on_disk.max(in_memory)
    }

    /// What is under way may turn out to carry the tag, so none of it is kept.
    async fn forget_tag(&self, tag: &str) -> u64 {
        let desk = &self.desk;
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
        on_disk.max(in_memory)
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

/// The mount itself, without a host behind it.
fn is_bare(mount: &Mount, path: &str) -> bool {
    mount
        .behind(path)
        .is_some_and(|rest| matches!(rest, "" | "/"))
}
