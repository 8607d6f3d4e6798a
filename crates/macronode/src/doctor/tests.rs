use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn args(config: &Path, sets: &[&str]) -> ConfigArgs {
    ConfigArgs {
        built_in: Default::default(),
        config: Some(config.to_owned()),
        sets: sets.iter().map(|set| (*set).to_owned()).collect(),
    }
}

fn find<'a>(findings: &'a [Finding], what: &str) -> &'a Finding {
    let found = findings.iter().find(|finding| finding.what == what);
    found.unwrap_or_else(|| panic!("{what} is not checked: {findings:?}"))
}

// req: ND-01
#[test]
fn the_page_lines_up_and_ends_with_the_sum() {
    let findings = [
        Finding::fine("one", "good"),
        Finding::fault("second", "bad", "first do this\nthen that"),
        Finding::warn("third", "so so", "mend"),
        Finding::note("last", "unknown"),
    ];
    let expected = "       check   found
ok     one     good
FAULT  second  bad
       remedy: first do this
               then that
warn   third   so so
       remedy: mend
note   last    unknown

1 fault, 1 warning
";
    assert_eq!(page(&findings), expected);
}

#[test]
fn a_sum_of_none_is_told_too_and_keeps_the_columns() {
    let fine = [Finding::fine("one", "good")];
    let expected = "       check  found\nok     one    good\n\n0 faults, 0 warnings\n";
    assert_eq!(page(&fine), expected);
}

// req: ND-01
#[test]
fn everything_is_looked_at() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("node.toml");
    fs::write(&file, "[admin]\nlisten = '127.0.0.1:0'\ntoken = 'hush'\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let findings = examine(&args(&file, &["demo.listen=127.0.0.1:0"]));
    for what in [
        "config",
        "admin.listen",
        "demo.listen",
        "config directory",
        "wall clock",
    ] {
        assert_eq!(find(&findings, what).verdict, Verdict::Fine, "{what}");
    }
    assert_eq!(find(&findings, "config file").verdict, Verdict::Warn);
    let others = [
        "open files",
        "accept backlog",
        "config watch",
        "memory limit",
        "cpu quota",
    ];
    let more = [
        "clock sync",
        "clock steps",
        "clock source",
        "kernel",
        "landlock",
        "user",
    ];
    for what in others.iter().chain(&more) {
        assert!(!find(&findings, what).said.is_empty());
    }
    assert!(!page(&findings).contains("hush"));
}

// req: ND-01, KN-13
#[test]
fn an_invalid_config_is_a_fault_with_all_mistakes_and_the_rest_is_still_checked() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("node.toml");
    fs::write(&file, "[admin]\nlisten = 7\n[log]\nlevle = 'info'\n").unwrap();
    let findings = examine(&args(&file, &[]));
    let config = find(&findings, "config");
    assert_eq!(config.verdict, Verdict::Fault);
    assert!(config.said.contains("2 mistakes"), "{}", config.said);
    let remedy = config.remedy.as_deref().unwrap();
    assert!(
        remedy.contains("admin.listen") && remedy.contains("levle"),
        "{remedy}"
    );
    assert!(
        find(&findings, "admin.listen")
            .said
            .contains("127.0.0.1:9600")
    );
}

// req: ND-01
#[test]
fn only_faults_make_the_machine_unhealthy() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("node.toml");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let free = ["admin.listen=127.0.0.1:0", "admin.max_connections=1"];
    assert_eq!(doctor(&args(&file, &free)), Exit::Ok);
    assert_eq!(
        doctor(&args(&place.path().join("missing"), &[])),
        Exit::Unhealthy
    );
}
