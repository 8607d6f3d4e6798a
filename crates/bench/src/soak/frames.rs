//! Requests in frames, beside those over HTTP.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use oap::app_proto;
use oap::bridge::{REQUEST, RequestHead};
use oap::client::{Ask, Client, Settings, Tcp};

/// Requests a second.
const RATE: f64 = 50.0;

/// What became of them.
#[derive(Debug, Default)]
pub(super) struct Framed {
    sent: u64,
    ok: u64,
    wrong: Option<String>,
}

impl Framed {
    pub(super) fn all_well(&self) -> bool {
        println!("frames: {} of {} answered well", self.ok, self.sent);
        if let Some(wrong) = &self.wrong {
            println!("  the first that was not: {wrong}");
        }
        self.ok == self.sent
    }
}

/// Asks one after the other, at a steady rate.
pub(super) async fn ask(target: SocketAddr, length: Duration) -> Framed {
    let client = Client::new(Tcp(target.to_string()), Settings::default());
    let head = RequestHead {
        method: "GET".parse().expect("a constant"),
        target: "/a".parse().expect("a constant"),
        authority: target.to_string().parse().expect("an address is one"),
        headers: Default::default(),
    };
    let mut payload = BytesMut::new();
    head.put(&mut payload).expect("a small head");
    let payload = payload.freeze();
    let ask = Ask {
        app_proto: app_proto::HTTP,
        opcode: REQUEST,
        ..Ask::default()
    };
    let (began, mut framed) = (Instant::now(), Framed::default());
    while began.elapsed() < length {
        framed.sent += 1;
        match client.call(&ask, payload.clone()).await {
            Ok(answer) if answer.status() == 200 => framed.ok += 1,
            other => {
                framed.wrong.get_or_insert_with(|| format!("{other:?}"));
            }
        }
        tokio::time::sleep(Duration::from_secs_f64(1.0 / RATE)).await;
    }
    client.shutdown().await;
    framed
}
