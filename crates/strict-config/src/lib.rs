//! Configuration that is refused as a whole or accepted as a whole: text in, every mistake at once or settings out.
//!
//! A service writes plain serde types for the text form and derives `JsonSchema`. The schema of the
//! root type drives the check of the document, the reference page, redaction and the comparison of two
//! configurations, so none of them can disagree with the types.
//!
//! Per key, by `#[schemars(extend(...))]`: `"x-reload" = "restart"` (`reload` unless said),
//! `"x-secret" = true` (brought along by [`Secret`]), `"x-url" = true` (of which user and query are masked, see
//! [`masked_url`]), `"x-allowed" = "what a value may be"`.
//!
//! ```
//! use strict_config::{ConfigText, SourceFile, Sources, load};
//!
//! #[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
//! #[serde(default)]
//! struct Shop {
//!     /// How many customers fit in.
//!     #[schemars(range(max = 40))]
//!     seats: u32,
//! }
//!
//! impl ConfigText for Shop {
//!     const ENV_PREFIX: &'static str = "SHOP__";
//! }
//!
//! let file = Some(SourceFile::new("shop.toml", "seats = 41\nsaets = 1\n"));
//! let mistakes = load::<Shop>(&Sources { file, ..Sources::default() }).unwrap_err();
//! let expected = "\
//! shop.toml:1:9: seats = 41: out of range; allowed: 0 to 40
//!      1 | seats = 41
//!        |         ^^
//! shop.toml:2:1: saets: is not a known key; did you mean `seats`?
//!      2 | saets = ***
//!        | ^^^^^";
//! assert_eq!(mistakes.to_string(), expected);
//! ```

mod audit;
mod check;
mod contents;
mod diff;
mod document;
mod findings;
mod given;
mod load;
mod mistake;
mod nearest;
mod overrides;
mod place;
mod read;
mod reference;
mod report;
mod secret;
mod shape;
mod toml_text;
mod url;

pub use audit::audit;
pub use contents::Stamp;
pub use diff::{Change, restart_needed};
pub use document::{Loaded, redact};
pub use load::{ConfigText, Loader, Sources, load};
pub use mistake::{Excerpt, Mistake, Mistakes, Origin};
pub use read::{MAX_FILE_BYTES, SourceFile, open_regular, read_file};
pub use reference::{KeyDoc, reference};
pub use report::Report;
pub use secret::Secret;
pub use shape::{Reload, schema};
pub use toml_text::{Comments, to_toml};
pub use url::masked_url;

// The sample configuration and the laws it is put to are shared with the fuzz target, which knows this
// crate by its name and cannot see into it.
#[cfg(test)]
extern crate self as strict_config;

#[cfg(test)]
#[expect(
    unreachable_pub,
    reason = "public for the fuzz target, which includes the file"
)]
mod exercise;
#[cfg(test)]
#[expect(
    unreachable_pub,
    reason = "public for the fuzz target, which includes the file"
)]
mod sample;

#[cfg(test)]
mod corpus {
    use std::path::Path;

    // req: AC-08
    #[test]
    fn the_fuzz_corpus_is_answered() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/config");
        let seeds = std::fs::read_dir(corpus)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let kept: Vec<_> = seeds.filter(|path| path.extension().is_some()).collect();
        assert!(kept.len() >= 10, "the corpus is gone");
        for seed in kept {
            super::exercise::exercise(&std::fs::read(&seed).unwrap());
        }
    }
}
