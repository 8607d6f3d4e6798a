use super::*;

const MAPPINGS: &str = "\
5000-9000 r-xp 00001000 fe:00 77                         /opt/macronode
Size:                 16 kB
Rss:                  16 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
9000-a000 r--p 00005000 fe:00 77                         /opt/macronode
Rss:                   4 kB
Anonymous:             4 kB
a000-b000 rw-p 00006000 fe:00 77                         /opt/macronode
Anonymous:             0 kB
c000-d000 r--p 00000000 00:00 0
Anonymous:             0 kB
d000-e000 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
e000-f000 r-xp 00000000 fe:00 78                         /opt/with space/lib.so (deleted)
Anonymous:             0 kB
f000-f800 r--p 00000000 00:01 9                          /memfd:sealed (deleted)
Anonymous:             0 kB
";

#[test]
fn only_code_that_nobody_changed_is_given_back() {
    assert_eq!(
        unchanged_code(MAPPINGS),
        [0x5000..0x9000, 0xe000..0xf000],
        "what is written, relocated, anonymous or the kernel's stays, and sealed memory, which may be gone by now"
    );
}

#[test]
fn a_breakpoint_in_the_program_is_not_lost() {
    let debugged = MAPPINGS.replacen("Anonymous:             0 kB", "Anonymous:   4 kB", 1);
    assert_eq!(unchanged_code(&debugged).len(), 1);
}

#[test]
fn what_is_not_a_list_of_mappings_frees_nothing() {
    for text in [
        "",
        "Anonymous: 0 kB",
        "x-y r-xp 0 0 0 /a\nAnonymous: 0 kB",
        "9-",
        "\0",
    ] {
        assert!(unchanged_code(text).is_empty(), "{text:?}");
    }
}

/// A number of `/proc/self/status`.
fn status(what: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(what)).unwrap();
    line.split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_program_goes_on_with_the_pages_it_still_needs() {
    let before = status("RssFile:");
    forget_the_start();
    let after = status("RssFile:");
    assert!(after < before, "{after} kB of {before} kB are left");
}
