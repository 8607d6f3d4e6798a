//! What a service sees of a door: requests, who asks and through what, and what it must be able to say without one.

use std::error::Error;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_rules::forward::Forwarding;

use crate::reminder::Reminder;
use crate::sealed::Sealed;
use crate::tls::TlsFacts;
use crate::upload::Upload;

/// What a door does with requests.
pub trait Service: Send + Sync + 'static {
    /// The body of an answer.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;

    /// Answers one request. Dropped when the client goes away first. What it does not take is gone with it.
    fn call(
        &self,
        request: InPlace<'_>,
        visit: &Visit,
    ) -> impl Future<Output = Response<Self::Body>> + Send;

    /// The sealed bytes that this body is made of, or parts of, if it is.
    fn sealed(_body: &Self::Body) -> Option<&Sealed> {
        None
    }

    /// The client has not taken for a second what there was of this body, and more is to come; said each second.
    /// Whoever holds something for the body may let go of it: clients can be slow for as long as they like.
    fn kept_waiting(_body: Pin<&mut Self::Body>) {}

    /// The answer to what never became a request, or failed to become an answer. Counted by the service.
    fn refuse(&self, fault: Fault, visit: &Visit) -> Response<Bytes>;
}

/// A request that still lies where it was read: it is large, and each owner on the way would copy it.
pub struct InPlace<'a>(&'a mut Option<Request<Upload>>);

impl<'a> InPlace<'a> {
    /// The one that lies there.
    ///
    /// # Panics
    /// In a debug build, if there is none; else when it is looked at.
    pub fn new(lies: &'a mut Option<Request<Upload>>) -> Self {
        debug_assert!(lies.is_some(), "no request lies there");
        Self(lies)
    }

    /// A look at it.
    pub fn get(&self) -> &Request<Upload> {
        self.0.as_ref().expect("it lies there until it is taken")
    }

    /// Takes it away.
    pub fn take(self) -> Request<Upload> {
        self.0.take().expect("it lies there until it is taken")
    }
}

/// What went wrong outside of [`Service::call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A head that cannot be read, or can be read in two ways; 400, and the connection ends.
    Malformed,
    /// A head with more bytes or fields than a head may have; 431, and the connection ends.
    HeadTooLarge,
    /// A request target without end; 414, and the connection ends.
    TargetTooLong,
    /// The service panicked; 500, and the connection lives on.
    Panic,
}

/// Who asks, and through what.
#[derive(Clone, Debug)]
pub struct Visit {
    /// The client: as a trusted proxy says, else the other end of the socket.
    pub peer: SocketAddr,
    /// The other end of the socket.
    pub hop: SocketAddr,
    /// This end, or what the client connected to, as a trusted proxy says.
    pub local: SocketAddr,
    /// What the handshake agreed on; `None` on a plain connection.
    pub tls: Option<Arc<TlsFacts>>,
    /// What is spoken.
    pub protocol: Protocol,
    /// What the next server is told about the client: made once, for all requests of the connection.
    pub forwarding: Forwarding,
    /// Comes before the deadline of a request, where there is one request at a time.
    pub reminder: Reminder,
}

/// A version of HTTP that a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0 or 1.1.
    H1,
    /// HTTP/2.
    H2,
}
