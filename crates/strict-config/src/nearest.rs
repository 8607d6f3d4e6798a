//! Which known name a mistyped one was probably meant to be.

/// Names longer than this are not compared: nobody mistypes one, and the comparison is quadratic.
const LONGEST: usize = 48;

/// The closest of `names` within a third of the length of `typed`, and at least one edit.
pub(crate) fn nearest<'a>(
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    if typed.len() > LONGEST {
        return None;
    }
    let allowed = (typed.chars().count() / 3).max(1);
    names
        .into_iter()
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (distance(typed, name), name))
        .filter(|(edits, _)| *edits <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// Edit distance in which swapping two neighbours is one edit, ignoring case and `-` against `_`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (folded(a), folded(b));
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

fn folded(name: &str) -> Vec<char> {
    name.chars()
        .map(|c| {
            if c == '-' {
                '_'
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_a_slip_and_a_dash_are_recognised() {
        let names = ["deadline_ms", "accept_grace_ms", "listen"];
        assert_eq!(nearest("deadlien_ms", names), Some("deadline_ms"));
        assert_eq!(nearest("listn", names), Some("listen"));
        assert_eq!(nearest("Accept-Grace-Ms", names), Some("accept_grace_ms"));
    }

    #[test]
    fn what_resembles_nothing_gets_no_guess() {
        assert_eq!(nearest("colour", ["deadline_ms", "listen"]), None);
        assert_eq!(nearest(&"x".repeat(100_000), ["x"]), None);
    }
}
