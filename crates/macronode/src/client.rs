//! A client of a node's admin server, for `status`, `drain` and `reload`.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST};
use http::{Method, Request};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// The longest answer that is read.
const MOST: usize = 8 << 20;
/// How long one exchange may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the node said.
#[derive(Debug)]
pub(crate) struct Said {
    /// The status.
    pub(crate) status: u16,
    /// The body, as JSON where it is.
    pub(crate) body: Value,
}

/// Why a node did not do what was asked; a sentence for people.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Nobody listens there.
    Gone(String),
    /// No answer came, or none that can be understood.
    Unreachable(String),
    /// It answered no.
    Refused(String),
}

/// Asks the node at `admin`.
pub(crate) async fn ask(
    admin: SocketAddr,
    token: Option<&str>,
    method: Method,
    path: &str,
) -> Result<Said, Trouble> {
    let late = |_| {
        let seconds = PATIENCE.as_secs();
        Trouble::Unreachable(format!(
            "the node at {admin} did not answer within {seconds} s"
        ))
    };
    let exchange = tokio::time::timeout(PATIENCE, exchange(admin, token, method, path)).await;
    exchange.map_err(late)?.map_err(|error| {
        let refused = error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused);
        let why = format!("no node answers at {admin}: {error}");
        if refused {
            Trouble::Gone(why)
        } else {
            Trouble::Unreachable(why)
        }
    })
}

type Error = Box<dyn std::error::Error + Send + Sync>;

async fn exchange(
    admin: SocketAddr,
    token: Option<&str>,
    method: Method,
    path: &str,
) -> Result<Said, Error> {
    let stream = TcpStream::connect(admin).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, admin.to_string());
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    let answer = async {
        let answer = sender
            .send_request(request.body(Empty::<Bytes>::new())?)
            .await?;
        let status = answer.status().as_u16();
        let body = Limited::new(answer.into_body(), MOST)
            .collect()
            .await?
            .to_bytes();
        let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
        Ok(Said {
            status,
            body: serde_json::from_slice(&body).unwrap_or_else(|_| text()),
        })
    };
    tokio::pin!(answer);
    tokio::select! {
        said = &mut answer => said,
        // The connection drives the exchange; a node that drains closes it as soon as it has answered.
        ended = connection => {
            ended?;
            answer.await
        }
    }
}
