//! An answer as it is kept, and all that is kept for one address.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode};
use http_rules::cache::{Decision, Policy, Variant, Varies, WhyNot, Wish};
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

    /// Whether it says of itself that it depends on nothing.
    fn is_for_all(&self) -> bool {
        let names = self.varies.as_ref().map(Varies::names);
        names.is_some_and(<[HeaderName]>::is_empty)
    }

    /// Whether it may be given to others who waited for it with these headers: it may be used again, or it is nobody's
    /// in particular and they ask the very `same`. Who could be told apart might have got another answer, and nothing
    /// says that this one is for all.
    pub(crate) fn is_for(&self, sent: &HeaderMap, same: bool, now_ms: u64) -> bool {
        let open = match &self.policy {
            Ok(policy) => {
                let decided = policy.decide(&Wish::default(), now_ms);
                same || !matches!(decided, Decision::Validate { .. })
            }
            Err(WhyNot::Useless | WhyNot::Status) => same,
            Err(_) => false,
        };
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
    /// What answers every request, where nothing depends on who asks.
    pub(crate) fn only(&self) -> Option<&Arc<Entry>> {
        match &self.variants[..] {
            [only] if only.head.is_for_all() => Some(only),
            _ => None,
        }
    }

    /// What answers such a request.
    pub(crate) fn select(&self, sent: &HeaderMap) -> Option<&Arc<Entry>> {
        let heads = self.variants.iter().map(|entry| &*entry.head);
        self.variants.get(choose(heads, sent)?)
    }

    /// The headers that decide which of them it is, as far as is known.
    pub(crate) fn varies(&self) -> Option<&Varies> {
        self.variants.first()?.head.varies.as_ref()
    }

    /// The same with this entry in place of all that answered the request it answers, and no more of them than `most`.
    pub(crate) fn with(&self, entry: Arc<Entry>, sent: &HeaderMap, most: usize) -> Resource {
        let mut variants = Vec::with_capacity(self.variants.len() + 1);
        variants.push(entry);
        let other = |known: &&Arc<Entry>| !known.head.answers(sent);
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

/// Which of these, the newest first, answers such a request: one that says on what it depends, else the newest. One
/// that forgot to say so would be given to all otherwise, in place of what was made for them (RFC 9111 4.1).
pub(crate) fn choose<'a>(heads: impl Iterator<Item = &'a Head>, sent: &HeaderMap) -> Option<usize> {
    let mut newest = None;
    for (at, head) in heads.enumerate().filter(|(_, head)| head.answers(sent)) {
        match head.is_for_all() {
            false => return Some(at),
            true if at == 0 => newest = Some(at),
            true => (),
        }
    }
    newest
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
