//! A directory for a store, and the disk it is on.

use super::model::{Model, Op, ROOMY, write};
use crate::files::faulty::{Faulty, Plan};
use crate::{Limits, Store};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A store's directory, and beside it what its disk remembers.
pub(super) struct Place {
    _root: TempDir,
    pub(super) dir: PathBuf,
    aside: PathBuf,
}

impl Place {
    pub(super) fn new() -> Self {
        // In memory where that is possible: nothing here needs a real sync.
        let memory = Path::new("/dev/shm");
        let root = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
        let root = root.expect("a temporary directory");
        let (dir, aside) = (root.path().join("store"), root.path().join("aside"));
        fs::create_dir(&aside).expect("beside it");
        Self {
            _root: root,
            dir,
            aside,
        }
    }

    pub(super) fn disk(&self, plan: Plan) -> Arc<Faulty> {
        Arc::new(Faulty::new(plan, &self.aside))
    }

    /// A store that has been opened before: the start makes 256 directories, which have a test of their own.
    pub(super) fn furnished(limits: Limits) -> Self {
        let place = Self::new();
        drop(place.opened(limits));
        place
    }

    /// Does the operations until the power is cut; then looks what the next start finds.
    pub(super) fn survives(&self, ops: &[Op], limits: Limits, cut: Plan, seed: u64) -> u64 {
        let mut model = Model::new(limits == ROOMY);
        let disk = self.disk(cut);
        if let Ok(store) = Store::open_with(disk.clone(), &self.dir, limits) {
            ops.iter().for_each(|op| model.apply(&store, *op));
        }
        disk.lose_power(seed);
        self.is_sound(&model, limits);
        disk.steps()
    }

    /// On a disk that does what it should, though without the wait for it.
    pub(super) fn opened(&self, limits: Limits) -> Store {
        let disk = self.disk(Plan::Nothing);
        Store::open_with(disk, &self.dir, limits).expect("opens on a good disk")
    }

    fn is_sound(&self, model: &Model, limits: Limits) {
        let store = self.opened(limits);
        let temps = fs::read_dir(self.dir.join("tmp")).expect("a directory");
        assert_eq!(temps.count(), 0, "unfinished files are left");
        model.check(&store);
        let held = store.stats();
        assert!(held.bytes <= limits.bytes && held.objects <= limits.objects);
        assert_eq!(held.reserved, 0);
        let hash = write(&store, b"life goes on").expect("a good disk");
        store
            .put_record(&hash, &[hash], b"and on")
            .expect("a good disk");
        assert!(store.record(&hash).is_some() && store.get(&hash).is_some());
    }
}
