use super::*;

fn rows(rows: &[(&str, &str)]) -> Rows {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Rows(rows.iter().map(owned).collect())
}

#[test]
fn rows_say_what_they_are_meant_to() {
    let rows = rows(&[
        ("format", "PBF"),
        ("minzoom", "3"),
        ("maxzoom", " 14 "),
        ("bounds", "-1.5, -2, 3,4"),
        ("center", "0,1,7"),
    ]);
    assert_eq!(rows.format(), Some(TileFormat::Mvt));
    assert_eq!(
        (rows.zoom("minzoom"), rows.zoom("maxzoom")),
        (Some(3), Some(14))
    );
    let bounds = rows.bounds().unwrap();
    assert_eq!(
        [bounds.west, bounds.south, bounds.east, bounds.north],
        [-1.5, -2.0, 3.0, 4.0]
    );
    assert_eq!(rows.center().unwrap().zoom, 7);
}

#[test]
fn rows_that_make_no_sense_say_nothing() {
    let rows = rows(&[
        ("format", "tiff"),
        ("minzoom", "-1"),
        ("maxzoom", "32"),
        ("bounds", "1,2,3"),
        ("center", "nan,1,7"),
    ]);
    assert_eq!(rows.format(), None);
    assert_eq!((rows.zoom("minzoom"), rows.zoom("maxzoom")), (None, None));
    assert_eq!(rows.bounds(), None);
    assert_eq!(rows.center(), None);
}

#[test]
fn the_json_row_becomes_part_of_the_object_and_rows_go_first() {
    let object = rows(&[
        ("name", "row"),
        ("json", r#"{"name":"json","vector_layers":[]}"#),
    ])
    .into_object();
    assert_eq!(
        object,
        serde_json::json!({ "name": "row", "vector_layers": [] })
    );
    assert_eq!(rows(&[("json", "[")]).into_object(), serde_json::json!({}));
}

#[test]
fn formats_are_seen_without_a_row() {
    assert_eq!(sniffed(b"\x89PNG\r\n"), TileFormat::Png);
    assert_eq!(sniffed(b"\xff\xd8\xff\xe0"), TileFormat::Jpeg);
    assert_eq!(sniffed(b"RIFF\0\0\0\0WEBPVP8 "), TileFormat::Webp);
    assert_eq!(sniffed(b"\0\0\0\x20ftypavif"), TileFormat::Avif);
    assert_eq!(sniffed(b"\x1f\x8b\x08"), TileFormat::Mvt);
    assert_eq!(sniffed(b"\x1a\x05hello"), TileFormat::Mvt);
    assert_eq!(sniffed(b"hello"), TileFormat::Other);
    assert_eq!(sniffed(b""), TileFormat::Other);
}
