//! Whoever runs the node: asks its admin server, as over any network.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use crate::config::{ADMIN, HTTP, TOKEN};
use crate::world::World;

/// Asks for something to be done; whatever is not done is a violation.
async fn post(world: &World, to: SocketAddr, path: &str) {
    let asked = tokio::time::timeout(Duration::from_secs(10), exchange(world, to, path)).await;
    match asked {
        Ok(Ok(status)) if status < 300 => {}
        other => world.violated(format!("POST {path} came to {other:?}")),
    }
}

async fn exchange(world: &World, to: SocketAddr, path: &str) -> Result<u16, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let end = world.net.dial(Ipv4Addr::LOCALHOST, to).await;
    let end = end.map_err(|error| said(&error))?;
    let shaken = http1::handshake(TokioIo::new(end)).await;
    let (mut sender, connection) = shaken.map_err(|error| said(&error))?;
    let connection = tokio::spawn(connection);
    let request = http::Request::post(path)
        .header("host", "node.sim")
        .header("connection", "close")
        .header("authorization", format!("Bearer {TOKEN}"))
        .body(Empty::<Bytes>::new())
        .map_err(|error| said(&error))?;
    let response = sender.send_request(request).await;
    let response = response.map_err(|error| said(&error))?;
    let status = response.status().as_u16();
    response
        .into_body()
        .collect()
        .await
        .map_err(|error| said(&error))?;
    let _ended = connection.await;
    Ok(status)
}

pub(crate) async fn kill_gateway_workers(world: &World, workers: usize) {
    post(world, HTTP, &format!("/chaos/kill?workers={workers}")).await;
}

pub(crate) async fn kill_transport_workers(world: &World, workers: usize) {
    let path = format!("/chaos/transport/kill?workers={workers}");
    post(world, ADMIN, &path).await;
}

pub(crate) async fn reload(world: &World) {
    post(world, ADMIN, "/reload").await;
}

pub(crate) async fn drain(world: &World) {
    post(world, ADMIN, "/drain").await;
}
