//! What may be somebody else's fault, and from when on it is the endpoint's.
//!
//! An endpoint that says it has no place may be sent too much, and a caller who leaves early may have asked for too
//! much in too little time. One success shows that it is so; nothing else for a while shows that it is not.

use std::time::Duration;

use crate::record::Verdict;

/// How long an endpoint may do nothing but that.
const BENEFIT: Duration = Duration::from_secs(1);
/// Who has waited so many times as long as the slowest of late has waited long enough.
const LONG: u32 = 4;

/// What is doubtful since the last success.
#[derive(Debug, Default)]
pub(crate) struct Doubt {
    succeeded_at: Duration,
    open: Option<Open>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    since: Duration,
    /// How long answers took until then.
    usual: Option<Duration>,
}

impl Doubt {
    /// The same verdict without any doubt about it.
    pub(crate) fn weigh(&mut self, now: Duration, verdict: Verdict) -> Verdict {
        let (began, usual, waited) = match verdict {
            Verdict::Success => {
                self.succeeded_at = now;
                self.open = None;
                return verdict;
            }
            Verdict::Failure | Verdict::Nothing => return verdict,
            Verdict::Overrun => (now, None, None),
            Verdict::CutShort { waited, usual } => {
                let began = now.saturating_sub(waited);
                (began.max(self.succeeded_at), usual, Some(waited))
            }
        };
        let open = self.open.get_or_insert(Open {
            since: began,
            usual,
        });
        open.since = open.since.min(began);
        let long = open.usual.or(usual).map_or(BENEFIT, |usual| usual * LONG);
        let was_enough = waited.is_none_or(|waited| waited >= long);
        match was_enough && now.saturating_sub(open.since) >= BENEFIT {
            true => Verdict::Failure,
            false => Verdict::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
