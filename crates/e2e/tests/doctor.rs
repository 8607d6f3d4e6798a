//! The doctor: what is wrong with this machine, by name, with how to mend it.

use std::net::TcpListener;
use std::time::Duration;

use e2e::command::{Ran, macronode, ran};

const UNHEALTHY: i32 = 7;

fn examined(sets: &[&str]) -> Ran {
    let mut command = macronode(["doctor"]);
    for set in sets {
        command.args(["--set", set]);
    }
    let said = ran(&mut command);
    assert_eq!(said.stderr, "", "{said:?}");
    assert!(said.took < Duration::from_secs(10), "{said:?}");
    said
}

/// The verdict and the words of one row.
fn row<'a>(said: &'a Ran, check: &str) -> (&'a str, &'a str) {
    let rows = said
        .stdout
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace));
    let mut found = rows.filter_map(|(verdict, rest)| {
        Some((verdict, rest.trim_start().strip_prefix(check)?.trim_start()))
    });
    found
        .next()
        .unwrap_or_else(|| panic!("no row {check} in {}", said.stdout))
}

#[test]
fn the_exit_code_tells_whether_a_fault_was_found() {
    let said = examined(&["admin.listen=127.0.0.1:0", "demo.listen=127.0.0.1:0"]);
    let faults = said
        .stdout
        .lines()
        .filter(|line| line.starts_with("FAULT"))
        .count();
    let code = if faults == 0 { 0 } else { UNHEALTHY };
    assert_eq!(said.code, Some(code), "{said:?}");
    assert!(
        said.stdout.contains(&format!("\n{faults} fault")),
        "{said:?}"
    );
    for check in ["config", "admin.listen", "demo.listen"] {
        assert_eq!(row(&said, check).0, "ok", "{said:?}");
    }
    for check in ["open files", "wall clock", "kernel", "user"] {
        assert!(!row(&said, check).1.is_empty(), "{said:?}");
    }
}

#[test]
fn a_taken_port_is_a_fault_with_who_has_it_and_a_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let said = examined(&[
        &format!("demo.listen={address}"),
        "admin.listen=127.0.0.1:0",
    ]);
    assert_eq!(said.code, Some(UNHEALTHY), "{said:?}");
    let (verdict, found) = row(&said, "demo.listen");
    assert_eq!(verdict, "FAULT", "{said:?}");
    assert!(found.starts_with(&format!("{address} is taken")), "{found}");
    assert!(
        found.contains(&format!("pid {}", std::process::id())),
        "{found}"
    );
    assert!(
        said.stdout.contains("--set demo.listen=IP:PORT"),
        "{said:?}"
    );
    drop(taken);
    assert_eq!(
        row(
            &examined(&[&format!("demo.listen={address}")]),
            "demo.listen"
        )
        .0,
        "ok"
    );
}

// req: KN-13
#[test]
fn a_broken_config_is_a_fault_with_every_mistake_and_the_rest_is_examined_all_the_same() {
    let said = examined(&["demo.workers=0", "demo.rate=many"]);
    assert_eq!(said.code, Some(UNHEALTHY), "{said:?}");
    let (verdict, found) = row(&said, "config");
    assert_eq!(verdict, "FAULT", "{said:?}");
    assert!(found.contains("2 mistakes"), "{found}");
    for mistake in [
        "demo.workers = 0: out of range",
        "--set demo.rate: demo.rate",
    ] {
        assert!(said.stdout.contains(mistake), "no {mistake} in {said:?}");
    }
    assert!(!row(&said, "open files").1.is_empty());
}
