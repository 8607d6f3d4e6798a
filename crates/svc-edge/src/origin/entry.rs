//! An answer as it is kept, and all that is kept for one address.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode};
use http_rules::cache::{Policy, Variant, Varies, WhyNot};
use verified_store::Hash;

/// The head of an answer, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    /// As they go out, but for what depends on who asks and when.
    pub(crate) headers: HeaderMap,
    /// How it may be used again, or why it may not.
    pub(crate) policy: Result<Policy, WhyNot>,
    /// On what of a request it depends; nothing if on more than can be seen.
    pub(crate) varies: Option<Varies>,
    /// What the request that it answered said there.
    pub(crate) variant: Variant,
    /// What the origin said when it was last asked.
    pub(crate) origin_status: StatusCode,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) head: Arc<Head>,
    pub(crate) body: Bytes,
    /// By which it can be purged.
    pub(crate) tags: Vec<Box<str>>,
    hash: OnceLock<Hash>,
}

/// What is kept for one address, the newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resource {
    pub(crate) variants: Vec<Arc<Entry>>,
}

impl Head {
    /// Whether it answers a request that the origin would have got with these headers.
    pub(crate) fn answers(&self, sent: &HeaderMap) -> bool {
        let Some(varies) = &self.varies else {
            return false;
        };
        varies.answers(&self.variant, &self.headers, sent)
    }

    /// Whether it may be given to others who waited for it: it is kept, or nobody has forbidden to.
    pub(crate) fn is_for(&self, sent: &HeaderMap) -> bool {
        let open = matches!(self.policy, Ok(_) | Err(WhyNot::Useless | WhyNot::Status));
        open && self.answers(sent)
    }
}

impl Entry {
    pub(crate) fn new(head: Head, body: Bytes, tags: Vec<Box<str>>) -> Self {
        Self {
            head: Arc::new(head),
            body,
            tags,
            hash: OnceLock::new(),
        }
    }

    /// Of its body; made when it is first needed.
    pub(crate) fn hash(&self) -> Hash {
        *self.hash.get_or_init(|| Hash::of(&self.body))
    }
}

impl Resource {
    /// What answers every request, where that does not depend on who asks.
    pub(crate) fn only(&self) -> Option<&Arc<Entry>> {
        let newest = self.variants.first()?;
        let varies = newest.head.varies.as_ref()?;
        varies.names().is_empty().then_some(newest)
    }

    /// What answers such a request.
    pub(crate) fn select(&self, sent: &HeaderMap) -> Option<&Arc<Entry>> {
        self.variants.iter().find(|entry| entry.head.answers(sent))
    }

    /// The headers that decide which of them it is, as far as is known.
    pub(crate) fn varies(&self) -> Option<&Varies> {
        self.variants.first()?.head.varies.as_ref()
    }

    /// The same with this entry in place of the one it replaces, and no more of them than `most`.
    pub(crate) fn with(&self, entry: Arc<Entry>, most: usize) -> Resource {
        let mut variants = Vec::with_capacity(self.variants.len() + 1);
        variants.push(entry);
        let newest = variants[0].clone();
        let other = |known: &&Arc<Entry>| {
            known.head.variant != newest.head.variant || known.head.varies != newest.head.varies
        };
        variants.extend(self.variants.iter().filter(other).cloned());
        variants.truncate(most);
        Resource { variants }
    }

    /// What keeping it costs, roughly.
    pub(crate) fn weight(&self) -> u64 {
        const HEAD: u64 = 1024;
        let bytes = |entry: &Arc<Entry>| entry.body.len() as u64 + HEAD;
        self.variants.iter().map(bytes).sum::<u64>() + 1
    }
}

/// The words of all lines of these headers.
pub(crate) fn tags_of(headers: &HeaderMap, names: &[HeaderName]) -> Vec<Box<str>> {
    const MOST: usize = 64;
    let lines = names.iter().flat_map(|name| headers.get_all(name));
    let texts = lines.filter_map(|line| line.to_str().ok());
    let words = texts.flat_map(|text| text.split([' ', ',', '\t']));
    let words = words.filter(|word| !word.is_empty() && word.len() <= 256);
    words.take(MOST).map(Box::from).collect()
}
