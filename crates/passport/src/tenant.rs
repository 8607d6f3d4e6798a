//! What may be a tenant's or a tag's name, and the tenant's number for queues and quotas.

use crate::secret::Seed;

/// Longest tenant id.
pub const TENANT_BYTES_MAX: usize = 128;

/// Longest tag, and most tags an identity has.
pub const TAG_BYTES_MAX: usize = 128;
/// Most tags of one identity; a token with more is refused, for leaving some out could widen what it may do.
pub const TAGS_MAX: usize = 64;

/// Whether `text` may be a tenant id: 1 to 128 visible ASCII characters.
///
/// No blank, no control character: an id goes into logs, labels and headers as it is.
pub fn is_tenant(text: &str) -> bool {
    (1..=TENANT_BYTES_MAX).contains(&text.len()) && is_visible(text)
}

/// Whether `text` may be a tag: 1 to 128 visible ASCII characters, no comma.
pub fn is_tag(text: &str) -> bool {
    is_name(text)
}

/// Whether `text` may be a tag or the name of a class; commas part them in a caveat.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=TAG_BYTES_MAX).contains(&text.len()) && is_visible(text) && !text.contains(',')
}

pub(crate) fn is_visible(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Turns tenants into numbers by a secret, so that nobody can look for two tenants with the same number.
pub(crate) struct TenantKeys(zeroize::Zeroizing<[u8; 32]>);

impl TenantKeys {
    pub(crate) fn new(seed: &Seed) -> Self {
        Self(seed.derive("macronode passport 1 tenant numbers"))
    }

    pub(crate) fn key(&self, tenant: &str) -> u64 {
        let hash = blake3::keyed_hash(&self.0, tenant.as_bytes());
        let (head, _) = hash.as_bytes().split_at(8);
        u64::from_le_bytes(head.try_into().expect("eight bytes"))
    }
}
