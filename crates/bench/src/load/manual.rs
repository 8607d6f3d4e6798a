//! A load by hand, for trying a server out: one stream at a steady rate.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::open::{Outcome, Plan, Stream};
use super::request;
use super::tally::quantile_ms;
use crate::cores::{self, Rank};
use crate::peers::OTHER_CORE;

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each field is named after its option")]
pub struct Manual {
    pub target: SocketAddr,
    pub path: String,
    pub tenant: String,
    pub rate_per_s: f64,
    pub seconds: f64,
}

impl Manual {
    /// Sends it and says in some lines what became of it.
    pub fn run(&self) -> io::Result<String> {
        cores::go_first(Rank::Load);
        cores::pin(OTHER_CORE);
        let tenant = [("X-Tenant", self.tenant.as_str())];
        let headers = if self.tenant.is_empty() {
            &[][..]
        } else {
            &tenant
        };
        let length = Duration::from_secs_f64(self.seconds.clamp(0.1, 3_600.0));
        let outcome = Outcome::of(&Plan {
            target: self.target,
            streams: vec![Stream::steady(
                "all",
                self.rate_per_s,
                request("GET", self.target, &self.path, headers, b""),
                Ipv4Addr::new(127, 1, 0, 1),
            )],
            warm_up: Duration::ZERO,
            length,
            patience: Duration::from_millis(1_500),
            connections_max: 8_000,
        })?;
        Ok(said(&outcome))
    }
}

fn said(outcome: &Outcome) -> String {
    let all = &outcome.streams[0];
    let at = |quantile| quantile_ms(&all.latency, quantile);
    format!(
        "{} sent, {:.2} % ok, refused {:?}, {} timed out, {} lost\n\
         latency p50 {:.1} p99 {:.1} max {:.1} ms; refusals p99 {:.1} ms\n\
         {} connections; the generator was {:.2} ms late at p99\n",
        all.intended,
        all.ok_percent(),
        all.refused,
        all.timed_out,
        all.lost,
        at(0.5),
        at(0.99),
        at(1.0),
        quantile_ms(&all.refusal, 0.99),
        outcome.connections,
        outcome.late_p99_ms(),
    )
}
