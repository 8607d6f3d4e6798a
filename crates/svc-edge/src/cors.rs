//! Which pages of other origins may read answers.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ALLOW,
    HeaderMap, HeaderValue, ORIGIN, VARY,
};
use http::{Method, Response, StatusCode};

use crate::body::EdgeBody;
use crate::config::CorsText;

/// The methods there are.
pub(crate) const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, OPTIONS");
/// What a page may ask with, beyond what it always may.
const ASKED: HeaderValue = HeaderValue::from_static(
    "range, if-range, if-match, if-none-match, if-modified-since, if-unmodified-since, \
     want-repr-digest, x-request-id",
);
/// What a page may read, beyond what it always may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "accept-ranges, age, cache-status, content-encoding, content-length, content-range, etag, \
     repr-digest, retry-after, x-macronode-reason, x-request-id",
);

/// Who may read.
#[derive(Debug)]
pub(crate) struct Cors {
    everybody: bool,
    listed: Vec<HeaderValue>,
    max_age: HeaderValue,
}

impl Cors {
    pub(crate) fn new(text: &CorsText) -> Self {
        let listed = text.origins.iter();
        Self {
            everybody: text.origins.iter().any(|origin| origin == "*"),
            listed: listed
                .filter_map(|origin| HeaderValue::from_str(origin).ok())
                .collect(),
            max_age: HeaderValue::from(text.max_age_s),
        }
    }

    /// Whether everybody may read everything: then an answer can say so before anybody asks for it.
    pub(crate) fn is_open(&self) -> bool {
        self.everybody
    }

    /// Says in an answer who may read it, unless an origin has said so.
    pub(crate) fn permit(&self, origin: Option<&HeaderValue>, answer: &mut HeaderMap) {
        if answer.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
            return;
        }
        if self.everybody {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
            return;
        }
        if self.listed.is_empty() {
            return;
        }
        answer.append(VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = origin.filter(|origin| self.listed.contains(origin)) {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }

    /// The answer to OPTIONS: what may be done here, and to a page's browser that it may.
    pub(crate) fn options(&self, asked: &HeaderMap) -> Response<EdgeBody> {
        let mut answer = Response::new(EdgeBody::whole(bytes::Bytes::new()));
        *answer.status_mut() = StatusCode::NO_CONTENT;
        let headers = answer.headers_mut();
        headers.insert(ALLOW, METHODS);
        let preflight =
            asked.contains_key(ORIGIN) && asked.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if preflight && (self.everybody || !self.listed.is_empty()) {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ASKED);
            headers.insert(ACCESS_CONTROL_MAX_AGE, self.max_age.clone());
        }
        answer
    }
}

/// Whether a method only reads.
pub(crate) fn reads(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cors(origins: &[&str]) -> Cors {
        Cors::new(&CorsText {
            origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
            max_age_s: 60,
        })
    }

    fn permitted(cors: &Cors, origin: Option<&'static str>) -> HeaderMap {
        let mut answer = HeaderMap::new();
        cors.permit(origin.map(HeaderValue::from_static).as_ref(), &mut answer);
        answer
    }

    // req: ED-12
    #[test]
    fn a_listed_origin_may_read_and_no_other_and_caches_keep_them_apart() {
        let cors = cors(&["https://maps.test"]);
        let listed = permitted(&cors, Some("https://maps.test"));
        assert_eq!(listed[ACCESS_CONTROL_ALLOW_ORIGIN], "https://maps.test");
        for other in [None, Some("https://evil.test"), Some("null")] {
            let answer = permitted(&cors, other);
            assert!(
                !answer.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN),
                "{other:?}"
            );
            assert_eq!(answer[VARY], "origin");
        }
    }

    // req: ED-12
    #[test]
    fn everybody_is_one_answer_for_all() {
        let cors = cors(&["*"]);
        for origin in [None, Some("https://maps.test")] {
            let answer = permitted(&cors, origin);
            assert_eq!(answer[ACCESS_CONTROL_ALLOW_ORIGIN], "*");
            assert!(!answer.contains_key(VARY));
        }
    }

    // req: ED-12
    #[test]
    fn a_preflight_is_told_what_it_may_and_a_plain_options_only_what_there_is() {
        let mut asked = HeaderMap::new();
        let plain = cors(&["*"]).options(&asked);
        assert_eq!(plain.headers()[ALLOW], METHODS);
        assert!(!plain.headers().contains_key(ACCESS_CONTROL_ALLOW_METHODS));
        asked.insert(ORIGIN, HeaderValue::from_static("https://maps.test"));
        asked.insert(
            ACCESS_CONTROL_REQUEST_METHOD,
            HeaderValue::from_static("GET"),
        );
        let preflight = cors(&["*"]).options(&asked);
        assert_eq!(preflight.headers()[ACCESS_CONTROL_MAX_AGE], "60");
        let nobody = cors(&[]).options(&asked);
        assert!(!nobody.headers().contains_key(ACCESS_CONTROL_ALLOW_METHODS));
    }
}
