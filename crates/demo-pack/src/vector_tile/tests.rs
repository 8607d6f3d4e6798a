use super::{Geometry, Layer, Pen, encode};

fn commands(geometry: &Geometry) -> Vec<u32> {
    let mut pen = Pen::default();
    match geometry {
        Geometry::Lines(lines) => lines.iter().for_each(|line| pen.line(line)),
        Geometry::Polygons(polygons) => polygons.iter().for_each(|rings| pen.polygon(rings)),
    }
    pen.commands
}

#[test]
fn the_multi_line_of_the_specification_comes_out() {
    let lines = [vec![[2, 2], [2, 10], [10, 10]], vec![[1, 1], [3, 5]]];
    let expected = [9, 4, 4, 18, 0, 16, 16, 0, 9, 17, 17, 10, 4, 8];
    assert_eq!(commands(&Geometry::Lines(&lines)), expected);
}

#[test]
fn the_multi_polygon_of_the_specification_comes_out() {
    let first = vec![vec![[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]];
    let outer = vec![[11, 11], [20, 11], [20, 20], [11, 20], [11, 11]];
    let hole = vec![[13, 13], [13, 17], [17, 17], [17, 13], [13, 13]];
    let expected = [
        9, 0, 0, 26, 20, 0, 0, 20, 19, 0, 15, 9, 22, 2, 26, 18, 0, 0, 18, 17, 0, 15, 9, 4, 13, 26,
        0, 8, 8, 0, 0, 7, 15,
    ];
    let drawn = commands(&Geometry::Polygons(&[first, vec![outer, hole]]));
    assert_eq!(drawn, expected);
}

#[test]
fn rings_are_turned_the_right_way() {
    let right = vec![[0, 0], [8, 0], [8, 8], [0, 8], [0, 0]];
    let wrong: Vec<_> = right.iter().rev().copied().collect();
    let drawn = |ring: &Vec<_>| commands(&Geometry::Polygons(&[vec![ring.clone()]]));
    let from_upper_left = [9, 0, 0, 26, 16, 0, 0, 16, 15, 0, 15];
    let from_upper_right = [9, 16, 0, 26, 0, 16, 15, 0, 0, 15, 15];
    assert_eq!(drawn(&right), from_upper_left);
    assert_eq!(drawn(&wrong), from_upper_right);
}

#[test]
fn what_has_no_area_or_length_is_no_feature() {
    let mut layer = Layer::new("small");
    layer.add(None, &[], &Geometry::Lines(&[vec![[5, 5], [5, 5]]]));
    let flat = vec![vec![[0, 0], [4, 4], [0, 0]]];
    layer.add(None, &[("name", "flat")], &Geometry::Polygons(&[flat]));
    assert_eq!(encode(&[layer]), None);
}

#[test]
fn features_share_keys_and_values() {
    let line = [vec![[0, 0], [1, 1]]];
    let mut layer = Layer::new("l");
    for name in ["a", "b", "a"] {
        layer.add(Some(7), &[("name", name)], &Geometry::Lines(&line));
    }
    assert_eq!(
        (layer.keys.len(), layer.values.len(), layer.features.len()),
        (1, 2, 3)
    );
    assert_eq!(layer.features[0], layer.features[2]);
}
