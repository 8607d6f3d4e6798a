//! How long a response is fresh (RFC 9111 4.2.1, 4.2.2).

use super::age::{made_at, only};
use super::control::Control;
use super::{Answered, Lifetime, Rules};
use crate::date;
use http::StatusCode;
use http::header;

/// How long, and on whose word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) seconds: u64,
    pub(super) source: Source,
}

/// On whose word a response is fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The origin's, or the operator's in its place.
    Said,
    /// Nobody's: a guess, or none.
    Guessed,
}

/// The lifetime of an answer. `targeted` says that `control` did not come from `Cache-Control`: then `Expires` has no
/// say either.
pub(super) fn lifetime(
    answer: &Answered<'_>,
    control: &Control,
    targeted: bool,
    rules: &Rules,
) -> Span {
    let rule = rules
        .lifetimes
        .iter()
        .find(|rule| rule.status == answer.status);
    let overriding = rule.filter(|rule| rule.overrides).map(|rule| rule.seconds);
    let said = overriding.or_else(|| said(answer, control, targeted));
    let said = said.or(rule.map(|Lifetime { seconds, .. }| *seconds));
    match said {
        Some(seconds) => Span {
            seconds,
            source: Source::Said,
        },
        None => Span {
            seconds: guess(answer, control, rules),
            source: Source::Guessed,
        },
    }
}

fn said(answer: &Answered<'_>, control: &Control, targeted: bool) -> Option<u64> {
    let from_control = control.s_maxage.or(control.max_age);
    from_control.or_else(|| (!targeted).then(|| expires(answer)).flatten())
}

/// From its own date to when it expires. A date that cannot be read, or two of them, lie in the past.
fn expires(answer: &Answered<'_>) -> Option<u64> {
    answer.headers.get(header::EXPIRES)?;
    let came_at = answer.came_at_ms / 1000;
    let from = made_at(answer).unwrap_or(came_at);
    let until = only(answer.headers, &header::EXPIRES).and_then(|text| date::parse(text, came_at));
    Some(until.map_or(0, |until| until.saturating_sub(from)))
}

/// A share of the time for which it has not changed, where the status allows to guess at all.
fn guess(answer: &Answered<'_>, control: &Control, rules: &Rules) -> u64 {
    if !control.public && !may_be_guessed(answer.status) {
        return 0;
    }
    let came_at = answer.came_at_ms / 1000;
    let changed = only(answer.headers, &header::LAST_MODIFIED);
    let changed = changed.and_then(|text| date::parse(text, came_at));
    let made = made_at(answer).unwrap_or(came_at);
    let unchanged = changed.map_or(0, |changed| made.saturating_sub(changed));
    let share = unchanged.saturating_mul(rules.heuristic_percent) / 100;
    share.min(rules.heuristic_max_s)
}

/// Statuses that may be kept though nothing is said (RFC 9110 15.1).
pub(super) fn may_be_guessed(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        200 | 203 | 204 | 206 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501
    )
}
