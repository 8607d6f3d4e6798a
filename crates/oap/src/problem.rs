//! What an error frame says, as JSON.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// The payload of an answer of 400 and above.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Stable, for programs.
    pub reason: Cow<'static, str>,
    /// One sentence, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When to ask again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u32>,
    /// What the peer is told to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<Directive>,
}

/// What a refused peer is told: FAIL, RATE_LIMITED, RETRY, transient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directive {
    /// What became of the request: `FAIL`.
    pub control: Cow<'static, str>,
    /// Why: `RATE_LIMITED`.
    pub reason: Cow<'static, str>,
    /// What to do about it: `RETRY`.
    pub advice: Cow<'static, str>,
    /// Whether it may go better next time.
    pub transient: bool,
    /// The service that was asked.
    pub app_proto: u16,
    /// What it was asked for.
    pub opcode: u16,
    /// When to ask again.
    pub retry_after_ms: u32,
}

impl Directive {
    /// The one there is.
    pub fn rate_limited(app_proto: u16, opcode: u16, retry_after_ms: u32) -> Directive {
        Directive {
            control: "FAIL".into(),
            reason: "RATE_LIMITED".into(),
            advice: "RETRY".into(),
            transient: true,
            app_proto,
            opcode,
            retry_after_ms,
        }
    }
}

impl Problem {
    /// With nothing but its reason.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Problem {
        Problem {
            reason: reason.into(),
            ..Problem::default()
        }
    }

    /// With a sentence for people.
    pub fn detailed(self, detail: impl Into<String>) -> Problem {
        Problem {
            detail: Some(detail.into()),
            ..self
        }
    }

    /// As it goes into a frame.
    pub fn to_payload(&self) -> Bytes {
        serde_json::to_vec(self)
            .expect("strings and numbers are always JSON")
            .into()
    }

    /// As it came in a frame; an empty payload, or one of another form, says nothing but its status.
    pub fn from_payload(payload: &[u8]) -> Option<Problem> {
        serde_json::from_slice(payload).ok()
    }
}
