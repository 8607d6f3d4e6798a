//! What a session says of the frames it was given, and of those it would not send.

use bytes::Bytes;

use crate::{Frame, GoAway, Header, Meta, Problem, Refusal, Reset};

/// What a frame of the peer's means. The caller sends an answer, if there is one, before it reads on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// To a server: a client has introduced itself.
    Hello {
        /// Its credential holds for each request that brings none of its own.
        meta: Meta,
        /// What it gets.
        answer: Frame,
    },
    /// To a client: the server has answered, requests may be sent.
    Greeted,
    /// To a server: a request begins, or is there as a whole.
    Request {
        /// Who asks what.
        header: Header,
        /// Credential, deadline, trace.
        meta: Meta,
        /// The first of it.
        payload: Bytes,
    },
    /// To a client: an answer begins, or is there as a whole.
    Response {
        /// To what; its code is the status.
        header: Header,
        /// The first of it.
        payload: Bytes,
    },
    /// More of a request or an answer.
    Data {
        /// Of which; whether it is compressed, and the last.
        header: Header,
        /// The next of it.
        payload: Bytes,
    },
    /// More may be sent on this exchange.
    Credit(u64),
    /// The peer has given this exchange up. A server lets go of it when its work has stopped.
    Reset {
        /// Which.
        id: u64,
        /// Why.
        reset: Reset,
    },
    /// To a client: the server takes no more requests.
    GoAway(GoAway),
    /// To a client: the server closes, as something was wrong with the connection as a whole.
    Failed {
        /// As in HTTP.
        status: u16,
        /// What it said, if it can be read.
        problem: Option<Problem>,
    },
    /// The peer is there.
    Pong([u8; 8]),
    /// Something that is answered at once, and by nobody else.
    Answer(Frame),
    /// To a server: a request that is not admitted; answer with [`Refusal::answer`].
    Refused {
        /// Who asked what.
        header: Header,
        /// Why not.
        refusal: Refusal,
    },
    /// The rest of an exchange that is over.
    Dropped,
}

/// How a request begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// Whom to ask.
    pub app_proto: u16,
    /// What for; never 0.
    pub opcode: u16,
    /// On whose account; 0 is "as the credential says".
    pub tenant: u128,
    /// Credential, deadline, trace.
    pub meta: Meta,
    /// Whether its payloads are compressed.
    pub comp: bool,
}

/// Why a frame was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsent {
    /// HELLO has not been answered.
    #[error("the connection is not ready")]
    NotReady,
    /// As many requests are in flight as were agreed on.
    #[error("too many requests are in flight")]
    Full,
    /// The server takes no more.
    #[error("the server takes no more requests")]
    Draining,
    /// The exchange is over, or was reset.
    #[error("the exchange is over")]
    Over,
    /// There is no credit for so much.
    #[error("there is no credit for it")]
    Blocked,
    /// It does not fit into one frame.
    #[error("it does not fit into a frame")]
    TooLarge,
    /// The protocol has no such frame: opcode 0, a flag not agreed on, an empty chunk, a second answer.
    #[error("there is no such frame")]
    Unlawful,
}
