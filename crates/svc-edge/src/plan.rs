//! A config made ready for requests: each sees one whole.

use std::time::Duration;

use http::HeaderValue;
use rate_quota::{Quota, Rate};
use tile_pack::Limits;

use crate::config::EdgeText;
use crate::cors::Cors;
use crate::reject::Refusal;
use crate::tilejson::Base;

/// The config in force.
pub(crate) struct Plan {
    pub(crate) text: EdgeText,
    pub(crate) base: Option<Base>,
    pub(crate) cors: Cors,
    pub(crate) cache: HeaderValue,
    pub(crate) patience: Duration,
    rate: Option<Quota>,
}

impl Plan {
    pub(crate) fn new(text: &EdgeText) -> Result<Self, String> {
        let base = text.public_url.as_deref().map(Base::parse);
        let cache = format!("public, max-age={}", text.max_age_s);
        let rate = match text.limits.rps {
            0 => None,
            rps => {
                let rate = Rate::new(rps, Duration::from_secs(1));
                Some(Quota::new(rate.map_err(|error| error.to_string())?, 1))
            }
        };
        Ok(Self {
            base: base.transpose()?,
            cors: Cors::new(&text.cors),
            cache: HeaderValue::from_str(&cache).map_err(|error| error.to_string())?,
            patience: Duration::from_millis(text.timeouts.request_ms),
            rate,
            text: text.clone(),
        })
    }

    /// One request of the rate.
    pub(crate) fn charge(&self, now: Duration) -> Result<(), Refusal> {
        let Some(rate) = &self.rate else {
            return Ok(());
        };
        match rate.check(0, 1, now) {
            Ok(_) => Ok(()),
            Err(denied) => Err(Refusal::OverRate(
                denied.retry_after().unwrap_or(Duration::from_secs(1)),
            )),
        }
    }

    /// Bytes a request's body may have.
    pub(crate) fn body_bytes(&self) -> usize {
        usize::try_from(self.text.limits.body_bytes).unwrap_or(usize::MAX)
    }

    /// What reading a pack may cost.
    pub(crate) fn pack_limits(&self) -> Limits {
        Limits {
            tile_bytes: self.text.limits.tile_bytes,
            ..Limits::default()
        }
    }
}
