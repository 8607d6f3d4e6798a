//! What the node takes of the machine's memory beyond what it works with: huge pages, and the pages of its start.

use std::ops::Range;

/// Has all memory come in small pages, also where the heap asks for huge ones.
///
/// The system wipes a page when it is first touched, on the thread that touches it: two MiB at once are up to 6 ms on a
/// virtual machine whose host has to find them first, and whatever else the thread has to answer would wait. An idle
/// node would keep four times the heap it uses.
///
/// To be called before anything is allocated: what is huge stays so.
pub(crate) fn take_small_pages() {
    // SAFETY: prctl(2) sets a flag of this process and touches nothing of it. Where the kernel has no such pages, it
    // refuses, and there is nothing to be done.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}

/// Gives back the pages of code that only starting needed, most of what was touched of the program and its libraries.
/// They are the file's own, unchanged: what is needed after all is mapped again when it is.
pub(crate) fn forget_the_start() {
    let Ok(mappings) = std::fs::read_to_string("/proc/self/smaps") else {
        return;
    };
    for Range { start, end } in unchanged_code(&mappings) {
        let bytes = std::ptr::without_provenance_mut(start);
        // SAFETY: code of a file, private, and no page of it differs from the file: the next look at it finds the same
        // bytes. Code is what the loader mapped, and no library is ever unloaded, so it is still what is there. (Other
        // files are not: answers that are sent from sealed memory come and go while this runs.)
        unsafe { libc::madvise(bytes, end - start, libc::MADV_DONTNEED) };
    }
}

/// The mappings of code that nobody has written to: neither the loader, which relocates some before it protects it, nor
/// a debugger, whose breakpoints would be lost.
fn unchanged_code(smaps: &str) -> Vec<Range<usize>> {
    let (mut unchanged, mut current) = (Vec::new(), None);
    for line in smaps.lines() {
        match line.strip_prefix("Anonymous:") {
            None if line.contains(": ") => {}
            None => current = code_of_file(line),
            Some(changed) if changed.trim() == "0 kB" => unchanged.extend(current.take()),
            Some(_) => {}
        }
    }
    unchanged
}

/// The range of a mapping's first line, if it is code and a file is behind it: `from-to r-xp ... /path`.
fn code_of_file(line: &str) -> Option<Range<usize>> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let is_code = words.next()? == "r-xp";
    let is_file = words.nth(3)?.starts_with('/');
    let address = |text| usize::from_str_radix(text, 16).ok();
    (is_code && is_file).then_some(address(from)?..address(to)?)
}

#[cfg(test)]
mod tests;
