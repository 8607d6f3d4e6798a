//! Where a value was written, and what of that line may be shown.

use std::ops::Range;

use crate::mistake::Excerpt;
use crate::secret::MASK;

/// The source of one value. Byte offsets become line and column only for the mistakes that are shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    File {
        start: usize,
        end: usize,
    },
    Env(String),
    Flag {
        order: usize,
        key: String,
    },
    /// Nowhere: the value is a default.
    Default,
}

impl Place {
    pub(crate) fn file(span: Range<usize>) -> Self {
        Place::File {
            start: span.start,
            end: span.end.max(span.start),
        }
    }

    pub(crate) fn span(&self) -> Option<Range<usize>> {
        match self {
            Place::File { start, end } => Some(*start..*end),
            _ => None,
        }
    }
}

/// The longest stretch of a line an excerpt shows.
const WIDEST: usize = 100;

/// A file's text with its line starts.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0)
            .chain(breaks.map(|(at, _)| at + 1))
            .collect();
        Self { text, starts }
    }

    /// Line of a byte offset, from 1.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    /// Line and column of a byte offset, both from 1, the column in characters.
    pub(crate) fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.line_of(offset);
        let start = self.starts[line - 1];
        let before = self.text.get(start..offset).unwrap_or_default();
        (line, 1 + before.chars().count())
    }

    /// The line of `span` with every range of `hidden` masked and a mark under the span.
    pub(crate) fn excerpt(&self, span: Range<usize>, hidden: &[Range<usize>]) -> Excerpt {
        let (start, text) = self.window(span.start);
        let near = start..start + text.len();
        let hidden: Vec<_> = hidden
            .iter()
            .filter(|range| range.start < near.end && near.start < range.end)
            .collect();
        let mut shown = Shown::default();
        for (at, character) in text.char_indices() {
            let at = start + at;
            shown.mark(at, &span);
            match hidden.iter().position(|range| range.contains(&at)) {
                Some(range) => shown.mask(range),
                None => shown.push(character),
            }
        }
        shown.mark(start + text.len(), &span);
        shown.finish()
    }

    /// The part of the span's line in front of its value: a broken line may hold a secret anywhere else.
    pub(crate) fn head(&self, offset: usize, known: impl Fn(&str) -> bool) -> Option<Excerpt> {
        let (line, column) = self.position(offset);
        let text = self.line(line);
        let head = text.split(['=', '#']).next().unwrap_or_default();
        let name = head.trim().trim_start_matches('[').trim_end_matches(']');
        if name.is_empty() || !name.split('.').all(|part| known(part.trim())) {
            return None;
        }
        let rest = if head.len() < text.len() { "= …" } else { "" };
        let text = format!("{head}{rest}");
        let mark = (column - 1).min(text.chars().count());
        Some(Excerpt {
            text,
            mark,
            width: 1,
        })
    }

    /// The part of a line around an offset: a line may be as long as the file.
    fn window(&self, offset: usize) -> (usize, &'a str) {
        let (line, _) = self.position(offset);
        let whole = self.line(line);
        let offset = offset - self.starts[line - 1];
        let from = whole.floor_char_boundary(offset.saturating_sub(2 * WIDEST));
        let to = whole.ceil_char_boundary((offset + 4 * WIDEST).min(whole.len()));
        (self.starts[line - 1] + from, &whole[from..to])
    }

    fn line(&self, line: usize) -> &'a str {
        let start = self.starts[line - 1];
        let end = self
            .starts
            .get(line)
            .map_or(self.text.len(), |next| next - 1);
        self.text
            .get(start..end)
            .unwrap_or_default()
            .trim_end_matches('\r')
    }
}

/// An excerpt in the making.
#[derive(Default)]
struct Shown {
    text: Vec<char>,
    masked: Option<usize>,
    from: Option<usize>,
    to: usize,
}

impl Shown {
    fn mark(&mut self, at: usize, span: &Range<usize>) {
        if at == span.start {
            self.from = Some(self.text.len());
        }
        if at <= span.end {
            self.to = self.text.len();
        }
    }

    fn push(&mut self, character: char) {
        self.masked = None;
        self.text.push(if character.is_control() {
            ' '
        } else {
            character
        });
    }

    fn mask(&mut self, range: usize) {
        if self.masked.replace(range) != Some(range) {
            self.text.extend(MASK.chars());
        }
    }

    fn finish(self) -> Excerpt {
        let mark = self.from.unwrap_or(0);
        let skipped = mark.saturating_sub(WIDEST / 2);
        let text: String = self.text.iter().skip(skipped).take(WIDEST).collect();
        let left = (WIDEST - (mark - skipped)).max(1);
        let width = self.to.saturating_sub(mark).clamp(1, left);
        Excerpt {
            text,
            mark: mark - skipped,
            width,
        }
    }
}

#[cfg(test)]
mod tests;
