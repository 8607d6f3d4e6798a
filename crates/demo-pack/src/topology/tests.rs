use super::{Topology, ring};

/// Two squares side by side, with the edge between them shared, and one name missing.
pub(crate) const SQUARES: &str = include_str!("../../fixtures/squares.json");

#[test]
fn neighbours_share_the_arc_between_them() {
    let topology = Topology::parse(SQUARES).unwrap();
    let [west, east] = topology.countries.as_slice() else {
        panic!("two countries")
    };
    assert_eq!(west.name.as_deref(), Some("West"));
    assert_eq!(west.iso.as_deref(), Some("001"));
    assert_eq!((&east.name, &east.iso), (&None, &None));
    assert_eq!(topology.borders(), [0]);
}

#[test]
fn a_ring_is_closed_and_walks_arcs_both_ways() {
    let arcs = [
        vec![[0.5, 0.1], [0.5, 0.2]],
        vec![[0.5, 0.2], [0.4, 0.2], [0.4, 0.1], [0.5, 0.1]],
    ];
    let forward = [[0.5, 0.1], [0.5, 0.2], [0.4, 0.2], [0.4, 0.1], [0.5, 0.1]];
    assert_eq!(ring(&arcs, &[0, 1]), forward);
    let mut backward = forward;
    backward.reverse();
    assert_eq!(ring(&arcs, &[-2, -1]), backward);
}

#[test]
fn positions_are_steps_from_one_to_the_next() {
    let topology = Topology::parse(SQUARES).unwrap();
    assert_eq!(topology.arcs[0], [[0.0, 0.0], [0.0, 10.0]]);
    assert_eq!(
        topology.arcs[1],
        [[0.0, 10.0], [-10.0, 10.0], [-10.0, 0.0], [0.0, 0.0]]
    );
}

#[test]
fn an_arc_that_is_not_there_is_refused() {
    let broken = SQUARES.replace("[[-1, 2]]", "[[-1, 7]]");
    assert_ne!(broken, SQUARES);
    let refusal = Topology::parse(&broken).err().unwrap();
    assert!(refusal.contains("arc 7"), "{refusal}");
    assert!(Topology::parse("{}").is_err());
}
