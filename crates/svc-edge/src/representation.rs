//! A representation as it can be sent: its bytes or where they are, its validators, the head of its 200.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use bytes::Bytes;
use front_door::Sealed;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue,
    LAST_MODIFIED, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http_rules::conditional::Validators;
use http_rules::date;
use http_rules::decode::Coding;
use http_rules::digest::{Algorithm, value as digest_value};
use http_rules::etag::{ETag, strong};

use crate::pieces::Source;
use crate::seals::{LEAST_BYTES, Seal};

/// Bytes of a hash that go into a tag: enough that no two representations ever share one.
const TAG_BYTES: usize = 16;

/// What is sent, whole or in part.
pub(crate) struct Representation {
    pub(crate) content: Content,
    /// Of a 200, but for what depends on who asks.
    pub(crate) headers: HeaderMap,
    etag: HeaderValue,
    modified: Option<u64>,
    digests: [OnceLock<HeaderValue>; 2],
    seal: Option<Seal>,
    /// Somebody seals it, has done so, or has found that it cannot be.
    taken: AtomicBool,
}

/// Where the bytes are.
pub(crate) enum Content {
    /// Here.
    Bytes(Bytes),
    /// In a file.
    File(Source),
}

/// What is known of a representation beside its bytes.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) media: HeaderValue,
    pub(crate) coding: Option<Coding>,
    /// Whether another coding would be sent to another client.
    pub(crate) negotiated: bool,
    pub(crate) cache: HeaderValue,
    /// In seconds since 1970.
    pub(crate) modified: Option<u64>,
}

impl Facts {
    /// Of a JSON text that is the same for whoever asks in the same way.
    pub(crate) fn json(cache: HeaderValue) -> Self {
        Self {
            media: HeaderValue::from_static("application/json"),
            coding: None,
            negotiated: false,
            cache,
            modified: None,
        }
    }
}

impl Representation {
    /// Of bytes that are here; its tag is made of them.
    pub(crate) fn of_bytes(bytes: Bytes, facts: Facts) -> Self {
        let hash = blake3::hash(&bytes);
        let tag = strong(
            &hash.as_bytes()[..TAG_BYTES],
            facts.coding.map(Coding::name),
        );
        Self::new(Content::Bytes(bytes), tag, facts)
    }

    /// Of a file that this hash stands for.
    pub(crate) fn of_file(source: Source, hash: &[u8], facts: Facts) -> Self {
        Self::new(Content::File(source), strong(hash, None), facts)
    }

    /// With a tag that was made otherwise.
    pub(crate) fn new(content: Content, etag: HeaderValue, facts: Facts) -> Self {
        let mut headers = HeaderMap::with_capacity(16);
        headers.insert(CONTENT_TYPE, facts.media);
        if let Some(coding) = facts.coding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        }
        headers.insert(ETAG, etag.clone());
        if let Some(modified) = facts.modified {
            headers.insert(LAST_MODIFIED, date::value(modified));
        }
        headers.insert(CACHE_CONTROL, facts.cache);
        if facts.negotiated {
            headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        }
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        Self {
            content,
            headers,
            etag,
            modified: facts.modified,
            digests: Default::default(),
            seal: None,
            taken: AtomicBool::new(false),
        }
    }

    /// Whether it is worth sealing, and nobody is about to. True for one, who lets go of it or seals it.
    pub(crate) fn claim(&self) -> bool {
        let large = matches!(&self.content, Content::Bytes(bytes) if bytes.len() >= LEAST_BYTES);
        large && !self.taken.load(Ordering::Relaxed) && !self.taken.swap(true, Ordering::Relaxed)
    }

    /// Nobody seals it now.
    pub(crate) fn let_go(&self) {
        self.taken.store(false, Ordering::Relaxed);
    }

    /// The same, sealed; nothing if it cannot be.
    pub(crate) fn sealed(&self, seal: impl FnOnce(&Bytes) -> io::Result<Seal>) -> Option<Self> {
        let Content::Bytes(bytes) = &self.content else {
            return None;
        };
        let seal = seal(bytes).ok()?;
        Some(Self {
            content: Content::Bytes(seal.sealed.bytes().clone()),
            headers: self.headers.clone(),
            etag: self.etag.clone(),
            modified: self.modified,
            digests: self.digests.clone(),
            seal: Some(seal),
            taken: AtomicBool::new(true),
        })
    }

    /// Where the system can send it from.
    pub(crate) fn seal(&self) -> Option<&Sealed> {
        self.seal.as_ref().map(|seal| &seal.sealed)
    }

    pub(crate) fn length(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::File(source) => source.length(),
        }
    }

    pub(crate) fn validators(&self) -> Validators<'_> {
        Validators {
            etag: ETag::parse(self.etag.as_bytes()),
            last_modified: self.modified,
        }
    }

    /// The value of `Repr-Digest`, for bytes that are here. Made when it is first asked for.
    pub(crate) fn digest(&self, algorithm: Algorithm) -> Option<&HeaderValue> {
        let Content::Bytes(bytes) = &self.content else {
            return None;
        };
        let (place, function) = match algorithm {
            Algorithm::Sha256 => (0, &SHA256),
            Algorithm::Sha512 => (1, &SHA512),
        };
        let made = self.digests[place].get_or_init(|| {
            digest_value(algorithm, digest(function, bytes).as_ref())
                .expect("the hash of an algorithm has its length")
        });
        Some(made)
    }

    /// What keeping it costs, roughly.
    pub(crate) fn weight(&self) -> u64 {
        const HEAD: u64 = 1024;
        /// Sealed bytes lie in pages of their own, with a file to them.
        const PAGE: u64 = 4096;
        match &self.content {
            Content::Bytes(bytes) if self.seal.is_some() => {
                (bytes.len() as u64).next_multiple_of(PAGE) + PAGE
            }
            Content::Bytes(bytes) => bytes.len() as u64 + HEAD,
            Content::File(_) => HEAD,
        }
    }
}
