//! What callgrind leaves behind, as far as it is needed: the cost of each function itself, by the file it is from.

/// Crates that choose by the processor what they do.
const CHOOSING: &[&str] = &["memchr::", "blake3", "ZSTD_", "std_detect::"];

/// The sum over all functions of this object, without what they call and without those that choose by the processor.
pub(super) fn own_cost(text: &str, object: &str) -> u64 {
    let (mut in_object, mut counts, mut is_call) = (false, false, false);
    let mut sum = 0;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            in_object = name == object;
        } else if let Some(name) = line.strip_prefix("fn=") {
            counts = !CHOOSING.iter().any(|choosing| name.contains(choosing));
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            // The line behind a call is what the callee took, and stands there too.
            if !std::mem::take(&mut is_call) && in_object && counts {
                sum += cost(line);
            }
        }
    }
    sum
}

/// The second of two numbers.
fn cost(line: &str) -> u64 {
    let number = line.split(' ').nth(1);
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_programs_own_lines_are_counted() {
        let text = "version: 1\nevents: Ir\n\nob=/bin/me\nfl=a.rs\nfn=mine\n10 100\n11 20\ncob=/lib/libc.so\n\
                    cfn=memcpy\ncalls=3 0\n12 9000\n13 5\n\nfn=memchr::arch::find\n14 700\n\nob=/lib/libc.so\n\
                    fn=memcpy\n0 9000\n\nob=/bin/me\nfn=other\n15 1\ntotals: 9826\n";
        assert_eq!(own_cost(text, "/bin/me"), 126);
        assert_eq!(own_cost(text, "/bin/nobody"), 0);
    }
}
