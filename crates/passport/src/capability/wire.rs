//! The bytes of a passport; the crate's documentation specifies them.

use zeroize::Zeroizing;

use super::{
    CAVEATS_MAX, GRANTS_MAX, Grant, ITEM_BYTES_MAX, NONCE_BYTES, PASSPORT_PREFIX, Passport,
    ROOT_ID_BYTES_MAX, TAG_BYTES,
};
use crate::identity::UnixSeconds;
use crate::tenant::is_name;

const VERSION: u8 = 1;

/// All that the first tag covers.
pub(super) fn head(passport: &Passport) -> Vec<u8> {
    let grant = &passport.grant;
    let mut bytes = vec![VERSION, passport.root.len() as u8];
    bytes.extend(passport.root.as_bytes());
    bytes.extend(passport.nonce);
    bytes.extend(grant.until.0.to_be_bytes());
    bytes.push((1 + grant.classes.len() + grant.tags.len()) as u8);
    item(&mut bytes, &format!("tenant={}", grant.tenant));
    for class in &grant.classes {
        item(&mut bytes, &format!("class={class}"));
    }
    for tag in &grant.tags {
        item(&mut bytes, &format!("tag={tag}"));
    }
    bytes
}

pub(super) fn write(passport: &Passport) -> Vec<u8> {
    let mut bytes = head(passport);
    // Reserved first: a buffer that grew would leave a copy of what it held behind.
    bytes.reserve_exact(tail_len(passport));
    for caveat in &passport.caveats {
        item(&mut bytes, caveat);
    }
    bytes.extend(&passport.tag[..]);
    bytes
}

/// Characters of the whole text.
pub(super) fn text_len(passport: &Passport) -> usize {
    let bytes = head(passport).len() + tail_len(passport);
    PASSPORT_PREFIX.len() + (bytes * 4).div_ceil(3)
}

fn tail_len(passport: &Passport) -> usize {
    let caveats: usize = passport.caveats.iter().map(|caveat| 2 + caveat.len()).sum();
    caveats + TAG_BYTES
}

fn item(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u16).to_be_bytes());
    bytes.extend(text.as_bytes());
}

/// `None` for anything that [`write`] would not have written.
pub(super) fn read(bytes: &[u8]) -> Option<Passport> {
    let (body, tag) = bytes.split_last_chunk::<TAG_BYTES>()?;
    let mut reader = Reader(body);
    if reader.byte()? != VERSION {
        return None;
    }
    let length = usize::from(reader.byte()?);
    let root = reader.text(length)?;
    if length > ROOT_ID_BYTES_MAX || !is_name(root) {
        return None;
    }
    let nonce = reader.chunk::<NONCE_BYTES>()?;
    let grant = grant(&mut reader)?;
    let mut caveats = Vec::new();
    while !reader.0.is_empty() {
        if caveats.len() == CAVEATS_MAX {
            return None;
        }
        caveats.push(reader.item()?.into());
    }
    Some(Passport {
        root: root.into(),
        nonce,
        grant,
        caveats,
        tag: Zeroizing::new(*tag),
    })
}

/// The tenant, then classes, then tags: the one order in which they are written.
fn grant(reader: &mut Reader<'_>) -> Option<Grant> {
    let until = UnixSeconds(u64::from_be_bytes(reader.chunk()?));
    let count = usize::from(reader.byte()?);
    if !(1..=GRANTS_MAX).contains(&count) {
        return None;
    }
    let mut grant = Grant::to(reader.item()?.strip_prefix("tenant=")?, until);
    for _ in 1..count {
        match reader.item()?.split_once('=')? {
            ("class", class) if grant.tags.is_empty() => grant.classes.push(class.to_owned()),
            ("tag", tag) => grant.tags.push(tag.to_owned()),
            _ => return None,
        }
    }
    grant.is_good().then_some(grant)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*chunk)
    }

    fn text(&mut self, length: usize) -> Option<&'a str> {
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    fn item(&mut self) -> Option<&'a str> {
        let length = usize::from(u16::from_be_bytes(self.chunk()?));
        let text = self.text(length)?;
        (length <= ITEM_BYTES_MAX).then_some(text)
    }
}
