//! The arguments of `key` and `passport`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::ConfigArgs;

/// Make API keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Print a new key and the config lines with its hash. The key is shown this once and kept nowhere.
    New {
        /// Whose it is.
        #[arg(long, default_value = "example")]
        tenant: String,
    },
}

/// Make, narrow and read passports.
#[derive(Debug, Subcommand)]
pub(crate) enum PassportCommand {
    /// Make a passport with the root key of a config (gateway.identity.passport).
    Mint(MintArgs),
    /// Print the same passport with caveats added; needs no key, and nobody can take them away.
    Attenuate(AttenuateArgs),
    /// Show what a passport says; with a config that has the root key, also whether it is good now.
    Inspect(InspectArgs),
}

/// What a passport gives.
#[derive(Args, Debug)]
pub(crate) struct MintArgs {
    /// Which config has the root key.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Whose share its requests draw on.
    #[arg(long)]
    pub(crate) tenant: String,
    /// How long it is good: a number and s, m, h or d, such as 90s or 30d.
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = span)]
    pub(crate) lasts: Duration,
    /// A class the holder may use (anon, authed, internal); may be repeated, the first counts.
    #[arg(long = "class", visible_alias = "classes", value_delimiter = ',')]
    pub(crate) classes: Vec<String>,
    /// A tag for policy rules; may be repeated.
    #[arg(long = "tag", visible_alias = "tags", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
}

/// What a passport loses.
#[derive(Args, Debug)]
pub(crate) struct AttenuateArgs {
    /// The passport; - or nothing reads it from standard input.
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) passport: String,
    /// Good for no longer than this from now on, such as 90s or 15m.
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub(crate) lasts: Option<Duration>,
    /// Good only for this path and what is below it.
    #[arg(long, value_name = "PREFIX")]
    pub(crate) path: Option<String>,
    /// Good only for these methods, such as GET,HEAD.
    #[arg(long, value_delimiter = ',')]
    pub(crate) methods: Vec<String>,
    /// Good only for request bodies up to so many bytes.
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_body: Option<u64>,
    /// Keeps only these of its classes.
    #[arg(long, visible_alias = "class", value_delimiter = ',')]
    pub(crate) classes: Vec<String>,
    /// Keeps only these of its tags.
    #[arg(long, visible_alias = "tag", value_delimiter = ',')]
    pub(crate) tags: Vec<String>,
}

/// Which passport to show.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// The passport; - or nothing reads it from standard input.
    #[arg(default_value = "-", hide_default_value = true)]
    pub(crate) passport: String,
    /// Which config has the root key.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// As JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A time as people write it.
fn span(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and s, m, h or d, such as 90s or 30d".to_owned();
    let (number, seconds) = match text.split_at_checked(text.len().saturating_sub(1)) {
        Some((number, "s")) => (number, 1),
        Some((number, "m")) => (number, 60),
        Some((number, "h")) => (number, 3_600),
        Some((number, "d")) => (number, 86_400),
        _ => return Err(wrong()),
    };
    let number: u32 = number.parse().map_err(|_| wrong())?;
    match number {
        0 => Err("it would never be good".to_owned()),
        number => Ok(Duration::from_secs(u64::from(number) * seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("2h", 7_200), ("30d", 2_592_000)] {
            assert_eq!(span(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "s",
            "5",
            "5w",
            "-1s",
            "1.5h",
            "0s",
            "99999999999d",
            "5 s",
            "5é",
        ] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
