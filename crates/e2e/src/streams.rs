//! HTTP/2 requests made by hand, and what becomes of them: for the client, the origin and the metric.

use std::time::Duration;

use serde_json::Value;
use testkit::frames::kind::{DATA, GOAWAY, HEADERS, RST_STREAM};
use testkit::frames::{END_HEADERS, END_STREAM, Listener, Peer, block, frame};
use testkit::recorder::ANSWER;
use testkit::strict;

use crate::site::{Meant, Site, counted};

/// Flags of a head that is a whole request.
pub const WHOLE: u8 = END_HEADERS | END_STREAM;
/// A field that the origin must never see.
pub const EVIL: &str = "x-evil";

const PATIENCE: Duration = Duration::from_secs(5);

/// What came of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    /// It was reset.
    Reset(u32),
    /// The connection ended with it; `u32::MAX` without a word.
    End(u32),
    /// It was refused, with a status and a reason.
    Refusal(u16, String),
    /// It was refused by the codec, which gives no reason.
    Bare,
    /// It was answered by the origin.
    Answer,
}

/// Refused for this reason.
#[must_use]
pub fn no(status: u16, reason: &str) -> Came {
    Came::Refusal(status, reason.to_owned())
}

/// The frames of a request on stream 1, and the ends it may come to.
pub type Case<'a> = (&'a str, Vec<u8>, &'a [Came]);

/// A block of these lines, `name=value` each; a name may begin with a colon.
#[must_use]
pub fn fields(lines: &[&str]) -> Vec<u8> {
    let field = |line: &&str| {
        let (name, value) = line.split_once('=').expect("a name and a value");
        block(&[(name.as_bytes(), value.as_bytes())])
    };
    lines.iter().flat_map(field).collect()
}

/// The block of a request for `/t` at `a.test`, with these lines behind.
#[must_use]
pub fn asking(method: &str, lines: &[&str]) -> Vec<u8> {
    let method = format!(":method={method}");
    let head = [&*method, ":scheme=http", ":path=/t", ":authority=a.test"];
    fields(&[&head, lines].concat())
}

/// A GET with these lines.
#[must_use]
pub fn get(lines: &[&str]) -> Vec<u8> {
    frame(HEADERS, WHOLE, 1, &asking("GET", lines))
}

/// A POST with these lines, and these frames behind its head.
#[must_use]
pub fn post(lines: &[&str], rest: &[Vec<u8>]) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, 1, &asking("POST", lines));
    [head, rest.concat()].concat()
}

/// A piece of the body.
#[must_use]
pub fn data(flags: u8, bytes: &[u8]) -> Vec<u8> {
    frame(DATA, flags, 1, bytes)
}

/// Sends these frames on a connection of their own; what came of stream 1, and whether the connection lives on.
///
/// # Panics
/// If nothing comes of it in time.
pub async fn came(site: &Site, frames: &[u8]) -> (Came, bool) {
    let opened = Peer::open(site.gateway.door, &[]).await;
    let mut peer = opened.expect("a connection");
    peer.send(frames).await;
    let fate = tokio::time::timeout(PATIENCE, fate(&mut peer.listener)).await;
    let fate = fate.expect("an end");
    if matches!(fate, Came::End(_)) {
        let (_, closed) = peer.listener.all(PATIENCE).await;
        assert!(closed, "a connection that has ended is closed");
        return (fate, false);
    }
    let next = frame(HEADERS, WHOLE, 3, &asking("GET", &[]));
    peer.send(&next).await;
    let living = async {
        while let Some(frame) = peer.listener.next().await {
            if frame.stream == 3 && frame.kind == DATA {
                return frame.payload.starts_with(ANSWER.as_bytes());
            }
        }
        false
    };
    let lives = tokio::time::timeout(PATIENCE, living).await;
    (fate, lives.expect("an answer"))
}

async fn fate(listener: &mut Listener) -> Came {
    let mut body = Vec::new();
    while let Some(frame) = listener.next().await {
        let last = frame.flags & END_STREAM != 0;
        match (frame.kind, frame.code()) {
            (RST_STREAM, Some(code)) => return Came::Reset(code),
            (GOAWAY, Some(code)) => return Came::End(code),
            (HEADERS, _) if last => return Came::Bare,
            (DATA, _) => body.extend(&frame.payload),
            _ => continue,
        }
        if frame.kind == DATA && last {
            return read(&body);
        }
    }
    Came::End(u32::MAX)
}

fn read(body: &[u8]) -> Came {
    if body == ANSWER.as_bytes() {
        return Came::Answer;
    }
    let page: Value = serde_json::from_slice(body).expect("a problem");
    let status = page["status"].as_u64().expect("a status") as u16;
    no(status, page["reason"].as_str().expect("a reason"))
}

/// Nothing of these reaches the origin, and each comes to an end that is allowed.
///
/// # Panics
/// If one does not; says so of all.
pub async fn refused(site: &Site, cases: &[Case<'_>]) {
    let mut report = Vec::new();
    for (name, frames, allowed) in cases {
        let before = site.refusals().await;
        let _ = site.origin.take();
        let (came, lives) = came(site, frames).await;
        let tape = site.origin.take().concat();
        let counted = counted(&before, &site.refusals().await);
        let reason = match &came {
            Came::Refusal(_, reason) => Some(reason),
            _ => None,
        };
        // All the origin may see is the plain request that follows.
        let seen = strict::requests(&tape).unwrap_or_default();
        let plain = |r: &strict::Request| r.target == "/t" && r.one(EVIL).is_none();
        let right = allowed.contains(&came)
            && lives != matches!(came, Came::End(_))
            && seen.len() == usize::from(lives)
            && seen.is_empty() == tape.is_empty()
            && seen.iter().all(plain)
            && counted.keys().eq(reason);
        if !right {
            let tape = String::from_utf8_lossy(&tape);
            report.push(format!(
                "{name}: {came:?}, {counted:?}, the origin saw {tape:?}"
            ));
        }
    }
    assert!(report.is_empty(), "\n{}", report.join("\n"));
}

/// These frames reach the origin as exactly this, marked by `x-case=1`.
///
/// # Panics
/// If they do not.
pub async fn passes(site: &Site, frames: &[u8], meant: Meant) {
    let _ = site.origin.take();
    assert_eq!(came(site, frames).await, (Came::Answer, true), "{meant:?}");
    let mut seen = Vec::new();
    for tape in site.origin.take() {
        let read = strict::requests(&tape);
        let text = String::from_utf8_lossy(&tape);
        seen.extend(read.unwrap_or_else(|doubt| panic!("{doubt}: {text:?}")));
    }
    assert_eq!(seen.len(), 2, "it and the one that follows: {seen:?}");
    // The plain one may have come over another connection.
    seen.sort_by_key(|request| request.one("x-case").is_none());
    let compared = meant.field("x-case", "1").compare(&seen[0]);
    assert_eq!(compared, Ok(()));
}
