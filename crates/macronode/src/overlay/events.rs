//! A stream of events: what was missed, what comes, and a sign of life when nothing does.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::header::{HeaderMap, HeaderName};
use kernel::drain::Stage;
use kernel::metrics::Gauge;
use kernel::shutdown::Shutdown;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::body::OverlayBody;
use super::journal::{Journal, Reading};
use super::request::Lease;

/// How long a stream may say nothing: proxies close what is silent.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Where a client says how far it has read.
static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What a stream of events needs.
pub(crate) struct Listener {
    pub(crate) journal: Arc<Journal>,
    pub(crate) shutdown: Shutdown,
    pub(crate) open: Gauge,
    pub(crate) _lease: Lease,
}

/// A stream that is open: counted while it is.
struct Open {
    listener: Listener,
    latest: watch::Receiver<u64>,
    /// The number of the last event it has been given.
    read: u64,
    /// Said before anything else.
    first: Option<String>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.listener.open.dec();
    }
}

/// Opens a stream for who has read so far.
pub(crate) fn open(listener: Listener, headers: &HeaderMap) -> OverlayBody {
    let journal = &listener.journal;
    let shown = headers.get(&LAST_EVENT_ID);
    let known = shown
        .and_then(|id| id.to_str().ok())
        .and_then(|id| journal.number(id));
    let mut first = String::from("retry: 2000\n\n");
    let read = match known {
        Some(number) => number,
        None => {
            let (number, state) = journal.begin();
            push(&mut first, &journal.id(number), "snapshot", &json!(state));
            number
        }
    };
    listener.open.inc();
    let open = Open {
        latest: journal.watch(),
        listener,
        read,
        first: Some(first),
    };
    OverlayBody::Stream(Box::pin(stream::unfold(open, next)))
}

async fn next(mut open: Open) -> Option<(Bytes, Open)> {
    if let Some(first) = open.first.take() {
        return Some((first.into(), open));
    }
    loop {
        // Marked as seen before it is read: what comes in between wakes the stream again.
        open.latest.mark_unchanged();
        if let Some(text) = open.read_on() {
            return Some((text.into(), open));
        }
        tokio::select! {
            changed = open.latest.changed() => changed.ok()?,
            () = tokio::time::sleep(HEARTBEAT) => return Some((Bytes::from_static(b": still here\n\n"), open)),
            () = open.listener.shutdown.reached(Stage::Support) => return None,
        }
    }
}

impl Open {
    fn read_on(&mut self) -> Option<String> {
        let journal = &self.listener.journal;
        let mut text = String::new();
        match journal.after(self.read) {
            Reading::Entries(entries) => {
                for entry in entries {
                    push(
                        &mut text,
                        &journal.id(entry.number),
                        entry.kind,
                        &entry.data,
                    );
                    self.read = entry.number;
                }
            }
            Reading::Lagged {
                missed,
                number,
                state,
            } => {
                let data = json!({ "missed": missed, "snapshot": *state });
                push(&mut text, &journal.id(number), "lagged", &data);
                self.read = number;
            }
        }
        (!text.is_empty()).then_some(text)
    }
}

/// JSON has no line feeds, so that each event is one line of data.
fn push(text: &mut String, id: &str, kind: &str, data: &Value) {
    write!(text, "id: {id}\nevent: {kind}\ndata: {data}\n\n")
        .expect("writing to a String does not fail");
}
