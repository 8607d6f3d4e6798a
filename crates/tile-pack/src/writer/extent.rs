//! How far tiles reach: the zooms they have, and the piece of the map the deepest cover.

use crate::about::Bounds;
use crate::address::TileAddress;
use crate::selection::covered;

/// What the tiles so far reach.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    deepest: Option<Deepest>,
    min_zoom: u8,
}

#[derive(Clone, Copy, Debug)]
struct Deepest {
    zoom: u8,
    columns: (u32, u32),
    rows: (u32, u32),
}

impl Extent {
    pub(crate) fn add(&mut self, at: TileAddress) {
        let alone = Deepest {
            zoom: at.z(),
            columns: (at.x(), at.x()),
            rows: (at.y(), at.y()),
        };
        let Some(deepest) = &mut self.deepest else {
            self.deepest = Some(alone);
            self.min_zoom = at.z();
            return;
        };
        self.min_zoom = self.min_zoom.min(at.z());
        if at.z() > deepest.zoom {
            *deepest = alone;
        } else if at.z() == deepest.zoom {
            deepest.columns = wider(deepest.columns, at.x());
            deepest.rows = wider(deepest.rows, at.y());
        }
    }

    /// The smallest and the largest; 0 and 0 for no tiles.
    pub(crate) fn zooms(&self) -> (u8, u8) {
        (
            self.min_zoom,
            self.deepest.map_or(0, |deepest| deepest.zoom),
        )
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.deepest.map_or(Bounds::WORLD, |deepest| {
            covered(deepest.zoom, deepest.columns, deepest.rows)
        })
    }
}

fn wider((least, most): (u32, u32), number: u32) -> (u32, u32) {
    (least.min(number), most.max(number))
}
