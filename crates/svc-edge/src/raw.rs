//! A pack itself, by ranges: what map clients ask for that read packs without a server's help.

use http::HeaderValue;

use crate::packs::Mounted;
use crate::pieces::Source;
use crate::plan::Plan;
use crate::reject::Refusal;
use crate::representation::{Facts, Representation};
use crate::shared::Shared;

/// What PMTiles is called.
const MEDIA: HeaderValue = HeaderValue::from_static("application/vnd.pmtiles");

/// The whole pack. A database is not handed out.
pub(crate) fn of(mounted: &Mounted, plan: &Plan) -> Result<Representation, Refusal> {
    if mounted.pack.raw().is_none() {
        return Err(Refusal::NotFound);
    }
    let facts = Facts {
        media: MEDIA,
        coding: None,
        negotiated: false,
        cache: plan.cache.clone(),
        modified: Some(mounted.modified),
    };
    let stamp = mounted.pack.about().stamp.to_be_bytes();
    let source = Source::Pack(mounted.pack.clone());
    Ok(Representation::of_file(source, &stamp, facts))
}

impl Shared {
    /// Has a pack that changed looked at again at once.
    pub(crate) fn heed(&self, refusal: &Refusal) {
        if *refusal == Refusal::PackChanged {
            self.look.notify_one();
        }
    }
}
