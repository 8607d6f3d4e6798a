//! The page that shows a pack on a map: a few files that came with the program, or a sentence where they did not.

use std::sync::LazyLock;

use bytes::Bytes;
use http::header::{CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue, REFERRER_POLICY};
use http_rules::decode::Coding;

use crate::negotiate::{self, Form};
use crate::reject::Refusal;
use crate::representation::{Facts, Representation};
use crate::transcode::transcode;

/// A file's name, whether it is kept as gzip, and its bytes.
type Kept = (&'static str, bool, &'static [u8]);

static KEPT: &[Kept] = &include!(concat!(env!("OUT_DIR"), "/preview.rs"));

/// The page itself.
pub(crate) const PAGE: &str = "index.html";

/// What stands there in a build without the page.
const ABSENT: &str = "<!doctype html><title>No preview</title>\
    <p>This build has no map. The tiles are served all the same.\n";

/// Nothing but what came with the page may run in it, and nothing it is told about a pack can.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     worker-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
);

const GZIP: Form = Form::Coded(Coding::Gzip);

/// No file decodes to more.
const FILE_BYTES: usize = 16 << 20;

/// Every file in every form, made when one is first asked for.
static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let page = KEPT.iter().any(|(name, ..)| *name == PAGE);
    let absent = (!page).then_some((PAGE, false, ABSENT.as_bytes()));
    let kept = KEPT.iter().copied().chain(absent);
    kept.filter_map(|kept| File::new(kept).ok()).collect()
});

struct File {
    name: &'static str,
    plain: Representation,
    gzip: Option<Representation>,
}

impl File {
    fn new((name, coded, bytes): Kept) -> Result<Self, Refusal> {
        let bytes = Bytes::from_static(bytes);
        if !coded {
            return Ok(Self {
                name,
                plain: represent(name, bytes, Form::Plain, false),
                gzip: None,
            });
        }
        let plain = transcode(&bytes, GZIP, Form::Plain, FILE_BYTES)?;
        Ok(Self {
            name,
            plain: represent(name, plain, Form::Plain, true),
            gzip: Some(represent(name, bytes, GZIP, true)),
        })
    }
}

/// A file of the page, in a form the client takes.
pub(crate) fn file(name: &str, headers: &HeaderMap) -> Result<&'static Representation, Refusal> {
    let file = FILES.iter().find(|file| file.name == name);
    let file = file.ok_or(Refusal::NotFound)?;
    let stored = file.gzip.as_ref().map_or(Form::Plain, |_| GZIP);
    let form = negotiate::form(headers, stored, false)?;
    match (&file.gzip, form) {
        (Some(gzip), GZIP) => Ok(gzip),
        (_, Form::Plain) => Ok(&file.plain),
        _ => Err(Refusal::NotAcceptable),
    }
}

fn represent(name: &str, bytes: Bytes, form: Form, negotiated: bool) -> Representation {
    let facts = Facts {
        media: HeaderValue::from_static(media(name)),
        coding: form.coding(),
        negotiated,
        cache: HeaderValue::from_static("no-cache"),
        modified: None,
    };
    let mut file = Representation::of_bytes(bytes, facts);
    file.headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    let quiet = HeaderValue::from_static("no-referrer");
    file.headers.insert(REFERRER_POLICY, quiet);
    file
}

fn media(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use http::header::{
        CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS,
    };

    use super::*;

    // req: ED-12
    // attack: L-23
    #[test]
    fn every_file_comes_with_a_policy_under_which_no_foreign_script_runs() {
        let page = file(PAGE, &HeaderMap::new()).unwrap();
        let names = KEPT.iter().map(|(name, ..)| *name);
        for name in names.chain([PAGE]) {
            let headers = &file(name, &HeaderMap::new()).unwrap().headers;
            let policy = headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self';"),
                "{name}"
            );
            assert!(!policy.contains("unsafe"), "{name}");
            assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff", "{name}");
            assert_eq!(headers[CACHE_CONTROL], "no-cache", "{name}");
            assert!(headers[ETAG].to_str().unwrap().starts_with('"'), "{name}");
        }
        assert_eq!(page.headers[CONTENT_TYPE], "text/html; charset=utf-8");
        assert!(file("../Cargo.toml", &HeaderMap::new()).is_err());
    }

    // req: ED-12, ED-07
    #[test]
    fn what_is_kept_as_gzip_goes_out_as_gzip_and_plain_to_who_takes_no_other() {
        let mut gzip = HeaderMap::new();
        gzip.insert("accept-encoding", HeaderValue::from_static("gzip"));
        assert_eq!(FILES.len(), KEPT.len().max(1), "all can be read");
        for (name, coded, bytes) in KEPT.iter().filter(|(_, coded, _)| *coded) {
            let sent = file(name, &gzip).unwrap();
            assert_eq!(sent.headers[CONTENT_ENCODING], "gzip", "{name} {coded}");
            assert_eq!(sent.length(), bytes.len() as u64);
            let plain = file(name, &HeaderMap::new()).unwrap();
            assert!(!plain.headers.contains_key(CONTENT_ENCODING), "{name}");
            assert!(plain.length() > sent.length(), "{name}");
        }
    }
}
