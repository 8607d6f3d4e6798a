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

/// Gives back the pages of the program and its libraries that only starting needed, two thirds of all it has touched.
/// They are the file's own, unchanged: what is needed after all is mapped again when it is.
pub(crate) fn forget_the_start() {
    let Ok(mappings) = std::fs::read_to_string("/proc/self/smaps") else {
        return;
    };
    for Range { start, end } in unchanged_files(&mappings) {
        let bytes = std::ptr::without_provenance_mut(start);
        // SAFETY: the mapping is that of a file, private, read-only, and has no page that differs from the file: the
        // next look at it finds the same bytes. Nothing maps or unmaps files once the node is ready.
        unsafe { libc::madvise(bytes, end - start, libc::MADV_DONTNEED) };
    }
}

/// The mappings of files that nobody can write to and nobody has: neither the loader, which relocates some before it
/// protects them, nor a debugger, whose breakpoints would be lost.
fn unchanged_files(smaps: &str) -> Vec<Range<usize>> {
    let (mut unchanged, mut current) = (Vec::new(), None);
    for line in smaps.lines() {
        match line.strip_prefix("Anonymous:") {
            None if line.contains(": ") => {}
            None => current = read_only_file(line),
            Some(changed) if changed.trim() == "0 kB" => unchanged.extend(current.take()),
            Some(_) => {}
        }
    }
    unchanged
}

/// The range of a mapping's first line, if a file is behind it that cannot be written to: `from-to r-xp ... /path`.
fn read_only_file(line: &str) -> Option<Range<usize>> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let is_read_only = matches!(words.next()?, "r--p" | "r-xp");
    let is_file = words.nth(3)?.starts_with('/');
    let address = |text| usize::from_str_radix(text, 16).ok();
    (is_read_only && is_file).then_some(address(from)?..address(to)?)
}

#[cfg(test)]
mod tests;
