//! What a map client is told about a pack (TileJSON 3.0), and under which address it finds the tiles.

use bytes::Bytes;
use front_door::Visit;
use http::Uri;
use http_rules::authority::Authority;
use serde_json::{Map, Value, json};
use strict_config::masked_url;
use tile_pack::{About, Bounds};

/// Where clients find this edge: scheme, authority, and a path if it stands below one. Without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base(String);

impl Base {
    /// As configured.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let shown = masked_url(url);
        let uri: Uri = url.parse().map_err(|_| format!("`{shown}` is no URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(format!("`{shown}` does not begin with http:// or https://"));
        }
        let host = uri.authority().map(|authority| authority.as_str());
        if host.is_none_or(|host| host.contains('@')) {
            return Err(format!("`{shown}` names no host, or a user"));
        }
        if url.contains(['?', '#', '"', '\\']) {
            return Err(format!("`{shown}` has more than a path behind its host"));
        }
        Ok(Self(url.trim_end_matches('/').to_owned()))
    }

    /// As the client asked: nothing else in its request says where it is. An old client that did not say whom it asked
    /// asked this end of its connection.
    pub(crate) fn asked(visit: &Visit, authority: &Authority<'_>) -> Self {
        let scheme = match visit.tls {
            Some(_) => "https",
            None => "http",
        };
        match authority.text {
            "" => Self(format!("{scheme}://{}", visit.local)),
            text => Self(format!("{scheme}://{text}")),
        }
    }
}

/// All of a pack's TileJSON that is the same for everybody, from its second member on.
pub(crate) fn tail(name: &str, about: &About) -> String {
    let bounds = &about.bounds;
    let center = &about.center;
    let mut members = Map::new();
    members.insert("name".to_owned(), json!(name));
    // What the pack says of itself comes first: what is known better replaces it.
    for key in TOLD {
        if let Some(value) = about.metadata.get(key).filter(|value| is_told(key, value)) {
            members.insert(key.to_owned(), value.clone());
        }
    }
    members.insert("scheme".to_owned(), json!("xyz"));
    members.insert("minzoom".to_owned(), json!(about.min_zoom));
    members.insert("maxzoom".to_owned(), json!(about.max_zoom));
    let corners = corners(bounds);
    members.insert("bounds".to_owned(), json!(corners));
    let zoom = center
        .zoom
        .clamp(about.min_zoom.min(about.max_zoom), about.max_zoom);
    let center = json!([
        within(center.longitude, 180.0),
        within(center.latitude, 90.0),
        zoom
    ]);
    members.insert("center".to_owned(), center);
    if about.tile_format.is_vector() && !members.contains_key("vector_layers") {
        members.insert("vector_layers".to_owned(), json!([]));
    }
    let whole = Value::Object(members).to_string();
    // Without the brace it begins with.
    whole[1..].to_owned()
}

/// West, south, east, north as clients accept them: on the globe, and the whole of it where they contradict. West may
/// be greater than east: such bounds cross the date line.
fn corners(bounds: &Bounds) -> [f64; 4] {
    let (south, north) = (within(bounds.south, 90.0), within(bounds.north, 90.0));
    match south <= north {
        true => [
            within(bounds.west, 180.0),
            south,
            within(bounds.east, 180.0),
            north,
        ],
        false => [-180.0, -90.0, 180.0, 90.0],
    }
}

/// So many degrees either way at most; what is no number is in the middle.
fn within(degrees: f64, most: f64) -> f64 {
    match degrees.is_nan() {
        true => 0.0,
        false => degrees.clamp(-most, most),
    }
}

/// What is passed on from a pack's metadata.
const TOLD: [&str; 6] = [
    "name",
    "description",
    "attribution",
    "version",
    "legend",
    "vector_layers",
];

fn is_told(key: &str, value: &Value) -> bool {
    match key {
        "vector_layers" => value.is_array(),
        _ => value.is_string(),
    }
}

/// A pack's TileJSON for clients of this base.
pub(crate) fn whole(base: &Base, name: &str, extension: &str, tail: &str) -> Bytes {
    let tiles = format!("{}/tiles/{name}/{{z}}/{{x}}/{{y}}.{extension}", base.0);
    Bytes::from(format!(
        "{{\"tilejson\":\"3.0.0\",\"tiles\":[{}],{tail}",
        Value::String(tiles)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: ED-01
    #[test]
    fn a_base_is_a_place_and_nothing_more() {
        let base = Base::parse("https://tiles.test/maps/").unwrap();
        assert_eq!(base.0, "https://tiles.test/maps");
        for bad in [
            "tiles.test",
            "ftp://tiles.test",
            "https://user@tiles.test",
            "https://tiles.test/?a",
            "https://tiles.test/#a",
            "https://",
            "",
        ] {
            assert!(Base::parse(bad).is_err(), "{bad}");
        }
    }

    // req: ED-01
    // attack: L-23
    #[test]
    fn what_a_pack_says_stays_a_string_wherever_it_ends() {
        let tail = "\"name\":\"x\"}";
        let base = Base::parse("https://tiles.test:8443").unwrap();
        let whole = whole(&base, "p", "mvt", tail);
        let parsed: Value = serde_json::from_slice(&whole).unwrap();
        assert_eq!(
            parsed["tiles"][0],
            "https://tiles.test:8443/tiles/p/{z}/{x}/{y}.mvt"
        );
        assert_eq!(parsed["tilejson"], "3.0.0");
        assert_eq!(parsed["name"], "x");
    }

    // req: ED-01
    // attack: L-23
    #[test]
    fn bounds_and_center_lie_on_the_globe_whatever_a_pack_says() {
        let bounds = |west, south, east, north| {
            corners(&Bounds {
                west,
                south,
                east,
                north,
            })
        };
        assert_eq!(bounds(11.0, 43.0, 12.0, 44.0), [11.0, 43.0, 12.0, 44.0]);
        assert_eq!(
            bounds(170.0, -50.0, -170.0, -30.0),
            [170.0, -50.0, -170.0, -30.0]
        );
        assert_eq!(
            bounds(-214.7, -214.7, 214.7, 214.7),
            [-180.0, -90.0, 180.0, 90.0]
        );
        assert_eq!(bounds(0.0, 20.0, 1.0, 10.0), [-180.0, -90.0, 180.0, 90.0]);
        assert_eq!(
            bounds(f64::NAN, 0.0, f64::INFINITY, 1.0),
            [0.0, 0.0, 180.0, 1.0]
        );
        assert_eq!((within(200.0, 180.0), within(-91.0, 90.0)), (180.0, -90.0));
    }
}
