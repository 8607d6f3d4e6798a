use super::tiles;
use crate::topology::Topology;
use crate::topology::tests::SQUARES;
use crate::zoom::Level;

fn names(tile: &[u8]) -> Vec<&'static str> {
    let holds = |name: &&str| tile.windows(name.len()).any(|part| part == name.as_bytes());
    ["graticule", "land", "countries", "borders", "West"]
        .into_iter()
        .filter(holds)
        .collect()
}

#[test]
fn a_tile_has_the_layers_that_reach_into_it() {
    let topology = Topology::parse(SQUARES).unwrap();
    let level = Level::new(&topology, 2);
    let drawn: Vec<_> = tiles(&level)
        .map(|(x, y, tile)| ((x, y), names(&tile)))
        .collect();
    assert_eq!(drawn.len(), 16, "the graticule is everywhere");
    let at = |x, y| {
        drawn
            .iter()
            .find(|(at, _)| *at == (x, y))
            .unwrap()
            .1
            .clone()
    };
    assert_eq!(
        at(1, 1),
        ["graticule", "land", "countries", "borders", "West"]
    );
    assert_eq!(
        at(2, 1),
        ["graticule", "land", "countries", "borders", "West"],
        "within the buffer"
    );
    assert_eq!(at(3, 3), ["graticule"]);
}

#[test]
fn the_same_input_gives_the_same_tiles() {
    let draw = || {
        let topology = Topology::parse(SQUARES).unwrap();
        let level = Level::new(&topology, 1);
        tiles(&level).collect::<Vec<_>>()
    };
    assert_eq!(draw(), draw());
}
