//! One connection of the origin: receive, record, work, answer, again.

use super::fault::{After, answer};
use super::journal::Recorded;
use super::{Desk, Reply};
use crate::http::Failure;
use crate::wire::inbox::Inbox;
use crate::wire::{Framing, Malformed, RequestHead};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

pub(super) async fn serve(mut stream: TcpStream, connection: u64, desk: Arc<Desk>) {
    // Without it the second small write of a slow body would wait for the peer's acknowledgement.
    let _ = stream.set_nodelay(true);
    let mut inbox = Inbox::default();
    for index in 0.. {
        let Some(request) = receive(&mut stream, &mut inbox, connection, index).await else {
            return;
        };
        let mut reply = choose(&desk, &request);
        let (closes, to_head) = (last(&desk, index, &request, &reply), is_head(&request));
        desk.journal.add(request);
        if !work(&desk, &reply).await {
            reply = Reply::status(503);
        }
        match answer(&mut stream, &reply, to_head).await {
            Ok(After::Reuse) if !closes => {}
            Ok(After::Reuse | After::Close) => return,
            Ok(After::Abandoned) | Err(_) => {
                desk.abandoned.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
    }
}

/// The next request, or nothing when the peer is done; a head that is no HTTP is recorded as such.
async fn receive(
    stream: &mut TcpStream,
    inbox: &mut Inbox,
    connection: u64,
    index: u64,
) -> Option<Recorded> {
    let read = read(stream, inbox).await;
    let (head, body) = match read {
        Ok((head, body)) => (Ok(head), body),
        Err(Failure::Malformed(why)) => (Err(why), Vec::new()),
        Err(Failure::Truncated) if !inbox.is_empty() => {
            (Err(Malformed("ended inside a request")), Vec::new())
        }
        Err(_) => return None,
    };
    let raw = if head.is_ok() {
        inbox.take_message()
    } else {
        inbox.take_all()
    };
    Some(Recorded {
        connection,
        index,
        at: Instant::now(),
        raw,
        head,
        body,
    })
}

async fn read(
    stream: &mut TcpStream,
    inbox: &mut Inbox,
) -> Result<(RequestHead, Vec<u8>), Failure> {
    let head = RequestHead::parse(&inbox.head(stream).await?)?;
    let framing = head.framing()?;
    if framing != Framing::Empty && head.headers.lists("expect", "100-continue") {
        let going_on = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
        going_on.map_err(|_| Failure::ResetMidResponse)?;
    }
    let body = inbox.body(stream, framing).await?;
    Ok((head, body))
}

fn choose(desk: &Desk, request: &Recorded) -> Reply {
    match &request.head {
        Ok(head) => desk.reply_to(head.path()).adjusted(head),
        Err(why) => Reply::status(400).body(format!("{why}\n")),
    }
}

/// The work goes on when the client has left: nothing here looks whether it is still there. False when there is no
/// place for it, and none is waited for.
async fn work(desk: &Desk, reply: &Reply) -> bool {
    let place = match desk.refuses.load(Ordering::Relaxed) {
        true => desk.places.try_take(),
        false => Some(desk.places.take().await),
    };
    if place.is_some() && !reply.delay.is_zero() {
        tokio::time::sleep(reply.delay).await;
    }
    place.is_some()
}

fn last(desk: &Desk, index: u64, request: &Recorded, reply: &Reply) -> bool {
    let asked = match &request.head {
        Ok(head) => head.version != "HTTP/1.1" || head.headers.lists("connection", "close"),
        Err(_) => true,
    };
    asked || reply.closes() || index + 1 >= desk.requests_per_connection.load(Ordering::Relaxed)
}

fn is_head(request: &Recorded) -> bool {
    request
        .head
        .as_ref()
        .is_ok_and(|head| head.method == "HEAD")
}
