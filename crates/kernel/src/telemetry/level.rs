//! Which events are logged, read strictly: a misspelt level is refused, where the usual syntax takes it for a target.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;

/// A part of a level setting that means nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no log level; write off, error, warn, info, debug or trace, \
     then perhaps target=level for single targets, separated by commas"
)]
pub struct LevelError(String);

/// Whether `setting` can be given to the log.
pub fn check_level(setting: &str) -> Result<(), LevelError> {
    parse(setting).map(drop)
}

/// The target of access logs. What they hold has keys of its own: the level of all else says nothing about them.
const ACCESS: &str = "access";

pub(super) fn parse(setting: &str) -> Result<Targets, LevelError> {
    let targets = Targets::new().with_target(ACCESS, LevelFilter::INFO);
    setting
        .split(',')
        .map(str::trim)
        .try_fold(targets, |targets, part| {
            add(targets, part).ok_or_else(|| LevelError(part.to_owned()))
        })
}

fn add(targets: Targets, part: &str) -> Option<Targets> {
    match part.split_once('=') {
        Some((target, word)) if is_target(target) => {
            Some(targets.with_target(target, level(word)?))
        }
        Some(_) => None,
        None => Some(targets.with_default(level(part)?)),
    }
}

fn is_target(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-' | '.');
    !name.is_empty() && name.chars().all(allowed)
}

fn level(word: &str) -> Option<LevelFilter> {
    Some(match word {
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "warn" => LevelFilter::WARN,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_level_holds_for_all_targets_but_those_that_have_their_own() {
        let targets = parse("info, kernel=debug,kernel::bus=off").unwrap();
        assert!(targets.would_enable("hyper", &Level::INFO));
        assert!(!targets.would_enable("hyper", &Level::DEBUG));
        assert!(targets.would_enable("kernel::pool", &Level::DEBUG));
        assert!(!targets.would_enable("kernel::bus", &Level::ERROR));
    }

    // req: GW-18
    #[test]
    fn the_access_log_is_there_at_every_level_but_its_own() {
        for (setting, there) in [
            ("warn", true),
            ("off", true),
            ("warn,access=off", false),
            ("access=warn,info", false),
        ] {
            let targets = parse(setting).unwrap();
            assert_eq!(
                targets.would_enable("access", &Level::INFO),
                there,
                "{setting}"
            );
        }
    }

    #[test]
    fn what_is_no_level_is_refused_and_named() {
        for (setting, culprit) in [
            ("", ""),
            ("inf", "inf"),
            ("INFO", "INFO"),
            ("3", "3"),
            ("info,", ""),
            ("info,kernel", "kernel"),
            ("info,kernel=", "kernel="),
            ("info,=debug", "=debug"),
            ("info,a b=debug", "a b=debug"),
            ("info,[span]=debug", "[span]=debug"),
            ("info,kernel=debug=trace", "kernel=debug=trace"),
        ] {
            assert_eq!(
                check_level(setting),
                Err(LevelError(culprit.to_owned())),
                "{setting}"
            );
        }
    }
}
