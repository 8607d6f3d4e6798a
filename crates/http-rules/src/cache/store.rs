//! Whether a response may be kept (RFC 9111 3), and what is to be remembered of it.

use super::age::initial_age;
use super::control::{Control, Fields};
use super::freshness::{Source, lifetime, may_be_guessed};
use super::validate::has_validator;
use super::vary::Varies;
use super::{Answered, Asked, Cookies, Rules, targeted};
use http::header::{self, HeaderName};
use http::{Method, StatusCode};

/// What decides about the use of a response that is kept. Small, so that it is worked out once and not at each hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Seconds for which it is fresh.
    pub lifetime_s: u64,
    /// Seconds of age it came with.
    pub initial_age_s: u64,
    /// When it came.
    pub came_at_ms: u64,
    /// Seconds past its time in which it may be given out while it is asked for anew.
    pub stale_while_revalidate_s: u64,
    /// Seconds past its time in which it may be given out when the origin fails.
    pub stale_if_error_s: u64,
    /// Never without asking first, fresh or not.
    pub no_cache: bool,
    /// Never past its time, whatever a client accepts.
    pub must_revalidate: bool,
}

/// A response that may be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storable {
    /// What decides about its use.
    pub policy: Policy,
    /// Headers that are not kept with it.
    pub without: Vec<HeaderName>,
    /// What of a request it depends on.
    pub varies: Varies,
}

/// Why a response is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// Only answers to GET are.
    Method,
    /// The status is not final, or cannot stand alone.
    Status,
    /// One side forbids it.
    NoStore,
    /// It is for one user.
    Private,
    /// It was asked for with credentials, and nothing says that others may have it.
    Authorization,
    /// It sets a cookie.
    SetCookie,
    /// It depends on what no request shows.
    VaryStar,
    /// It would never be used: no time, nothing to ask with.
    Useless,
}

impl WhyNot {
    /// A stable word for headers, logs and metrics.
    pub fn reason(self) -> &'static str {
        match self {
            WhyNot::Method => "method",
            WhyNot::Status => "status",
            WhyNot::NoStore => "no-store",
            WhyNot::Private => "private",
            WhyNot::Authorization => "authorization",
            WhyNot::SetCookie => "set-cookie",
            WhyNot::VaryStar => "vary",
            WhyNot::Useless => "no-freshness",
        }
    }
}

/// Whether this answer to this request may be kept, and how.
pub fn storable(
    asked: &Asked<'_>,
    answer: &Answered<'_>,
    rules: &Rules,
) -> Result<Storable, WhyNot> {
    if *asked.method != Method::GET {
        return Err(WhyNot::Method);
    }
    if answer.status.is_informational() || answer.status == StatusCode::NOT_MODIFIED {
        return Err(WhyNot::Status);
    }
    let targeted = targeted::control(answer.headers, rules);
    let is_targeted = targeted.is_some();
    let control = targeted.unwrap_or_else(|| Control::of(answer.headers, &header::CACHE_CONTROL));
    permitted(asked, answer, &control, rules)?;
    let varies = Varies::of(answer.headers).ok_or(WhyNot::VaryStar)?;
    let lifetime = lifetime(answer, &control, is_targeted, rules);
    if lifetime.source == Source::Guessed && !control.public && !may_be_guessed(answer.status) {
        return Err(WhyNot::Status);
    }
    let policy = policy(answer, &control, lifetime.seconds, rules);
    if !policy.is_useful() && !has_validator(answer.headers) {
        return Err(WhyNot::Useless);
    }
    Ok(Storable {
        policy,
        without: without(&control, rules),
        varies,
    })
}

fn permitted(
    asked: &Asked<'_>,
    answer: &Answered<'_>,
    control: &Control,
    rules: &Rules,
) -> Result<(), WhyNot> {
    let request = Control::of(asked.headers, &header::CACHE_CONTROL);
    if request.no_store && rules.clients_decide {
        return Err(WhyNot::NoStore);
    }
    match (control.must_understand, control.no_store) {
        (true, _) if !is_understood(answer.status) => return Err(WhyNot::Status),
        // Who understands the status is told to look past `no-store`.
        (true, _) | (false, false) => (),
        (false, true) => return Err(WhyNot::NoStore),
    }
    if control.private.is_all() {
        return Err(WhyNot::Private);
    }
    let shared = control.public || control.must_revalidate || control.s_maxage.is_some();
    if asked.headers.contains_key(header::AUTHORIZATION) && !shared {
        return Err(WhyNot::Authorization);
    }
    let named = [&control.private, &control.no_cache].map(Fields::names);
    let left_out = named.concat().contains(&header::SET_COOKIE);
    let sets = answer.headers.contains_key(header::SET_COOKIE) && !left_out;
    if sets && rules.cookies == Cookies::Refuse {
        return Err(WhyNot::SetCookie);
    }
    Ok(())
}

/// Statuses whose meaning for a cache is implemented here.
fn is_understood(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        200 | 203 | 204 | 206 | 300..=303 | 307 | 308 | 400 | 403..=405 | 410 | 414 | 500..=504
    )
}

fn policy(answer: &Answered<'_>, control: &Control, lifetime_s: u64, rules: &Rules) -> Policy {
    let forbidden = control.must_revalidate || control.proxy_revalidate;
    // The number for shared caches forbids stale use by itself, unless the origin says in the same breath how stale.
    let implied = control.s_maxage.is_some();
    let window = |said: Option<u64>, rule: u64| match said {
        _ if forbidden => 0,
        Some(seconds) => seconds,
        None if implied => 0,
        None => rule,
    };
    Policy {
        lifetime_s,
        initial_age_s: initial_age(answer),
        came_at_ms: answer.came_at_ms,
        stale_while_revalidate_s: window(
            control.stale_while_revalidate,
            rules.stale_while_revalidate_s,
        ),
        stale_if_error_s: window(control.stale_if_error, rules.stale_if_error_s),
        no_cache: control.no_cache.is_all(),
        must_revalidate: forbidden || implied,
    }
}

fn without(control: &Control, rules: &Rules) -> Vec<HeaderName> {
    let mut names: Vec<HeaderName> = control.private.names().to_vec();
    names.extend_from_slice(control.no_cache.names());
    if rules.cookies == Cookies::Strip {
        names.push(header::SET_COOKIE);
    }
    names
}

impl Policy {
    /// Whether there is a moment at which it can be used without asking.
    fn is_useful(&self) -> bool {
        let left = self.lifetime_s > self.initial_age_s;
        let stale = self.stale_while_revalidate_s.max(self.stale_if_error_s);
        !self.no_cache && (left || self.lifetime_s.saturating_add(stale) > self.initial_age_s)
    }
}
