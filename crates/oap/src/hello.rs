//! HELLO: what each side can do, and what holds from then on.

use serde::{Deserialize, Serialize};

use crate::limits::{
    FRAME_BYTES_MAX, FRAME_BYTES_MIN, HELLO_BYTES_MAX, INFLIGHT, UA_BYTES_MAX, WINDOW_BYTES_MAX,
    WINDOW_BYTES_MIN,
};
use crate::meta::is_printable;
use crate::{Codec, Flags, Violation};

/// What one side can do; a field that is missing in JSON has its default, one that is not known is passed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hello {
    /// What it calls itself.
    pub ua: String,
    /// The versions it speaks.
    pub versions: Vec<u16>,
    /// The largest frame it takes, header included.
    pub max_frame: u32,
    /// How many requests it would have, or allow, in flight.
    pub max_inflight: u32,
    /// How many bytes of a stream it takes before it has granted any.
    pub window: u32,
    /// The flags it knows.
    pub flags: u16,
    /// The codecs it reads, best first; a name that is not known is passed over.
    #[serde(deserialize_with = "known_codecs")]
    pub codecs: Vec<Codec>,
}

/// What holds on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreed {
    /// What the server calls itself.
    #[serde(default)]
    pub ua: String,
    /// The version that is spoken.
    pub version: u16,
    /// The largest frame, in both directions.
    pub max_frame: u32,
    /// Requests in flight.
    pub max_inflight: u32,
    /// The server's receive window of each stream; the client's is in its HELLO.
    pub window: u32,
    /// Flags that may be set.
    pub flags: u16,
    /// What COMP means, if it may be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<Codec>,
}

impl Default for Hello {
    /// What holds where a HELLO says nothing: everything but compression.
    fn default() -> Self {
        Self {
            ua: String::new(),
            versions: vec![1],
            max_frame: FRAME_BYTES_MAX,
            max_inflight: INFLIGHT,
            window: WINDOW_BYTES_MIN,
            flags: (Flags::BASE | Flags::ACK_REQ).bits(),
            codecs: Vec::new(),
        }
    }
}

impl Hello {
    /// One that offers all there is.
    pub fn full(ua: impl Into<String>) -> Self {
        Self {
            ua: ua.into(),
            window: 4 * WINDOW_BYTES_MIN,
            flags: Flags::ALL.bits(),
            codecs: Codec::ALL.to_vec(),
            ..Self::default()
        }
    }

    /// A peer's, if it makes sense.
    pub(crate) fn read(payload: &[u8]) -> Result<Self, Violation> {
        let hello: Self = parse(payload)?;
        match hello.is_sound() {
            true => Ok(hello),
            false => Err(Violation::HelloBad),
        }
    }

    /// What a server of these abilities agrees on with a client of those.
    pub(crate) fn agree(&self, client: &Hello) -> Result<Agreed, Violation> {
        if !client.versions.contains(&1) {
            return Err(Violation::HelloVersion);
        }
        let flags = Flags::from_bits(self.flags).and(Flags::from_bits(client.flags));
        let codec = client.codecs.iter().find(|name| self.codecs.contains(name));
        let codec = codec.copied().filter(|_| flags.has(Flags::COMP));
        let flags = flags.and(Flags::BASE | Flags::ACK_REQ);
        Ok(Agreed {
            ua: self.ua.clone(),
            version: 1,
            max_frame: self.max_frame.min(client.max_frame),
            max_inflight: self.max_inflight.min(client.max_inflight),
            window: self.window,
            flags: flags.with_if(codec.is_some(), Flags::COMP).bits(),
            codec,
        })
    }

    /// Whether `answer` is one that a client of these abilities can live with.
    pub(crate) fn accepts(&self, answer: &Agreed) -> bool {
        let comp = Flags::from_bits(answer.flags).has(Flags::COMP);
        answer.version == 1
            && (FRAME_BYTES_MIN..=self.max_frame).contains(&answer.max_frame)
            && (1..=self.max_inflight).contains(&answer.max_inflight)
            && (WINDOW_BYTES_MIN..=WINDOW_BYTES_MAX).contains(&answer.window)
            && Flags::from_bits(answer.flags).within(Flags::from_bits(self.flags))
            && Flags::from_bits(answer.flags).has(Flags::BASE)
            && answer.codec.is_some() == comp
            && answer
                .codec
                .is_none_or(|codec| self.codecs.contains(&codec))
    }

    /// Within what the protocol allows.
    pub fn is_sound(&self) -> bool {
        let named = self.ua.is_empty() || is_printable(self.ua.as_bytes());
        named
            && self.ua.len() <= UA_BYTES_MAX
            && self.max_frame >= FRAME_BYTES_MIN
            && self.max_inflight >= 1
            && (WINDOW_BYTES_MIN..=WINDOW_BYTES_MAX).contains(&self.window)
            && Flags::from_bits(self.flags).has(Flags::BASE)
    }
}

impl Agreed {
    /// From a server's answer.
    pub(crate) fn read(payload: &[u8]) -> Result<Self, Violation> {
        parse(payload)
    }

    /// Whether a flag may be set.
    pub fn allows(&self, flag: Flags) -> bool {
        Flags::from_bits(self.flags).has(flag)
    }
}

fn parse<'de, T: Deserialize<'de>>(payload: &'de [u8]) -> Result<T, Violation> {
    // A list of the values in their order would do as well, if it were asked for.
    let is_object = payload.trim_ascii_start().starts_with(b"{");
    if payload.len() > HELLO_BYTES_MAX || !is_object {
        return Err(Violation::HelloBad);
    }
    serde_json::from_slice(payload).map_err(|_| Violation::HelloBad)
}

fn known_codecs<'de, D: serde::Deserializer<'de>>(names: D) -> Result<Vec<Codec>, D::Error> {
    let names = Vec::<std::borrow::Cow<'de, str>>::deserialize(names)?;
    Ok(names.iter().filter_map(|name| Codec::named(name)).collect())
}

#[cfg(test)]
mod tests;
