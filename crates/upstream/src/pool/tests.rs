use http_body_util::{BodyExt, Empty, Full};
use testkit::upstream::{Fault, Reply as Answer, Upstream};

use super::*;
use crate::{Cause, EndpointId, SendError, Stage};
use bytes::Bytes;
use http::Request;

mod choice;
mod connections;
mod doubts;
mod exchanges;
mod faults;
mod shared;
mod simulation;
mod streams;
mod upgrades;

/// The time tests give a request.
const PATIENCE: Duration = Duration::from_secs(5);

fn spec(origins: &[&Upstream]) -> PoolSpec {
    let endpoint = |origin: &&Upstream| {
        EndpointSpec::parse(&format!("http://{}", origin.addr())).expect("an address is one")
    };
    PoolSpec::new("test", origins.iter().map(endpoint).collect())
}

fn pool(spec: PoolSpec) -> Arc<Pool> {
    let registry = Registry::default();
    Pool::new(spec, &registry, Blocking::new(&registry))
}

fn pick(pool: &Pool) -> Pick {
    try_pick(pool).expect("somebody can be chosen")
}

fn try_pick(pool: &Pool) -> Result<Pick, NoEndpoint> {
    pool.pick(clock::now(), None, &Tried::default())
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    let request = Request::get(path).header("host", "test.example");
    request.body(Empty::new()).expect("a good request")
}

/// Status and body, within [`PATIENCE`]; a timeout drops the request as a gateway would.
async fn fetch(pool: &Pool, path: &str) -> Result<(u16, Bytes), SendError> {
    fetch_until(pool, path, clock::now() + PATIENCE)
        .await
        .expect("in time")
}

async fn fetch_until(
    pool: &Pool,
    path: &str,
    until: Instant,
) -> Result<Result<(u16, Bytes), SendError>, tokio::time::error::Elapsed> {
    let work = async {
        let response = pick(pool).send(get(path), until).await?;
        let status = response.status().as_u16();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    };
    tokio::time::timeout_at(until, work).await
}

fn only(pool: &Pool) -> crate::EndpointView {
    let mut endpoints = pool.view().endpoints;
    assert_eq!(endpoints.len(), 1);
    endpoints.remove(0)
}
