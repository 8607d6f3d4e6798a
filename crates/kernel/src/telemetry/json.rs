//! A line as one JSON object, written straight into its bytes: a serializer that is told of each name, comma and
//! quote on its own costs more than the request that a line of the access log tells of.

use std::cell::RefCell;
use std::error::Error;
use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::stamp;

/// Room for a line that is kept.
const KEPT_BYTES: usize = 4 * 1024;

/// `{"timestamp":…,"level":…,` the fields of the event, `"target":…}`, and the span it happened in.
pub(super) struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        thread_local! {
            static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        // Taken, not borrowed: what is formatted may log something itself.
        let mut line = ROOM.try_with(RefCell::take).unwrap_or_default();
        write_line(&mut line, event);
        write_span(&mut line, context, event);
        line.extend_from_slice(b"}\n");
        let written = match std::str::from_utf8(&line) {
            Ok(text) => writer.write_str(text),
            Err(_) => Err(fmt::Error),
        };
        if line.capacity() <= KEPT_BYTES {
            line.clear();
            // A thread that ends keeps nothing.
            let _kept = ROOM.try_with(|room| room.replace(line));
        }
        written
    }
}

fn write_line(line: &mut Vec<u8>, event: &Event<'_>) {
    line.extend_from_slice(b"{\"timestamp\":\"");
    stamp::write_now(line);
    line.extend_from_slice(b"\",\"level\":");
    write_text(line, event.metadata().level().as_str());
    event.record(&mut Fields { line });
    line.extend_from_slice(b",\"target\":");
    write_text(line, event.metadata().target());
}

/// The span's fields are an object already.
fn write_span<S, N>(line: &mut Vec<u8>, context: &FmtContext<'_, S, N>, event: &Event<'_>)
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    let parent = event.parent().and_then(|id| context.span(id));
    let Some(span) = parent.or_else(|| context.lookup_current()) else {
        return;
    };
    let extensions = span.extensions();
    let fields = extensions.get::<FormattedFields<N>>();
    let fields = fields.map_or("", |fields| fields.as_str());
    let inner = fields.strip_prefix('{').and_then(|f| f.strip_suffix('}'));
    line.extend_from_slice(b",\"span\":{");
    if let Some(inner) = inner.filter(|inner| !inner.is_empty()) {
        line.extend_from_slice(inner.as_bytes());
        line.push(b',');
    }
    line.extend_from_slice(b"\"name\":");
    write_text(line, span.name());
    line.push(b'}');
}

/// Writes the fields of an event, each behind a comma.
struct Fields<'a> {
    line: &'a mut Vec<u8>,
}

impl Fields<'_> {
    /// Names are written in this program, and need no look.
    fn name(&mut self, field: &Field) {
        debug_assert!(is_plain(field.name()), "{}", field.name());
        self.line.extend_from_slice(b",\"");
        self.line.extend_from_slice(field.name().as_bytes());
        self.line.extend_from_slice(b"\":");
    }

    fn number(&mut self, field: &Field, number: impl serde::Serialize) {
        self.name(field);
        // A number can always be written, what is none as `null`.
        let _written = serde_json::to_writer(&mut *self.line, &number);
    }
}

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.number(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.number(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.number(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.number(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.name(field);
        write_text(self.line, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.name(field);
        self.line.push(b'"');
        // What says of itself that it cannot be written is written as far as it can.
        let _written = write!(Escaped(self.line), "{value:?}");
        self.line.push(b'"');
    }
}

/// Text inside of a string, as it comes.
struct Escaped<'a>(&'a mut Vec<u8>);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write_escaped(self.0, text);
        Ok(())
    }
}

fn write_text(line: &mut Vec<u8>, text: &str) {
    line.push(b'"');
    write_escaped(line, text);
    line.push(b'"');
}

fn write_escaped(line: &mut Vec<u8>, text: &str) {
    if is_plain(text) {
        return line.extend_from_slice(text.as_bytes());
    }
    let begins = line.len();
    // Text can always be written; it comes in quotes, which are here already.
    let _written = serde_json::to_writer(&mut *line, text);
    line.pop();
    line.remove(begins);
}

/// Whether it means in a string what it means outside of one.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| !SPECIAL[usize::from(byte)])
}

/// Bytes that are written otherwise in a string.
static SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < b' ' {
        special[byte as usize] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special
};
