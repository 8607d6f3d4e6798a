use strict_config::{SourceFile, Sources, load};

use super::super::finding::Verdict;
use super::*;

fn loaded(text: &str, sets: &[&str]) -> Loaded<NodeText> {
    load(&Sources {
        file: Some(SourceFile::new("node.toml", text)),
        sets: sets.iter().map(|set| (*set).to_owned()).collect(),
        ..Sources::default()
    })
    .unwrap()
}

fn judged(mode: u32, secrets: Option<&[String]>) -> Finding {
    file(Path::new("node.toml"), mode, secrets)
}

// req: ND-01
#[test]
fn a_secret_that_anyone_can_read_is_a_warning() {
    let token = ["admin.token".to_owned()];
    let found = judged(0o100_644, Some(&token));
    assert_eq!(found.verdict, Verdict::Warn);
    assert!(found.said.contains("admin.token"), "{}", found.said);
    assert!(found.remedy.unwrap().contains("chmod 600 node.toml"));
    assert_eq!(judged(0o100_600, Some(&token)).verdict, Verdict::Fine);
    assert_eq!(judged(0o100_640, Some(&token)).verdict, Verdict::Fine);
}

#[test]
fn a_readable_config_without_secrets_is_fine_if_it_can_be_understood() {
    assert_eq!(judged(0o100_644, Some(&[])).verdict, Verdict::Fine);
    assert_eq!(judged(0o100_644, None).verdict, Verdict::Note);
    assert_eq!(judged(0o100_600, None).verdict, Verdict::Fine);
}

// req: ND-01
#[test]
fn a_config_that_anyone_can_change_is_a_fault() {
    assert_eq!(judged(0o100_666, Some(&[])).verdict, Verdict::Fault);
    assert_eq!(judged(0o100_602, None).verdict, Verdict::Fault);
    let place = |mode| directory(Path::new("conf"), mode).verdict;
    assert_eq!(place(0o040_755), Verdict::Fine);
    assert_eq!(place(0o040_777), Verdict::Fault);
    assert_eq!(place(0o041_777), Verdict::Warn);
}

#[test]
fn root_is_a_warning() {
    assert_eq!(user(0).verdict, Verdict::Warn);
    assert_eq!(user(1000).verdict, Verdict::Fine);
}

#[test]
fn only_secrets_written_in_the_file_count() {
    let file = "[admin]\ntoken = 'hush'\n";
    assert_eq!(secrets_in_file(&loaded(file, &[])), ["admin.token"]);
    let none: [&str; 0] = [];
    assert_eq!(secrets_in_file(&loaded("", &["admin.token=over"])), none);
    assert_eq!(secrets_in_file(&loaded("[admin]\ntoken = ''\n", &[])), none);
    assert_eq!(
        secrets_in_file(&loaded("[log]\nlevel = 'warn'\n", &[])),
        none
    );
}

#[test]
fn names_and_items_stand_for_any() {
    assert!(covers("admin.token", "admin.token"));
    assert!(!covers("admin.token", "admin.tokens"));
    assert!(!covers("admin.token", "admin"));
    assert!(covers("tenants.<name>.key", "tenants.\"a.b\".key"));
    assert!(!covers("tenants.<name>.key", "tenants.a.weight"));
    assert!(covers("peers[].keys.<name>", "peers[3].keys.a"));
    assert!(!covers("peers[].keys.<name>", "peers[3].name"));
}

#[test]
fn a_link_is_followed_to_the_directory_it_lies_in() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    std::fs::create_dir(at("real")).unwrap();
    std::fs::create_dir(at("named")).unwrap();
    std::fs::write(at("real/node.toml"), "").unwrap();
    std::os::unix::fs::symlink(at("real/node.toml"), at("named/node.toml")).unwrap();
    assert_eq!(directories(&at("real/node.toml")), [at("real")]);
    let real = std::fs::canonicalize(at("real")).unwrap();
    assert_eq!(directories(&at("named/node.toml")), [at("named"), real]);
    assert_eq!(directories(Path::new("node.toml")), [PathBuf::from(".")]);
}
