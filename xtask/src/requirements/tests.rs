use super::{Ledger, catalogue, citations};
use crate::workspace::Source;

fn source(path: &str, text: &str) -> Source {
    Source {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// A ledger over two requirements, one attack, and `text` at `path`.
fn ledger(path: &str, text: &str) -> Ledger {
    let requirements = source(
        "docs/requirements.md",
        "# R\n- KN-01 First.\n- KN-02 Second.\n- not an id\n",
    );
    let attacks = source(
        "docs/attacks.md",
        "|#|Case|Safe answer|\n|-|-|-|\n|I-04|half-written file|keep old|\n",
    );
    Ledger::read(&[requirements, attacks, source(path, text)]).unwrap()
}

fn faults(path: &str, text: &str) -> Vec<String> {
    ledger(path, text).faults(&["KN"])
}

const BOTH: &str = "// req: KN-01, KN-02\n#[test]\nfn law() {}\n";

#[test]
fn ids_are_list_items_and_table_rows() {
    let ledger = ledger("a.rs", "");
    let ids: Vec<_> = ledger
        .entries
        .iter()
        .map(|entry| entry.id.as_str())
        .collect();
    assert_eq!(ids, ["KN-01", "KN-02", "I-04"]);
    assert_eq!(catalogue::areas(&ledger.entries), ["KN", "I"]);
}

#[test]
fn a_citation_above_a_test_settles_its_ids() {
    assert!(faults("crates/kernel/src/bus.rs", BOTH).is_empty());
    let with_attributes = format!(
        "{}#[tokio::test(start_paused = true)]\n",
        "// req: KN-01, KN-02\n// why\n#[cfg(loom)]\n"
    );
    assert!(faults("crates/kernel/src/bus.rs", &with_attributes).is_empty());
    assert!(
        faults(
            "crates/kernel/src/bus.rs",
            "// req: KN-01, KN-02\nproptest! {\n"
        )
        .is_empty()
    );
}

#[test]
fn an_uncited_id_of_a_finished_area_is_a_fault_and_of_an_open_one_is_not() {
    let ledger = ledger(
        "crates/kernel/src/bus.rs",
        "// req: KN-01\n#[test]\nfn law() {}\n",
    );
    assert_eq!(
        ledger.faults(&["KN"]),
        ["KN-02 is cited by no test: Second."]
    );
    assert!(ledger.faults(&[]).is_empty());
}

#[test]
fn a_citation_above_plain_code_shows_nothing_and_says_so() {
    let faults = faults("crates/kernel/src/bus.rs", &BOTH.replace("#[test]\n", ""));
    assert_eq!(faults.len(), 2);
    assert!(
        faults[0].contains("crates/kernel/src/bus.rs:1 is not above a test"),
        "{faults:?}"
    );
}

#[test]
fn a_test_helper_is_no_test() {
    let helper = BOTH.replace("#[test]", "#[cfg(test)]");
    assert_eq!(faults("crates/kernel/src/bus.rs", &helper).len(), 2);
}

#[test]
fn a_test_farther_than_the_reach_is_another_matter() {
    let far = BOTH.replace("#[test]", &format!("{}#[test]", "// more\n".repeat(8)));
    assert_eq!(faults("crates/kernel/src/bus.rs", &far).len(), 2);
}

#[test]
fn models_benches_and_test_files_count_wherever_the_comment_stands() {
    assert!(faults("specs/drain.tla", "\\* req: KN-01, KN-02\nInit == x = 0\n").is_empty());
    for path in ["crates/e2e/tests/drain.rs", "crates/bench/src/queue.rs"] {
        assert!(
            faults(path, "// req: KN-01, KN-02\nconst CASES: u8 = 1;\n").is_empty(),
            "{path}"
        );
    }
}

#[test]
fn an_unknown_id_is_a_fault_with_its_place() {
    let faults = faults(
        "crates/e2e/tests/a.rs",
        "// req: KN-01, KN-02\n// req: KN-99\n",
    );
    assert_eq!(faults, ["crates/e2e/tests/a.rs:2: no such id KN-99"]);
}

#[test]
fn an_attack_cited_as_a_requirement_is_unknown() {
    let text = "// req: KN-01, KN-02\n// attack: I-04\n// req: I-04\n";
    assert_eq!(
        faults("crates/e2e/tests/a.rs", text),
        ["crates/e2e/tests/a.rs:3: no such id I-04"]
    );
}

#[test]
fn a_range_or_a_remark_among_the_ids_is_refused() {
    for bad in [
        "KN-01..KN-02",
        "KN-01 KN-02",
        "KN-1",
        "KN-01, the late one",
        "",
    ] {
        let (citations, malformed) =
            citations::collect(&[source("a.rs", &format!("// req: {bad}\n"))]);
        assert!(
            citations.is_empty() && malformed.len() == 1,
            "{bad}: {malformed:?}"
        );
    }
}

#[test]
fn a_string_that_holds_a_citation_is_none() {
    let (citations, malformed) =
        citations::collect(&[source("a.rs", "let s = \"// req: KN-01\";\n")]);
    assert!(citations.is_empty() && malformed.is_empty());
}

#[test]
fn an_id_listed_twice_is_a_fault() {
    let twice = source("docs/requirements.md", "- KN-01 First.\n- KN-01 Again.\n");
    let ledger = Ledger::read(&[twice, source("docs/attacks.md", "")]).unwrap();
    assert_eq!(
        ledger.faults(&[]),
        ["KN-01 is listed twice; an id is permanent"]
    );
}

#[test]
fn the_table_gives_each_id_its_places() {
    let table = ledger("specs/drain.tla", "\\* req: KN-02\n").table();
    assert_eq!(table, "KN-01  -\nKN-02  specs/drain.tla:1\nI-04   -\n");
}
