use crate::load::{Sources, load};
use crate::read::SourceFile;
use crate::sample::Node;

// req: KN-13
#[test]
fn a_report_reads_like_that_of_a_compiler() {
    let text = "name = \"a\"\n[drain]\ndeadline_ms = -5\ndeadlien_ms = 7\n\n[admin]\ntoken = 12\n";
    let sources = Sources {
        file: Some(SourceFile::new("node.toml", text)),
        env: vec![("MACRONODE__DRAIN__HUGE".into(), "-1".into())],
        sets: vec!["admin.log=loud".into()],
    };
    let report = load::<Node>(&sources).unwrap_err().to_string();
    let expected = "\
node.toml:3:15: drain.deadline_ms = -5: out of range; allowed: 0 to 600000
     3 | deadline_ms = -5
       |               ^^
node.toml:4:1: drain.deadlien_ms: is not a known key; did you mean `deadline_ms`?
     4 | deadlien_ms = ***
       | ^^^^^^^^^^^
node.toml:7:9: admin.token: expected a string, found an integer; allowed: text of 4 to 64 characters
     7 | token = ***
       |         ^^^
environment MACRONODE__DRAIN__HUGE: drain.huge = -1: out of range; allowed: 0 to 18446744073709551615
--set admin.log: admin.log = loud: is none of the choices; allowed: one of `human`, `json-lines`";
    assert_eq!(report, expected);
}
