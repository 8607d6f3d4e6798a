//! A small pack that comes with the program: the countries of the world, for who has none of their own at hand.

/// The pack, PMTiles.
pub static WORLD: &[u8] = include_bytes!("../demo/world.pmtiles");

#[cfg(test)]
mod tests {
    use super::*;

    // req: ED-01
    #[test]
    fn the_pack_can_be_served() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("world.pmtiles");
        std::fs::write(&path, WORLD).unwrap();
        let pack = tile_pack::Pack::open(&path, &tile_pack::Limits::default()).unwrap();
        assert_eq!(pack.about().min_zoom, 0);
        let world = tile_pack::TileAddress::new(0, 0, 0).unwrap();
        let tile = pack.tile(world, tile_pack::Wait::Allowed).unwrap();
        assert!(tile.is_some_and(|tile| !tile.bytes.is_empty()));
    }
}
