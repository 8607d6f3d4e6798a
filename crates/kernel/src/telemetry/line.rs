//! From an event to a line in the queue, and never an endless one.

use std::io;
use std::thread;

use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use super::{Format, stamp};
use crate::queue::Sender;

/// Bytes of a line; the queue's memory is bounded by this times its capacity.
pub(super) const LINE_BYTES: usize = 16 * 1024;
/// Bytes that are kept of a line that is longer.
const KEPT_BYTES: usize = 1024;

/// A whole line, its newline included.
pub(super) type Line = Box<[u8]>;

/// Where the formatter writes: each call is a whole event.
pub(super) struct Lines {
    sender: Sender<Line>,
    format: Format,
}

impl Lines {
    pub(super) fn new(sender: Sender<Line>, format: Format) -> Self {
        Self { sender, format }
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = &'a Lines;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl io::Write for &Lines {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        // Refused only once the log is closed: then nobody is there to read it.
        let _closed = self.sender.try_send(line(event, self.format));
        if self.sender.len() == self.sender.capacity() / 2 {
            // Where both have one core and who runs is not interrupted, the writer has not come to write. Said once on
            // the way to a full queue: a sink that is stuck slows nobody.
            thread::yield_now();
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn line(event: &[u8], format: Format) -> Line {
    if event.len() > LINE_BYTES {
        return cut(event, format);
    }
    event.into()
}

fn cut(event: &[u8], format: Format) -> Line {
    let start = String::from_utf8_lossy(&event[..KEPT_BYTES]);
    let message = format!("a log line of {} bytes is cut: {start:?}", event.len());
    notice(format, &message)
}

/// A line of the log about the log.
pub(super) fn notice(format: Format, message: &str) -> Line {
    let time = timestamp();
    let target = module_path!()
        .rsplit_once("::")
        .map_or("", |(parent, _)| parent);
    let text = match format {
        Format::Json => {
            json!({"timestamp": time, "level": "WARN", "target": target, "message": message})
                .to_string()
        }
        Format::Human => format!("{time}  WARN {target}: {message}"),
    };
    format!("{text}\n").into_bytes().into()
}

/// As the formatters write it.
fn timestamp() -> String {
    let mut text = Vec::new();
    stamp::write_now(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn text(line: Line) -> String {
        String::from_utf8(line.into()).unwrap()
    }

    // req: KN-21
    #[test]
    fn a_line_past_the_bound_is_cut_and_says_so() {
        let longest = [vec![b'x'; LINE_BYTES - 1], b"\n".to_vec()].concat();
        assert_eq!(text(line(&longest, Format::Json)).len(), LINE_BYTES);
        let endless = vec![0xff; 10 * LINE_BYTES];
        for format in [Format::Json, Format::Human] {
            let made = text(line(&endless, format));
            assert!(made.len() < LINE_BYTES, "{} bytes", made.len());
            assert!(made.contains("a log line of 163840 bytes is cut"), "{made}");
            assert_eq!(made.matches('\n').count(), 1);
        }
        let made: Value = serde_json::from_slice(&line(&endless, Format::Json)).unwrap();
        assert_eq!(made["target"], "kernel::telemetry");
    }
}
