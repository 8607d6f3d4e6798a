//! Reading an answer's body: bounded, counted, and checked against what was said of it.

use std::future::poll_fn;
use std::pin::Pin;

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use bytes::Bytes;
use http::HeaderMap;
use http_body::Body;
use http_rules::digest::{Algorithm, REPR_DIGEST, given};
use upstream::Reply;

use crate::origin::failure::Failure;

use super::{Flight, sending};

/// A body up to this length is given out when it is whole, so that one that breaks off is still a 502.
const SMALL_BYTES: u64 = 64 * 1024;

/// The headers that say what a body hashes to.
const DIGESTS: [&str; 2] = ["repr-digest", "content-digest"];

/// When an answer was asked for, and came.
#[derive(Clone, Copy)]
pub(super) struct Intake {
    pub(super) asked_at_ms: u64,
    pub(super) came_at_ms: u64,
}

/// Whether those who wait get it as it comes. What has no length may be without end, and what has a digest may be
/// false: of those nothing is shown before all is known.
pub(super) fn is_worth_showing(announced: Option<u64>, headers: &HeaderMap) -> bool {
    let checked = DIGESTS.iter().any(|name| headers.contains_key(*name));
    !checked && announced.is_some_and(|length| length > SMALL_BYTES)
}

/// Reads it all into the flight; more than `most` bytes are an error.
pub(super) async fn read(flight: &Flight, body: &mut Reply, most: u64) -> Result<(), Failure> {
    let mut bytes = 0;
    loop {
        let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
        let Some(frame) = frame else {
            return Ok(());
        };
        let frame = frame.map_err(|error| sending::failure(&error))?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        bytes += piece.len() as u64;
        if bytes > most {
            return Err(Failure::TooLarge);
        }
        if !piece.is_empty() {
            flight.piece(piece)?;
        }
    }
}

/// Every digest that can be checked is right.
pub(super) fn check_digests(headers: &HeaderMap, body: &Bytes) -> Result<(), Failure> {
    for name in DIGESTS {
        let mut said = HeaderMap::new();
        for line in headers.get_all(name) {
            said.append(REPR_DIGEST, line.clone());
        }
        for (algorithm, function) in [(Algorithm::Sha256, &SHA256), (Algorithm::Sha512, &SHA512)] {
            let said = given(&said, algorithm);
            if said.is_some_and(|said| said != digest(function, body).as_ref()) {
                return Err(Failure::Wrong);
            }
        }
    }
    Ok(())
}
