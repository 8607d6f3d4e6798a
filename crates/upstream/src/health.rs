//! Active health: a question in a fixed rhythm, and how many answers in a row change an endpoint's state.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, Uri, header};
use http1_wire::Ask;
use kernel::clock;

use crate::channel;
use crate::endpoint::Endpoint;
use crate::error::Cause;
use crate::outgoing::Outgoing;
use crate::spec::Health;

/// What an endpoint has answered so far. The first answer decides alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Streak {
    up: Option<bool>,
    /// Answers in a row that speak against the state it is in.
    against: u32,
}

impl Streak {
    /// What an endpoint that is already in a state goes on from.
    pub(crate) fn standing(up: bool) -> Self {
        Self {
            up: Some(up),
            against: 0,
        }
    }

    /// Hears an answer; the new state if that changes it.
    pub(crate) fn hear(&mut self, good: bool, health: &Health) -> Option<bool> {
        match self.up {
            Some(up) if up == good => {
                self.against = 0;
                return None;
            }
            Some(_) => self.against += 1,
            None => self.against = u32::MAX,
        }
        let needed = if good {
            health.healthy_after
        } else {
            health.unhealthy_after
        };
        if self.against < needed {
            return None;
        }
        *self = Self::standing(good);
        Some(good)
    }
}

/// Asks an endpoint how it is, over a connection of its own; nothing when it has none left for that.
pub(crate) async fn ask(endpoint: &Endpoint, health: &Health) -> Option<bool> {
    let until = clock::now() + health.timeout;
    let asked = tokio::time::timeout_at(until, answer(endpoint, health)).await;
    asked.unwrap_or(Some(false))
}

async fn answer(endpoint: &Endpoint, health: &Health) -> Option<bool> {
    let until = clock::now() + health.timeout.max(Duration::from_millis(1));
    let mut channel = match channel::open(endpoint, until).await {
        Ok((channel, _)) => channel,
        // All its connections are busy: so it is not dead.
        Err(error) if error.cause() == Cause::Busy => return None,
        Err(_) => return Some(false),
    };
    let Ok(uri) = health.path.parse::<Uri>() else {
        return Some(false);
    };
    let name = HeaderValue::from_static("macronode-health");
    let headers = HeaderMap::from_iter([(header::USER_AGENT, name)]);
    let ask = Ask {
        method: &Method::GET,
        uri: &uri,
        headers: &headers,
        more: &[],
    };
    let asked = channel.exchange(endpoint, &ask, Outgoing::Empty, false, until);
    let status = asked.await.map(|response| response.status());
    Some(status.is_ok_and(|status| status.is_success() || status.is_redirection()))
}

#[cfg(test)]
mod tests;
