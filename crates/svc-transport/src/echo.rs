//! The echo: answers what it was sent, whole or as it comes.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};

use crate::reject::Refusal;
use crate::service::{Ask, BrokenOff, Handler, Opcode, Outflow, Reply};

/// The opcode of the echo.
pub const ECHO: u16 = 1;

static OPCODES: [Opcode; 1] = [Opcode {
    code: ECHO,
    name: "echo",
    inflight: 256,
    waiting: 256,
    deadline: Duration::from_secs(5),
    idempotent: true,
}];

/// The service of `app_proto` 2.
pub struct Echo;

impl Handler for Echo {
    fn opcodes(&self) -> &'static [Opcode] {
        &OPCODES
    }

    fn at_once(&self, ask: &Ask) -> Option<Result<Reply, Refusal>> {
        let whole = ask.whole()?;
        Some(Ok(Reply::whole(200, whole.clone())))
    }

    fn handle<'a>(&'a self, ask: &'a Ask) -> BoxFuture<'a, Result<Reply, Refusal>> {
        async move { answer(ask).await }.boxed()
    }
}

/// What is compressed may grow beyond a frame: then it goes back as a stream, too.
async fn answer(ask: &Ask) -> Result<Reply, Refusal> {
    if let Some(whole) = ask.whole() {
        return Ok(Reply::whole(200, whole.clone()));
    }
    let mut body = ask.body();
    // What cannot be read at all is refused rather than broken off.
    let head = body.next().await.transpose()?.unwrap_or_default();
    let rest = body.map(|piece| piece.map_err(broken_off));
    Ok(Reply {
        status: 200,
        head: Bytes::new(),
        body: Outflow::Stream(futures_util::stream::iter([Ok(head)]).chain(rest).boxed()),
    })
}

fn broken_off(why: Refusal) -> BrokenOff {
    BrokenOff {
        status: why.status(),
        reason: why.reason(),
    }
}
