//! Forgetting on demand, as the admin server is asked for it: `?url=`, `?prefix=` or `?tag=`.

use std::sync::Arc;

use kernel::admin::Route;
use serde_json::{Value, json};

use crate::edge::Edge;
use crate::origin::Purge;

/// Where the admin server is asked.
pub static ACTION: Route = Route::acts(
    "/edge/purge",
    "forgets what is kept of origins, by `?url=`, `?prefix=` (paths as clients ask) or `?tag=`; needs the token",
    schema,
);

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["purged"],
        "properties": { "purged": { "type": "integer", "minimum": 0 } },
    })
}

impl Edge {
    /// Forgets what the query names, and says of how many addresses.
    pub async fn purge(self: Arc<Self>, query: String) -> Result<Value, String> {
        let purged = self.forget(parse(&query)?).await;
        Ok(json!({ "purged": purged }))
    }

    /// Forgets what is kept of origins, and says of how many addresses.
    pub async fn forget(&self, purge: Purge) -> u64 {
        let purged = self.shared.origins.purge(&purge).await;
        tracing::info!(?purge, purged, "purged");
        purged
    }
}

fn parse(query: &str) -> Result<Purge, String> {
    let usage = || "name one of url=, prefix= and tag=".to_owned();
    let (key, value) = query.split_once('=').ok_or_else(usage)?;
    let value = decoded(value).ok_or_else(|| "the value is not well escaped".to_owned())?;
    match (key, value.as_str()) {
        (_, "") => Err(usage()),
        ("url", path) if path.starts_with('/') => Ok(Purge::Url(value)),
        ("prefix", path) if path.starts_with('/') => Ok(Purge::Prefix(value)),
        ("url" | "prefix", _) => Err("a path begins with a slash".to_owned()),
        ("tag", _) => Ok(Purge::Tag(value)),
        _ => Err(usage()),
    }
}

/// What stands behind escapes. A value may hold anything else as it is: there is only one.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                (high << 4 | low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // req: ED-11
    #[test]
    fn a_purge_names_one_thing() {
        assert_eq!(
            parse("url=/a/b%3Fc=d"),
            Ok(Purge::Url("/a/b?c=d".to_owned()))
        );
        assert_eq!(
            parse("url=/a/b?c=d&e"),
            Ok(Purge::Url("/a/b?c=d&e".to_owned()))
        );
        assert_eq!(parse("prefix=/a/"), Ok(Purge::Prefix("/a/".to_owned())));
        assert_eq!(
            parse("tag=blog%20posts"),
            Ok(Purge::Tag("blog posts".to_owned()))
        );
        for bad in [
            "",
            "url",
            "url=",
            "url=a",
            "prefix=%2",
            "tag=%ff",
            "everything=/",
            "tag=",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
