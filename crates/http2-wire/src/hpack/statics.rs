//! The entries that the standard has fixed (RFC 7541, Appendix A).

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};

use super::Field;
use super::table::Entry;

/// The index of the last entry that is fixed.
pub(super) const LAST: usize = 61;
/// The first entry named `:status`.
pub(super) const STATUS: u8 = 8;
/// The first entry that is no pseudo field.
const HEADERS: usize = 15;

macro_rules! fixed {
    ($($name:literal $(= $value:literal)?,)*) => {
        const NAMES: [&str; LAST - HEADERS + 1] = [$($name),*];

        /// Whatever anybody may point at without having said it.
        pub(super) static FIXED: [Entry; LAST] = [
            Entry::fixed(Field::Authority(Bytes::new()), ":authority", ""),
            Entry::fixed(Field::Method(Method::GET), ":method", "GET"),
            Entry::fixed(Field::Method(Method::POST), ":method", "POST"),
            Entry::fixed(Field::Path(Bytes::from_static(b"/")), ":path", "/"),
            Entry::fixed(Field::Path(Bytes::from_static(b"/index.html")), ":path", "/index.html"),
            Entry::fixed(Field::Scheme(Bytes::from_static(b"http")), ":scheme", "http"),
            Entry::fixed(Field::Scheme(Bytes::from_static(b"https")), ":scheme", "https"),
            Entry::fixed(Field::Unfit, ":status", "200"),
            Entry::fixed(Field::Unfit, ":status", "204"),
            Entry::fixed(Field::Unfit, ":status", "206"),
            Entry::fixed(Field::Unfit, ":status", "304"),
            Entry::fixed(Field::Unfit, ":status", "400"),
            Entry::fixed(Field::Unfit, ":status", "404"),
            Entry::fixed(Field::Unfit, ":status", "500"),
            $(header($name, concat!($($value)?)),)*
        ];
    };
}

const fn header(name: &'static str, value: &'static str) -> Entry {
    let field = Field::Header(
        HeaderName::from_static(name),
        HeaderValue::from_static(value),
    );
    Entry::fixed(field, name, value)
}

fixed! {
    "accept-charset", "accept-encoding" = "gzip, deflate", "accept-language", "accept-ranges",
    "accept", "access-control-allow-origin", "age", "allow", "authorization", "cache-control",
    "content-disposition", "content-encoding", "content-language", "content-length",
    "content-location", "content-range", "content-type", "cookie", "date", "etag", "expect",
    "expires", "from", "host", "if-match", "if-modified-since", "if-none-match", "if-range",
    "if-unmodified-since", "last-modified", "link", "location", "max-forwards",
    "proxy-authenticate", "proxy-authorization", "range", "referer", "refresh", "retry-after",
    "server", "set-cookie", "strict-transport-security", "transfer-encoding", "user-agent", "vary",
    "via", "www-authenticate",
}

/// Where to look for a name; zero where there is none.
static PLACES: [u8; 128] = places();

/// No two of the names have the same.
const fn place(name: &[u8]) -> usize {
    let Some((&last, _)) = name.split_last() else {
        return 0;
    };
    let (first, middle) = (name[0] as usize, name[name.len() / 2] as usize);
    (25 * name.len() + 51 * first + last as usize + middle) % 128
}

const fn places() -> [u8; 128] {
    let mut places = [0; 128];
    let mut nth = 0;
    while nth < NAMES.len() {
        let place = place(NAMES[nth].as_bytes());
        assert!(places[place] == 0, "two names have one place");
        places[place] = (HEADERS + nth) as u8;
        nth += 1;
    }
    places
}

/// The index of the entry that has this name.
#[inline]
pub(super) fn index(name: &HeaderName) -> Option<u8> {
    let index = PLACES[place(name.as_str().as_bytes())];
    let entry = FIXED.get(usize::from(index).wrapping_sub(1))?;
    matches!(&entry.field, Field::Header(one, _) if one == name).then_some(index)
}

#[cfg(test)]
mod tests;
