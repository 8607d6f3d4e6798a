use super::{Fault, file_faults, rust::stale_exceptions};
use crate::workspace::Source;

fn faults(path: &str, text: &str) -> Vec<Fault> {
    let source = Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    file_faults(&source, &|path| path == "docs/requirements.md")
}

/// The rules broken by `line` in a Rust file that is fine otherwise.
fn rust_line(line: &str) -> Vec<String> {
    let text = format!("//! One idea, well told.\n{line}\n");
    faults("crates/kernel/src/bus.rs", &text)
        .into_iter()
        .map(|fault| fault.rule)
        .collect()
}

fn assert_broken(broken: &[String], word: &str) {
    assert!(broken.len() == 1 && broken[0].contains(word), "{broken:?}");
}

#[test]
fn a_plain_line_breaks_nothing() {
    assert!(rust_line("fn sum(a: u32, b: u32) -> u32 { a + b }").is_empty());
}

#[test]
fn blanks_that_do_not_show_are_faults() {
    assert_broken(&rust_line("let a = 1; "), "blanks");
    assert_broken(&rust_line("\tlet a = 1;"), "tab");
}

#[test]
fn a_line_of_120_columns_is_the_widest() {
    assert!(rust_line(&"x".repeat(120)).is_empty());
    assert_broken(&rust_line(&"x".repeat(121)), "columns");
}

#[test]
fn columns_are_characters_not_bytes() {
    assert!(rust_line(&"é".repeat(120)).is_empty());
}

#[test]
fn unfinished_work_is_a_fault_and_words_that_contain_the_marker_are_not() {
    for leftover in [
        concat!("to", "do!()"),
        concat!("// TO", "DO later"),
        concat!("db", "g!(x)"),
        concat!("// FIX", "ME"),
    ] {
        assert_broken(&rust_line(leftover), "unfinished");
    }
    assert!(rust_line(concat!("const MASTO", "DON: u8 = 1;")).is_empty());
}

#[test]
fn an_ignored_test_says_why() {
    assert_broken(&rust_line(concat!("#[ig", "nore]")), "why");
    assert!(rust_line(concat!("#[ig", "nore = \"needs root\"]")).is_empty());
}

#[test]
fn a_path_of_one_machine_is_a_fault_but_not_the_same_word_deeper_in_a_path() {
    assert_broken(&rust_line(concat!("let p = \"/ho", "me/me\";")), "machine");
    assert!(rust_line(concat!("let p = \"queue/wo", "rk/depth\";")).is_empty());
}

#[test]
fn text_speaks_of_the_project_only() {
    assert_broken(
        &rust_line(concat!("// written by a Sub", "agent")),
        "speaks",
    );
    assert!(rust_line("// a TLS session is resumed here").is_empty());
}

#[test]
fn a_file_past_450_lines_is_two_ideas() {
    let text = |lines: usize| format!("//! One idea, well told.\n{}", "a\n".repeat(lines - 1));
    assert!(faults("crates/x/src/a.rs", &text(450)).is_empty());
    let broken = faults("crates/x/src/a.rs", &text(451));
    assert!(
        broken.len() == 1 && broken[0].rule.contains("451 lines"),
        "{broken:?}"
    );
}

#[test]
fn every_exception_for_length_is_still_needed() {
    let sources = crate::workspace::sources().unwrap();
    assert!(stale_exceptions(&sources).is_empty());
}

#[test]
fn a_file_opens_with_a_sentence_and_tests_need_none() {
    assert_eq!(faults("crates/x/src/a.rs", "fn a() {}\n").len(), 1);
    assert_eq!(faults("crates/x/src/a.rs", "//! .\n").len(), 1);
    assert_eq!(faults("crates/x/tests/drain.rs", "fn a() {}\n").len(), 1);
    assert!(faults("crates/x/src/a/tests.rs", "fn a() {}\n").is_empty());
    assert!(faults("crates/x/src/a/tests/model.rs", "fn a() {}\n").is_empty());
}

#[test]
fn there_is_no_mod_rs() {
    assert_eq!(
        faults("crates/x/src/a/mod.rs", "//! One idea, well told.\n").len(),
        1
    );
}

#[test]
fn a_link_leads_to_a_file_from_where_it_stands() {
    assert!(
        faults(
            "README.md",
            "see [the list](docs/requirements.md#kn) and [x](https://x.org)\n"
        )
        .is_empty()
    );
    assert!(
        faults(
            "docs/attacks.md",
            "see [the list](requirements.md), [up](../docs/requirements.md)\n"
        )
        .is_empty()
    );
    assert_eq!(
        faults("docs/attacks.md", "see [the list](docs/requirements.md)\n").len(),
        1
    );
    assert_eq!(
        faults("README.md", "see [out](../docs/requirements.md)\n").len(),
        1
    );
    assert_eq!(faults("README.md", "[gone]: docs/gone.md\n").len(), 1);
}

#[test]
fn what_looks_like_a_link_in_code_is_none() {
    assert!(faults("README.md", "`a[0](gone.md)`\n```\n[x](gone.md)\n```\n").is_empty());
}

#[test]
fn a_member_inherits_the_lints() {
    assert_eq!(
        faults("crates/x/Cargo.toml", "[package]\n[lints]\nrust = {}\n").len(),
        1
    );
    assert!(
        faults(
            "crates/x/Cargo.toml",
            "[package]\n\n[lints]\nworkspace = true\n"
        )
        .is_empty()
    );
}

#[test]
fn dependencies_come_from_the_public_registry() {
    let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    assert!(faults("Cargo.lock", public).is_empty());
    assert_eq!(
        faults(
            "Cargo.lock",
            "source = \"sparse+https://mirror.example/index\"\n"
        )
        .len(),
        1
    );
    assert_eq!(
        faults("Cargo.lock", "source = \"git+https://github.com/a/b\"\n").len(),
        1
    );
    assert_eq!(
        faults(
            ".cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"mirror\"\n"
        )
        .len(),
        2
    );
    assert_eq!(
        faults(
            ".cargo/config.toml",
            "registry = \"https://mirror.example\"\n"
        )
        .len(),
        1
    );
}

#[test]
fn samples_may_be_broken() {
    assert!(faults("fuzz/corpus/config/tab.toml", "\ta = 1 \n").is_empty());
}
