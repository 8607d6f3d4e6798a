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

/// Asks the node at `admin`. Errors are sentences for people.
pub(crate) async fn ask(
    admin: SocketAddr,
    token: Option<&str>,
    method: Method,
    path: &str,
) -> Result<Said, String> {
    let exchange = tokio::time::timeout(PATIENCE, exchange(admin, token, method, path)).await;
    exchange
        .map_err(|_| {
            format!(
                "the node at {admin} did not answer within {} s",
                PATIENCE.as_secs()
            )
        })?
        .map_err(|error| format!("no node answers at {admin}: {error}"))
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
    tokio::pin!(connection);
    tokio::select! {
        said = answer => said,
        // The connection drives the exchange; it ends first only when it fails.
        ended = &mut connection => match ended {
            Ok(()) => Err("it closed the connection".into()),
            Err(error) => Err(error.into()),
        },
    }
}
