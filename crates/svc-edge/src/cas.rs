//! Objects by their hash: small ones kept ready, large ones as they are read.

use std::path::Path;
use std::sync::Arc;

use http::HeaderValue;
use http_rules::etag::strong;
use verified_store::{Hash, Limits, Standing, Store};

use crate::config::StoreText;
use crate::memory::{Key, Waited};
use crate::pieces::Source;
use crate::reject::Refusal;
use crate::representation::{Content, Facts, Representation};
use crate::shared::Shared;

/// Objects up to this are kept ready in memory.
const READY_BYTES: u64 = 1 << 20;

/// Opens the store, on a disk where one is named.
pub(crate) fn open(text: StoreText) -> Result<Store, String> {
    let limits = Limits {
        object_bytes: text.object_bytes,
        objects: text.objects,
        records: text.objects,
        ..Limits::of_bytes(text.bytes)
    };
    match text.dir {
        None => Ok(Store::in_memory(limits)),
        Some(dir) => Store::open(Path::new(&dir), limits)
            .map_err(|error| format!("the store in {dir} cannot be opened: {error}")),
    }
}

/// What an operator is told of a store that takes nothing.
pub(crate) fn trouble(store: &Store) -> Option<String> {
    match store.standing() {
        Standing::Good => None,
        Standing::Degraded { why } => Some(format!(
            "nothing can be stored: the disk is {}",
            why.as_str()
        )),
    }
}

/// The object of this hash.
pub(crate) async fn find(shared: &Arc<Shared>, hash: Hash) -> Result<Arc<Representation>, Refusal> {
    let key = Key::Object(hash);
    if let Some(ready) = shared.memory.get(&key) {
        shared.seals.hit(key, &ready);
        return Ok(ready);
    }
    match shared.memory.wait(&key).await {
        Waited::Made(made) => Ok(made),
        Waited::Turn(turn) => {
            let store = shared.store.clone();
            let read = shared.disk.run(move || read(&store, hash)).await;
            let object = read.map_err(|_| Refusal::DiskBusy)??;
            if matches!(object.content, Content::Bytes(_)) {
                turn.made(object.clone());
            }
            Ok(object)
        }
    }
}

/// Reads a small object, or opens a large one. Waits for the disk.
fn read(store: &Store, hash: Hash) -> Result<Arc<Representation>, Refusal> {
    let object = store.get(&hash).ok_or(Refusal::UnknownObject)?;
    let content = match object.len() <= READY_BYTES {
        // What was damaged has gone from the store.
        true => Content::Bytes(object.whole().map_err(|_| Refusal::UnknownObject)?),
        false => Content::File(Source::Object(Arc::new(object))),
    };
    let facts = Facts {
        media: HeaderValue::from_static("application/octet-stream"),
        coding: None,
        negotiated: false,
        cache: HeaderValue::from_static("public, max-age=31536000, immutable"),
        modified: None,
    };
    let tag = strong(hash.as_bytes(), None);
    Ok(Arc::new(Representation::new(content, tag, facts)))
}
