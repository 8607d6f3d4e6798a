//! Samples as folded stacks: callers first, one line for each way to get somewhere.

use std::collections::BTreeMap;

/// From what `perf script` prints: a line that names the thread, then a line a frame, innermost first, then an empty
/// one.
pub(super) fn folded(script: &str) -> BTreeMap<String, u64> {
    let mut stacks = BTreeMap::new();
    let mut frames: Vec<&str> = Vec::new();
    for line in script.lines().chain([""]) {
        match line.chars().next() {
            Some(first) if first.is_whitespace() => frames.push(symbol(line)),
            Some(_) => frames.clear(),
            None if frames.is_empty() => {}
            None => {
                let stack: Vec<&str> = frames
                    .drain(..)
                    .rev()
                    .filter(|frame| !frame.is_empty())
                    .collect();
                *stacks.entry(stack.join(";")).or_default() += 1;
            }
        }
    }
    stacks
}

/// The name without its address and without the hash behind it; nothing for what has none.
fn symbol(line: &str) -> &str {
    let name = line
        .trim()
        .split_once(' ')
        .map_or("", |(_, name)| name.trim());
    let name = match name.rfind("::h") {
        Some(at) if name.len() == at + 19 => &name[..at],
        _ => name,
    };
    if name == "[unknown]" { "" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_way_is_counted_once_for_each_sample() {
        let sample =
            "macronode \n\t  1f2 leaf::h0123456789abcdef\n\t  3a4 root\n\tffff [unknown]\n\n";
        let script = format!("{sample}{sample}macronode \n\t 3a4 root\n");
        let stacks = folded(&script);
        let expected = [("root".to_owned(), 1), ("root;leaf".to_owned(), 2)];
        assert_eq!(stacks.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_name_may_have_blanks_and_lose_only_its_hash() {
        assert_eq!(symbol("\t 12ab <a as b>::f"), "<a as b>::f");
        assert_eq!(symbol("\t 12ab a::hash"), "a::hash");
        assert_eq!(symbol("\t 12ab"), "");
        assert!(folded("").is_empty());
    }
}
