//! One tile: ready in memory, or read from its pack and made ready.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use tile_pack::{PackError, TileAddress, Wait};

use crate::memory::{Key, Waited};
use crate::metrics::From;
use crate::negotiate::{self, Form};
use crate::packs::Mounted;
use crate::plan::Plan;
use crate::reject::Refusal;
use crate::representation::{Facts, Representation};
use crate::shared::Shared;
use crate::transcode::transcode;

/// The representation of a tile for who sent these headers; nothing where the pack has no tile.
pub(crate) async fn find(
    shared: &Arc<Shared>,
    plan: &Plan,
    mounted: &Arc<Mounted>,
    at: TileAddress,
    headers: &HeaderMap,
) -> Result<Option<Arc<Representation>>, Refusal> {
    let form = negotiate::form(headers, mounted.stored, mounted.shrinks())?;
    let key = Key::Tile {
        mount: mounted.number,
        tile: at.id(),
        form,
        max_age_s: plan.text.max_age_s,
        open: plan.cors.is_open(),
    };
    if let Some(ready) = shared.memory.get(&key) {
        shared.metrics.tile(From::Memory);
        shared.seals.hit(key, &ready);
        return Ok(Some(ready));
    }
    match mounted.pack.tile(at, Wait::Never) {
        Ok(None) => return Ok(None),
        Ok(Some(tile)) if Form::from(tile.coding) == form => {
            shared.metrics.tile(From::Cached);
            let made = Arc::new(represent(mounted, plan, tile.bytes, form));
            shared.memory.keep(key, made.clone());
            return Ok(Some(made));
        }
        // It takes a while: to be made over, or from a disk.
        Ok(Some(_)) | Err(PackError::WouldBlock) => {}
        Err(error) => return Err(shared.troubled(error)),
    }
    match shared.memory.wait(&key).await {
        Waited::Made(made) => {
            shared.metrics.tile(From::Memory);
            Ok(Some(made))
        }
        Waited::Turn(turn) => {
            let made = make(shared, plan, mounted, at, form).await?;
            if let Some(made) = &made {
                turn.made(made.clone());
            }
            Ok(made)
        }
    }
}

/// Reads and makes over a tile where that may take its time.
async fn make(
    shared: &Arc<Shared>,
    plan: &Plan,
    mounted: &Arc<Mounted>,
    at: TileAddress,
    form: Form,
) -> Result<Option<Arc<Representation>>, Refusal> {
    let (pack, most) = (mounted.pack.clone(), plan.text.limits.tile_bytes);
    let job = move || {
        let Some(tile) = pack.tile(at, Wait::Allowed)? else {
            return Ok(None);
        };
        let stored = Form::from(tile.coding);
        let bytes = transcode(&tile.bytes, stored, form, most);
        Ok(Some((stored, bytes)))
    };
    let made = shared.disk.run(job).await.map_err(|_| Refusal::DiskBusy)?;
    let Some((stored, bytes)) = made.map_err(|error| shared.troubled(error))? else {
        return Ok(None);
    };
    shared.metrics.tile(match stored == form {
        true => From::Disk,
        false => From::Transcoded,
    });
    Ok(Some(Arc::new(represent(mounted, plan, bytes?, form))))
}

fn represent(mounted: &Mounted, plan: &Plan, bytes: Bytes, form: Form) -> Representation {
    let facts = Facts {
        media: mounted.media.clone(),
        coding: form.coding(),
        negotiated: mounted.stored != Form::Plain || mounted.shrinks(),
        cache: plan.cache.clone(),
        modified: Some(mounted.modified),
    };
    let mut tile = Representation::of_bytes(bytes, facts);
    if plan.cors.is_open() {
        plan.cors.permit(None, &mut tile.headers);
    }
    tile
}

impl Mounted {
    /// Whether its tiles are worth coding.
    fn shrinks(&self) -> bool {
        self.pack.about().tile_format.is_vector()
    }
}

impl Shared {
    /// What a client is told of a pack's trouble.
    pub(crate) fn troubled(&self, error: PackError) -> Refusal {
        let refusal = Refusal::from(error);
        self.heed(&refusal);
        refusal
    }
}

#[cfg(test)]
mod tests;
