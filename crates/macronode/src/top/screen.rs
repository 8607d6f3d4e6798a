//! A terminal's other screen: each look takes the place of the one before, and what stood there is back at the end.

use std::io::Write;

use rustix::termios::tcgetwinsize;

/// The other screen, from its top, with no cursor; a line that is too long does not go on in the next one.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// Lines a table has at least, where there is room: its head, a row, and how many more there are.
const LEAST: usize = 3;

/// The other screen, until this is dropped.
pub(super) struct Screen(());

impl Screen {
    pub(super) fn enter() -> Self {
        put(ENTER);
        Self(())
    }

    /// Shows as much of a page as there is room for by now.
    pub(super) fn show(&self, page: &[String]) {
        let (width, height) = size();
        put(&drawn(&fit(page, width, height), width, height));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        put(LEAVE);
    }
}

fn put(text: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes());
    let _nobody_reads = written.and_then(|()| out.flush()).is_err();
}

/// Columns and lines of the terminal. One that does not say has as many as are needed.
fn size() -> (usize, usize) {
    let told = tcgetwinsize(std::io::stdout()).ok();
    let told = told.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    told.map_or((usize::MAX, usize::MAX), |size| {
        (size.ws_col.into(), size.ws_row.into())
    })
}

/// The lines of a page that fit: each table as far as there is room, the first one before all others.
fn fit(page: &[String], width: usize, height: usize) -> Vec<String> {
    let line = |line: &str| line.chars().take(width).collect::<String>();
    let parts = page.iter().map(|part| part.lines().collect());
    let parts: Vec<Vec<&str>> = parts.collect();
    let Some((headline, tables)) = parts.split_first() else {
        return Vec::new();
    };
    let mut shown: Vec<_> = headline.iter().take(height).copied().map(line).collect();
    let mut room = height.saturating_sub(shown.len());
    for (index, table) in tables.iter().enumerate() {
        let later = tables.iter().skip(index + 1);
        let kept: usize = later.map(|table| 1 + table.len().min(LEAST)).sum();
        let most = room.saturating_sub(1);
        let least = if index == 0 { most / 2 } else { LEAST };
        let given = most.saturating_sub(kept).max(least);
        let given = given.min(most).min(table.len());
        // A head with nothing below it tells nothing.
        if given < table.len().min(2) {
            break;
        }
        let whole = given == table.len();
        let rows = if whole { given } else { given - 1 };
        shown.push(String::new());
        shown.extend(table.iter().take(rows).copied().map(line));
        if !whole {
            shown.push(line(&format!("… {} more", table.len() - rows)));
        }
        room -= 1 + given;
    }
    shown
}

/// What draws these lines over others. What is erased is to the right of a line that ends before the last column, where
/// the cursor would stand on its last character.
fn drawn(lines: &[String], width: usize, height: usize) -> String {
    let mut text = String::from("\x1b[H");
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            text.push_str("\r\n");
        }
        text.push_str(line);
        if line.chars().count() < width {
            text.push_str("\x1b[K");
        }
    }
    if lines.len() < height {
        text.push_str("\r\n\x1b[J");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A headline, and tables of so many rows each.
    fn page(rows: [usize; 4]) -> Vec<String> {
        let table = |(name, rows): (&str, usize)| {
            let rows = (1..=rows).map(|row| format!("{name} {row}  and more of it\n"));
            format!("{name}\n{}", rows.collect::<String>())
        };
        let tables = ["tenant", "route", "upstream", "endpoint"].into_iter();
        let mut page = vec!["so many at once\n".to_owned()];
        page.extend(tables.zip(rows).map(table));
        page
    }

    // req: GW-18
    #[test]
    fn a_page_is_never_larger_than_the_terminal() {
        for rows in [[0, 1, 1, 1], [20, 21, 1, 1], [20, 3, 30, 90], [1, 60, 0, 0]] {
            for height in 1..60 {
                for width in [1, 7, 40, 200] {
                    let lines = fit(&page(rows), width, height);
                    assert!(lines.len() <= height, "{rows:?} on {height}: {lines:?}");
                    let wide = lines.iter().find(|line| line.chars().count() > width);
                    assert_eq!(wide, None, "{width}");
                }
            }
        }
    }

    // req: GW-18
    #[test]
    fn tenants_come_first_and_every_table_says_how_much_more_there_is() {
        let lines = fit(&page([20, 21, 1, 1]), 80, 24);
        assert_eq!(lines.len(), 24, "all of it is used: {lines:?}");
        let tenants: Vec<_> = (1..=10)
            .map(|n| format!("tenant {n}  and more of it"))
            .collect();
        assert_eq!(lines[3..13], tenants);
        let rest = [
            "… 10 more",
            "",
            "route",
            "route 1  and more of it",
            "… 20 more",
            "",
            "upstream",
            "upstream 1  and more of it",
            "",
            "endpoint",
        ];
        assert_eq!(lines[13..23], rest);
    }

    // req: GW-18
    #[test]
    fn where_there_is_room_everything_is_shown() {
        let page = page([2, 1, 1, 1]);
        let lines = fit(&page, usize::MAX, usize::MAX);
        assert_eq!(lines.join("\n"), page.join("\n").trim_end());
    }

    // req: GW-18
    #[test]
    fn a_line_that_fills_the_terminal_keeps_its_last_character() {
        let lines = ["abc", "ab"].map(str::to_owned);
        assert_eq!(drawn(&lines, 3, 2), "\x1b[Habc\r\nab\x1b[K");
        assert_eq!(drawn(&lines[..1], 3, 2), "\x1b[Habc\r\n\x1b[J");
    }
}
