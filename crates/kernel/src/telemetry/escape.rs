//! Fields of the log for eyes, without the power to move a cursor or to begin a line: peers choose what is in them.

use std::fmt::{self, Write};

use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

/// `message name=value name=value`. JSON needs none of this: its strings have no control characters.
pub(super) fn fields() -> impl for<'w> FormatFields<'w> + Send + Sync + 'static {
    debug_fn(|writer: &mut Writer<'_>, field: &Field, value| {
        let mut escaped = Escaped(writer);
        match field.name() {
            "message" => write!(escaped, "{value:?}"),
            name => write!(escaped, "{name}={value:?}"),
        }
    })
    .delimited(" ")
}

struct Escaped<'a, 'w>(&'a mut Writer<'w>);

impl Write for Escaped<'_, '_> {
    fn write_str(&mut self, mut text: &str) -> fmt::Result {
        while let Some(at) = text.find(char::is_control) {
            let (clean, rest) = text.split_at(at);
            self.0.write_str(clean)?;
            let mut rest = rest.chars();
            let control = rest.next().into_iter().flat_map(char::escape_default);
            control.into_iter().try_for_each(|c| self.0.write_char(c))?;
            text = rest.as_str();
        }
        self.0.write_str(text)
    }
}
