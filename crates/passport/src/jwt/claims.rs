//! What a token claims, judged after its signature.

use std::fmt;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::{Authority, Stamp, Verified};
use crate::denied::Denied;
use crate::identity::{Class, UnixSeconds};
use crate::settings::Audience;
use crate::tenant::{TAGS_MAX, is_name, is_tenant};

impl Authority {
    pub(super) fn judge(
        &self,
        claims: &Map<String, Value>,
        now: UnixSeconds,
        stamp: Stamp,
    ) -> Result<Verified, Denied> {
        let issuer = &self.issuer;
        let leeway = issuer.leeway_s;
        let expiry = time(claims, "exp")?.ok_or(Denied::NoExpiry)?;
        let until = expiry.plus(leeway);
        if now >= until {
            return Err(Denied::Expired);
        }
        if time(claims, "nbf")?.is_some_and(|from| from > now.plus(leeway)) {
            return Err(Denied::NotYet);
        }
        if !for_us(&issuer.audience, claims.get("aud")) {
            return Err(Denied::Audience);
        }
        Ok(Verified {
            tenant: self.tenant(claims)?,
            class: self.class(claims),
            tags: self.tags(claims)?,
            until,
            stamp,
        })
    }

    fn tenant(&self, claims: &Map<String, Value>) -> Result<String, Denied> {
        let id = match claim(claims, &self.issuer.tenant_claim) {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) if id.is_u64() => id.to_string(),
            _ => return Err(Denied::Claims),
        };
        let tenant = format!("{}{id}", self.issuer.tenant_prefix);
        let good = !id.is_empty() && is_tenant(&tenant);
        good.then_some(tenant).ok_or(Denied::BadTenant)
    }

    /// The first class in the order of the settings that a value of the claim stands for; else the issuer's own.
    fn class(&self, claims: &Map<String, Value>) -> Class {
        let name = self.issuer.class_claim.as_deref();
        let value = name.and_then(|name| claim(claims, name));
        let values = value.and_then(texts).unwrap_or_default();
        let known = self
            .classes
            .iter()
            .find(|(value, _)| values.contains(&value.as_str()));
        known.map_or(self.class, |(_, class)| *class)
    }

    fn tags(&self, claims: &Map<String, Value>) -> Result<Vec<String>, Denied> {
        let mut tags = self.issuer.tags.clone();
        let name = self.issuer.tags_claim.as_deref();
        if let Some(value) = name.and_then(|name| claim(claims, name)) {
            let claimed = texts(value).ok_or(Denied::Claims)?;
            tags.extend(claimed.into_iter().map(str::to_owned));
        }
        let good = tags.len() <= TAGS_MAX && tags.iter().all(|tag| is_name(tag));
        good.then_some(tags).ok_or(Denied::Claims)
    }
}

/// By name, or by JSON pointer when the name begins with a slash: `/realm_access/roles`.
fn claim<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let Some(pointer) = name.strip_prefix('/') else {
        return claims.get(name);
    };
    let (first, rest) = match pointer.find('/') {
        Some(at) => pointer.split_at(at),
        None => (pointer, ""),
    };
    let first = first.replace("~1", "/").replace("~0", "~");
    claims.get(&first)?.pointer(rest)
}

/// An array of texts, or one text with blanks between, as `scope` is written.
fn texts(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::String(text) => Some(text.split_ascii_whitespace().collect()),
        Value::Array(values) => values.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

fn for_us(audience: &Audience, claimed: Option<&Value>) -> bool {
    let Audience::OneOf(ours) = audience else {
        return true;
    };
    let ours = |value: &Value| {
        value
            .as_str()
            .is_some_and(|name| ours.iter().any(|own| own == name))
    };
    match claimed {
        Some(Value::Array(values)) => values.iter().any(ours),
        Some(value) => ours(value),
        None => false,
    }
}

/// A time in seconds, whole or with a fraction that is cut off.
fn time(claims: &Map<String, Value>, name: &str) -> Result<Option<UnixSeconds>, Denied> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let fraction = || {
        let seconds = value.as_f64()?;
        (0.0..9.0e15).contains(&seconds).then_some(seconds as u64)
    };
    let seconds = value.as_u64().or_else(fraction).ok_or(Denied::Claims)?;
    Ok(Some(UnixSeconds(seconds)))
}

/// A JSON object that says nothing twice: two parsers could believe two different things of one that does.
pub(super) fn object(json: &[u8]) -> Option<Map<String, Value>> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let claims = deserializer.deserialize_map(Object).ok()?;
    deserializer.end().ok()?;
    Some(claims)
}

struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut claims = Map::new();
        while let Some((name, value)) = access.next_entry()? {
            if claims.insert(name, value).is_some() {
                return Err(A::Error::custom("a claim is given twice"));
            }
        }
        Ok(claims)
    }
}
