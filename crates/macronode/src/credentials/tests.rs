use clap::Parser;

use super::*;
use crate::cli::{Cli, Command};

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

fn root_key() -> Root {
    let key = RootKey::new("k1", &[7; 32]).unwrap();
    let class = "authed".to_owned();
    Root { key, class }
}

fn fresh(classes: &[&str], tags: &[&str]) -> String {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let grant = Grant {
        classes: owned(classes),
        tags: owned(tags),
        ..Grant::to("acme", after(NOW, Duration::from_secs(3600)))
    };
    minted(&root_key().key, [1; 16], grant).unwrap()
}

fn narrowed(text: &str, args: &[&str]) -> Result<String, Refused> {
    let line = ["macronode", "passport", "attenuate", text];
    let cli = Cli::try_parse_from(line.iter().chain(args)).unwrap();
    let Command::Passport(PassportCommand::Attenuate(args)) = cli.command else {
        panic!("another command")
    };
    attenuate(&args.passport, &args, NOW)
}

// req: GW-12
#[test]
fn classes_and_tags_are_asked_for_in_one_word_or_in_many() {
    let words = |args: &[&str]| {
        let line = ["macronode", "passport", "mint", "--tenant", "acme"];
        let cli = Cli::try_parse_from(line.iter().chain(args)).unwrap();
        let Command::Passport(PassportCommand::Mint(args)) = cli.command else {
            panic!("another command")
        };
        (args.classes, args.tags)
    };
    let one_by_one = words(&["--class", "a", "--class", "b", "--tag", "c", "--tag", "d"]);
    assert_eq!(words(&["--classes", "a,b", "--tags", "c,d"]), one_by_one);
    let text = fresh(&["internal", "authed"], &["read", "write"]);
    for (tags, classes) in [("--tags", "--classes"), ("--tag", "--class")] {
        let narrow = narrowed(&text, &[tags, "read", classes, "authed"]);
        assert_eq!(verify(root_key(), &narrow.unwrap(), NOW).unwrap(), GOOD);
    }
}

// req: GW-12
#[test]
fn a_new_key_comes_with_config_lines_that_know_it_and_do_not_hold_it() {
    let printed = new_key("acme \"south\"").err();
    assert!(printed.is_some(), "a blank is no part of a tenant");
    let printed = new_key("acme\"south").unwrap();
    let (key, lines) = printed.split_once("\n\n").unwrap();
    assert!(key.starts_with("mk_") && !lines.contains(key));
    let text = format!("[gateway]\nto = 'http://127.0.0.1:1'\n{lines}\n");
    let file = strict_config::SourceFile::new("node.toml", &text);
    let sources = strict_config::Sources {
        file: Some(file),
        ..Default::default()
    };
    let loaded = strict_config::load::<crate::config::NodeText>(&sources).unwrap();
    let listed = &loaded.text.gateway.unwrap().identity.keys[0];
    assert_eq!(listed.tenant, "acme\"south");
    assert_eq!(listed.hash, passport::KeyHash::of(key).to_string());
    assert_ne!(new_key("acme").unwrap(), new_key("acme").unwrap());
}

// req: GW-12
#[test]
fn a_minted_passport_is_good_until_its_end_and_only_for_its_root_key() {
    let text = fresh(&[], &["read"]);
    assert_eq!(verify(root_key(), &text, NOW).unwrap(), GOOD);
    let later = after(NOW, Duration::from_secs(3600));
    assert!(
        verify(root_key(), &text, later)
            .unwrap()
            .contains("expired")
    );
    let other = Root {
        key: RootKey::new("k1", &[8; 32]).unwrap(),
        ..root_key()
    };
    assert_ne!(verify(other, &text, NOW).unwrap(), GOOD);
}

// req: GW-12
#[test]
fn a_narrowed_passport_says_so_and_stays_genuine() {
    let text = fresh(&["internal", "authed"], &["read", "write"]);
    let args = [
        "--for",
        "5m",
        "--path",
        "/v1",
        "--methods",
        "GET,HEAD",
        "--max-body",
        "100",
        "--tags",
        "read",
        "--classes",
        "authed",
    ];
    let narrower = narrowed(&text, &args).unwrap();
    assert_eq!(verify(root_key(), &narrower, NOW).unwrap(), GOOD);
    let shown = description(&Passport::inspect(&narrower).unwrap(), None);
    let caveats = [
        "until=1800000300",
        "class=authed",
        "tags=read",
        "path=/v1",
        "methods=GET,HEAD",
        "max-body=100",
    ];
    assert_eq!(shown["caveats"], json!(caveats));
    assert_eq!(shown["tags"], json!(["read", "write"]), "the grant stays");
    let late = after(NOW, Duration::from_secs(300));
    assert_ne!(verify(root_key(), &narrower, late).unwrap(), GOOD);
}

// req: GW-12
#[test]
fn a_class_that_no_gateway_has_is_a_mistake_of_the_command_line() {
    let classes =
        |words: &[&str]| known(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(classes(&["internal", "authed", "anon"]), Ok(()));
    for words in [&["bogus"][..], &["authed", "bogus"]] {
        let (exit, why) = classes(words).unwrap_err();
        assert_eq!(exit, Exit::Usage);
        assert!(
            why.contains("`bogus`; known are: anon, authed, internal"),
            "{why}"
        );
    }
}

#[test]
fn what_cannot_be_done_is_a_mistake_of_the_command_line() {
    let text = fresh(&[], &[]);
    for args in [
        &[][..],
        &["--methods", "FLY"],
        &["--path", "no-slash"],
        &["--tags", "a b"],
    ] {
        let (exit, why) = narrowed(&text, args).unwrap_err();
        assert_eq!(exit, Exit::Usage, "{args:?}");
        assert!(!why.is_empty() && !why.contains(&text));
    }
    assert_eq!(
        narrowed("mp1_x", &["--path", "/"]).unwrap_err().0,
        Exit::Usage
    );
}

#[test]
fn the_page_of_a_passport_shows_everything_but_the_passport() {
    let text = fresh(&["authed"], &["read"]);
    let passport = Passport::inspect(&text).unwrap();
    let shown = page(&description(&passport, Some(GOOD)), NOW);
    for row in [
        "tenant    acme",
        "until     1800003600 (for 3600 s more)",
        "classes   authed",
        "tags      read",
        "root key  k1",
        "verdict   good now",
    ] {
        assert!(shown.contains(row), "no {row} in {shown}");
    }
    assert!(!shown.contains("mp1_"));
    assert!(page(&description(&passport, None), NOW).contains("not verified"));
}
