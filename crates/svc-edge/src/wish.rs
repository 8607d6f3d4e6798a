//! What a path asks for.

use tile_pack::TileAddress;
use verified_store::Hash;

use crate::reject::Refusal;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wish<'a> {
    /// `/tiles/{pack}/{z}/{x}/{y}[.ext]`.
    Tile {
        pack: &'a str,
        at: TileAddress,
        extension: Option<&'a str>,
    },
    /// `/tiles/{pack}.json`.
    TileJson(&'a str),
    /// `/packs`.
    Packs,
    /// `/packs/{pack}`.
    Raw(&'a str),
    /// `/cas/{hash}`.
    Object(Hash),
    /// `/preview/{pack}`.
    Preview(&'a str),
    /// `/preview/assets/{file}`.
    PreviewFile(&'a str),
}

/// The kinds of wishes, as metrics call them.
pub(crate) const KINDS: [&str; 8] = [
    "tile", "tilejson", "packs", "raw", "object", "preview", "origin", "other",
];

/// What is counted for those who ask an origin.
pub(crate) const ORIGIN: usize = KINDS.len() - 2;

/// What is counted for whom nothing fits.
pub(crate) const OTHER: usize = KINDS.len() - 1;

impl<'a> Wish<'a> {
    /// Reads a path. Names hold nothing that would have to be escaped, so that an escape names nothing.
    pub(crate) fn of(path: &'a str) -> Result<Self, Refusal> {
        let rest = path.strip_prefix('/').ok_or(Refusal::NotFound)?;
        let (first, rest) = cut(rest, b'/').unwrap_or((rest, ""));
        match (first, rest) {
            ("tiles", rest) => tiles(rest),
            ("packs", "") if path == "/packs" => Ok(Wish::Packs),
            ("packs", name) if is_segment(name) => Ok(Wish::Raw(name)),
            ("cas", hash) if is_segment(hash) => {
                hash.parse().map(Wish::Object).map_err(|_| Refusal::NoHash)
            }
            ("preview", rest) => match cut(rest, b'/') {
                None if is_segment(rest) => Ok(Wish::Preview(rest)),
                Some(("assets", file)) => Ok(Wish::PreviewFile(file)),
                _ => Err(Refusal::NotFound),
            },
            _ => Err(Refusal::NotFound),
        }
    }

    /// Its place among [`KINDS`].
    pub(crate) fn kind(&self) -> usize {
        match self {
            Wish::Tile { .. } => 0,
            Wish::TileJson(_) => 1,
            Wish::Packs => 2,
            Wish::Raw(_) => 3,
            Wish::Object(_) => 4,
            Wish::Preview(_) | Wish::PreviewFile(_) => 5,
        }
    }
}

/// Before and behind the first `at`. Segments are short: to look byte by byte is quicker than to search cleverly.
fn cut(text: &str, at: u8) -> Option<(&str, &str)> {
    let place = text.bytes().position(|byte| byte == at)?;
    Some((&text[..place], &text[place + 1..]))
}

fn is_segment(text: &str) -> bool {
    !text.is_empty() && !text.contains('/')
}

fn tiles(rest: &str) -> Result<Wish<'_>, Refusal> {
    let Some((pack, rest)) = cut(rest, b'/') else {
        let name = rest.strip_suffix(".json").ok_or(Refusal::NotFound)?;
        return Ok(Wish::TileJson(name));
    };
    let (z, rest) = cut(rest, b'/').ok_or(Refusal::NotFound)?;
    let (x, y) = cut(rest, b'/').ok_or(Refusal::NotFound)?;
    let (y, extension) = match cut(y, b'.') {
        Some((y, extension)) => (y, Some(extension)),
        None => (y, None),
    };
    let at = (|| {
        let z = u8::try_from(number(z)?).ok()?;
        TileAddress::new(z, number(x)?, number(y)?)
    })();
    Ok(Wish::Tile {
        pack,
        at: at.ok_or(Refusal::TileAddress)?,
        extension,
    })
}

/// Decimal digits as they are written by who counts: no sign, no zero in front.
fn number(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
    let counted = digits == "0" || !digits.starts_with('0');
    (plain && counted).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(z: u8, x: u32, y: u32, extension: Option<&str>) -> Result<Wish<'_>, Refusal> {
        let at = TileAddress::new(z, x, y).unwrap();
        Ok(Wish::Tile {
            pack: "p",
            at,
            extension,
        })
    }

    // req: ED-01
    #[test]
    fn each_path_asks_for_one_thing() {
        assert_eq!(Wish::of("/tiles/p/3/1/7"), tile(3, 1, 7, None));
        assert_eq!(Wish::of("/tiles/p/3/1/7.mvt"), tile(3, 1, 7, Some("mvt")));
        assert_eq!(
            Wish::of("/tiles/p/31/0/2147483647"),
            tile(31, 0, 2_147_483_647, None)
        );
        assert_eq!(Wish::of("/tiles/a.b.json"), Ok(Wish::TileJson("a.b")));
        assert_eq!(Wish::of("/packs"), Ok(Wish::Packs));
        assert_eq!(Wish::of("/packs/p"), Ok(Wish::Raw("p")));
        assert_eq!(Wish::of("/preview/assets"), Ok(Wish::Preview("assets")));
        assert_eq!(
            Wish::of("/preview/assets/app.js"),
            Ok(Wish::PreviewFile("app.js"))
        );
    }

    // req: ED-01
    // attack: L-06
    #[test]
    fn what_is_no_address_of_a_tile_is_said_to_be_none() {
        for (z, x, y) in [
            ("32", "0", "0"),
            ("256", "0", "0"),
            ("-1", "0", "0"),
            ("+1", "0", "0"),
            ("01", "0", "0"),
            ("1", "00", "0"),
            ("1", "2", "0"),
            ("1", "0", "2"),
            ("1", "0", "4294967296"),
            ("1", "0", "1e0"),
            ("", "0", "0"),
            ("1", "", "0"),
            ("1", "0", ""),
            ("1", "0", "0/0"),
            ("1", "0", " 0"),
            ("1", "0", "%30"),
            ("1", "0", "0;x.css"),
        ] {
            let path = format!("/tiles/p/{z}/{x}/{y}");
            assert_eq!(Wish::of(&path), Err(Refusal::TileAddress), "{path}");
        }
    }

    // req: ED-01
    // attack: F-07
    #[test]
    fn nothing_else_is_anything() {
        for path in [
            "",
            "*",
            "/",
            "//evil.test",
            "/tiles",
            "/tiles/",
            "/tiles/p",
            "/tiles/p/1",
            "/tiles/p/1/2",
            "/packs/",
            "/packs/a/b",
            "/Packs",
            "/cas",
            "/cas/",
            "/preview",
            "/preview/",
            "/preview/p/x",
        ] {
            assert_eq!(Wish::of(path), Err(Refusal::NotFound), "{path}");
        }
        let hash = "0123456789abcdef".repeat(4);
        for odd in [
            &hash[1..],
            &hash.to_uppercase(),
            "..",
            &hash.replace('0', "g"),
        ] {
            let path = format!("/cas/{odd}");
            assert_eq!(Wish::of(&path), Err(Refusal::NoHash), "{path}");
        }
        assert!(matches!(
            Wish::of(&format!("/cas/{hash}")),
            Ok(Wish::Object(_))
        ));
    }
}
