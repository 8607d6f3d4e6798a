//! The packs there are, by name: looked up without a lock, replaced as a whole when files come and go.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::{ArcSwap, Guard};
use hashbrown::HashMap;
use http::HeaderValue;
use tile_pack::{DirectoryCache, Limits, Pack, PackError};

use crate::negotiate::Form;
use crate::reject::Refusal;
use crate::representation::Representation;
use crate::tilejson;

#[cfg(test)]
pub(crate) use keeper::follow;
pub(crate) use keeper::keep;
pub(crate) use sweep::{Stamp, Wanted};

mod keeper;
mod list;
mod sweep;

/// Every pack.
pub(crate) struct Catalogue {
    shelf: ArcSwap<Shelf>,
    mounts: AtomicU64,
    /// What all packs together keep of their directories.
    directories: DirectoryCache,
}

/// The packs at one moment.
pub(crate) struct Shelf {
    pub(crate) packs: HashMap<String, Entry>,
    /// All of them, as clients see it.
    pub(crate) list: Representation,
}

/// A pack that was found.
#[derive(Clone)]
pub(crate) enum Entry {
    Ready(Arc<Mounted>),
    Unready(Arc<Unready>),
}

/// A pack that is served.
pub(crate) struct Mounted {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
    /// Different for each pack that was ever mounted.
    pub(crate) number: u64,
    pub(crate) pack: Arc<Pack>,
    pub(crate) stored: Form,
    pub(crate) media: HeaderValue,
    pub(crate) extension: &'static str,
    /// When its file was last written, in seconds since 1970.
    pub(crate) modified: u64,
    /// What its TileJSON ends with.
    pub(crate) tail: String,
}

/// A pack that cannot be served.
pub(crate) struct Unready {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Option<Stamp>,
    /// For operators.
    pub(crate) why: String,
    /// Whether trying again may help although the file is the same.
    pub(crate) passing: bool,
}

/// Bytes of decoded directories that all packs together keep.
const DIRECTORY_BYTES: usize = 64 << 20;

impl Default for Catalogue {
    fn default() -> Self {
        Self {
            shelf: ArcSwap::from_pointee(Shelf::new(HashMap::new())),
            mounts: AtomicU64::new(0),
            directories: DirectoryCache::new(DIRECTORY_BYTES),
        }
    }
}

impl Catalogue {
    /// The packs now.
    pub(crate) fn shelf(&self) -> Guard<Arc<Shelf>> {
        self.shelf.load()
    }

    /// The pack of this name, as it is now.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Mounted>, Refusal> {
        match self.shelf.load().packs.get(name) {
            Some(Entry::Ready(mounted)) => Ok(mounted.clone()),
            Some(Entry::Unready(_)) => Err(Refusal::PackUnready),
            None => Err(Refusal::UnknownPack),
        }
    }

    /// Opens a pack. Reads from the disk.
    fn mount(
        &self,
        name: &str,
        path: PathBuf,
        stamp: Stamp,
        limits: &Limits,
    ) -> Result<Mounted, PackError> {
        let pack = Pack::open_with(&path, limits, &self.directories)?;
        let about = pack.about();
        let seconds = about.modified_ns / 1_000_000_000;
        Ok(Mounted {
            name: name.to_owned(),
            path,
            stamp,
            number: self.mounts.fetch_add(1, Ordering::Relaxed),
            stored: about.coding.into(),
            media: HeaderValue::from_static(about.tile_format.media_type()),
            extension: about.tile_format.extension(),
            modified: u64::try_from(seconds).unwrap_or(0),
            tail: tilejson::tail(name, about),
            pack: Arc::new(pack),
        })
    }
}

impl Mounted {
    /// Whether tiles may be asked for by this ending.
    pub(crate) fn is_of_kind(&self, extension: &str) -> bool {
        let also = match self.extension {
            "mvt" => "pbf",
            "jpg" => "jpeg",
            other => other,
        };
        extension == self.extension || extension == also
    }
}
