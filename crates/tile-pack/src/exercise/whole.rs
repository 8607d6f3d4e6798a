//! Any bytes as a pack: answered, the same twice, and every tile found where the walk passes it.

use std::io::Write;
use std::time::Duration;

use tile_pack::{Limits, Pack, PackError, Selection, Tile, TileAddress, Wait};

/// Tiles looked at in one pack: a few bytes may claim billions.
const TILES_MAX: usize = 300;

/// Tiles asked for whatever the pack says, the last there is among them.
const NUMBERS: [u64; 5] = [0, 1, 7, 1000, u64::MAX / 3 - 1];

/// Ends a walk.
enum Stop {
    Enough,
    Failed(PackError),
}

impl From<PackError> for Stop {
    fn from(error: PackError) -> Self {
        Stop::Failed(error)
    }
}

/// The bytes are a file.
pub fn exercise(data: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("there is room for a small file");
    file.write_all(data)
        .expect("there is room for a small file");
    let limits = Limits {
        directory_bytes: 1 << 16,
        metadata_bytes: 1 << 16,
        tile_bytes: 1 << 16,
        query_time: Duration::from_millis(200),
        ..Limits::default()
    };
    let Ok(pack) = Pack::open(file.path(), &limits) else {
        return;
    };
    let about = pack.about();
    assert!(about.min_zoom <= about.max_zoom && about.max_zoom <= 31);
    assert_eq!(about.length, data.len() as u64);
    let walked = walked(&pack);
    // A damaged database may give one thing by its index and another by its table, and both are answers.
    if pack.raw().is_some() {
        check(&pack, &walked);
    }
    for id in NUMBERS {
        let at = TileAddress::from_id(id).expect("a number that a tile has");
        drop(pack.tile(at, Wait::Allowed));
    }
}

fn check(pack: &Pack, walked: &Walked) {
    for (at, tile) in &walked.tiles {
        let found = pack.tile(*at, Wait::Allowed).expect("the walk has read it");
        assert_eq!(found.as_ref(), Some(tile), "{at:?}");
    }
    for at in NUMBERS.map(TileAddress::from_id).into_iter().flatten() {
        let answers = [(); 2].map(|()| pack.tile(at, Wait::Allowed).ok());
        assert_eq!(answers[0], answers[1]);
    }
    let ids: Vec<u64> = walked.tiles.iter().map(|(at, _)| at.id()).collect();
    assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    // Whoever is whole can be walked.
    if pack.verify(&mut |_, _| ()).is_ok() {
        assert!(walked.failed.is_none(), "{:?}", walked.failed);
    }
}

struct Walked {
    tiles: Vec<(TileAddress, Tile)>,
    failed: Option<PackError>,
}

fn walked(pack: &Pack) -> Walked {
    let mut tiles: Vec<(TileAddress, Tile)> = Vec::new();
    let ended = pack.each_tile(&Selection::ALL, |at, tile| {
        tiles.push((at, tile.clone()));
        match tiles.len() < TILES_MAX {
            true => Ok(()),
            false => Err(Stop::Enough),
        }
    });
    let failed = match ended {
        Err(Stop::Failed(error)) => Some(error),
        Ok(()) | Err(Stop::Enough) => None,
    };
    Walked { tiles, failed }
}
