//! What a program printed: the latest lines of both pipes, in the order they were read.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::timeout_at;

/// Older lines are forgotten.
const CAPACITY: usize = 8192;
/// A longer line is cut into several.
const MAX_LINE_BYTES: u64 = 64 << 10;
const TAIL_LINES: usize = 20;

/// Where a line was printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipe {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One printed line, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where.
    pub pipe: Pipe,
    /// What.
    pub text: String,
}

#[derive(Debug)]
pub(super) struct Lines {
    ring: Mutex<Ring>,
    /// Wakes who waits: changes with every line and when a pipe ends.
    news: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<Line>,
    /// Lines read so far, forgotten ones included.
    read: u64,
    /// The first `ready ` line of stdout, which must not be forgotten.
    ready: Option<String>,
    open_pipes: u32,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            ring: Mutex::default(),
            news: watch::Sender::new(()),
        }
    }
}

impl Lines {
    /// Reads a pipe to its end on a thread of its own, which ends when the last writer has closed it.
    pub(super) fn pump(lines: &Arc<Self>, pipe: Pipe, source: impl Read + Send + 'static) {
        lines.ring.lock().open_pipes += 1;
        let lines = lines.clone();
        std::thread::spawn(move || {
            let mut source = BufReader::new(source);
            while let Some(text) = next_line(&mut source) {
                lines.push(Line { pipe, text });
            }
            lines.ring.lock().open_pipes -= 1;
            lines.news.send_replace(());
        });
    }

    pub(super) fn kept(&self) -> Vec<Line> {
        self.ring.lock().lines.iter().cloned().collect()
    }

    pub(super) fn tail(&self) -> String {
        let ring = self.ring.lock();
        let skipped = ring.lines.len().saturating_sub(TAIL_LINES);
        ring.lines
            .iter()
            .skip(skipped)
            .map(|line| format!("  | {}\n", line.text))
            .collect()
    }

    /// Nothing when the time is over or all pipes have ended.
    pub(super) async fn wait_for(
        &self,
        wanted: impl Fn(&Line) -> bool,
        timeout: Duration,
    ) -> Option<Line> {
        let mut seen = 0;
        self.wait(timeout, |ring| {
            let fresh = usize::try_from(ring.read - seen)
                .unwrap_or(usize::MAX)
                .min(ring.lines.len());
            seen = ring.read;
            ring.lines
                .range(ring.lines.len() - fresh..)
                .find(|line| wanted(line))
                .cloned()
        })
        .await
    }

    pub(super) async fn wait_for_ready(&self, timeout: Duration) -> Option<String> {
        self.wait(timeout, |ring| ring.ready.clone()).await
    }

    async fn wait<T>(
        &self,
        timeout: Duration,
        mut look: impl FnMut(&Ring) -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + timeout;
        let mut news = self.news.subscribe();
        loop {
            let (found, ended) = {
                let ring = self.ring.lock();
                (look(&ring), ring.open_pipes == 0)
            };
            if found.is_some() || ended {
                return found;
            }
            timeout_at(deadline.into(), news.changed())
                .await
                .ok()?
                .ok()?;
        }
    }

    fn push(&self, line: Line) {
        let mut ring = self.ring.lock();
        if ring.ready.is_none() && line.pipe == Pipe::Stdout && line.text.starts_with("ready ") {
            ring.ready = Some(line.text.clone());
        }
        if ring.lines.len() == CAPACITY {
            ring.lines.pop_front();
        }
        ring.lines.push_back(line);
        ring.read += 1;
        drop(ring);
        self.news.send_replace(());
    }
}

fn next_line(source: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let read = source
        .take(MAX_LINE_BYTES)
        .read_until(b'\n', &mut bytes)
        .ok()?;
    if read == 0 {
        return None;
    }
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    Some(String::from_utf8_lossy(line).into_owned())
}
