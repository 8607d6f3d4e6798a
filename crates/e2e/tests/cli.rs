//! The command line: what each command prints, and the exit codes scripts rely on.

use e2e::command::{Ran, macronode, ran};
use serde_json::Value;

fn said(args: &[&str], code: i32) -> Ran {
    let said = ran(&mut macronode(args));
    assert_eq!(said.code, Some(code), "{args:?}: {said:?}");
    said
}

#[test]
fn the_version_is_printed_for_people_and_for_machines() {
    let plain = said(&["version"], 0).stdout;
    let machine: Value = serde_json::from_str(&said(&["version", "--json"], 0).stdout).unwrap();
    let version = machine["version"].as_str().unwrap();
    assert!(
        plain.starts_with(&format!("macronode {version} (")),
        "{plain}"
    );
    assert!(machine["build"].is_string(), "{machine}");
    assert_eq!(
        said(&["--version"], 0).stdout,
        format!("macronode {version}\n")
    );
}

// req: ND-01
#[test]
fn output_that_finds_no_room_is_an_error_and_no_defect() {
    for args in [&["config", "print"][..], &["version"], &["doctor"]] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = macronode(args);
        let said = command.stdout(full.unwrap()).output().unwrap();
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(1), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
        assert!(
            stderr.contains("standard output cannot be written"),
            "{args:?}: {stderr}"
        );
    }
}

#[test]
fn help_names_every_command() {
    let help = said(&["--help"], 0).stdout;
    let commands = [
        "run",
        "check",
        "config",
        "doctor",
        "status",
        "drain",
        "reload",
        "version",
        "completions",
    ];
    for command in commands {
        assert!(
            help.contains(&format!("\n  {command} ")),
            "no {command} in {help}"
        );
        let own = said(&[command, "--help"], 0).stdout;
        assert!(
            own.contains(&format!("Usage: macronode {command}")),
            "{own}"
        );
    }
}

#[test]
fn each_shell_is_given_completions_it_can_read() {
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&["completions", shell], 0).stdout;
        assert!(
            script.contains("macronode") && script.contains("doctor"),
            "{shell}: {script}"
        );
    }
    let script = said(&["completions", "bash"], 0).stdout;
    let mut bash = std::process::Command::new("bash");
    let read = ran(bash.args(["--norc", "-c", &format!("{script}\ncomplete -p macronode")]));
    assert_eq!(read.code, Some(0), "{read:?}");
}

#[test]
fn a_command_line_without_sense_is_told_with_the_usage() {
    for args in [
        &["fly"][..],
        &[],
        &["run", "--runtime", "quick"],
        &["status", "--admin", "nowhere"],
        &["completions", "ed"],
    ] {
        let said = said(args, 2);
        assert_eq!(said.stdout, "", "{args:?}");
        assert!(
            said.stderr.contains("Usage") || said.stderr.contains("--help"),
            "{said:?}"
        );
    }
}

// req: KN-14
#[test]
fn a_diff_tells_what_a_reload_would_change_and_what_needs_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (old, new) = (
        file("old", "[demo]\n"),
        file("new", "[demo]\nworkers = 8\nrate = 7\n"),
    );
    let changed = said(&["config", "diff", &old, &new], 0).stdout;
    let row = |key: &str| {
        changed
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap()
            .to_owned()
    };
    let cells = |key| {
        row(key)
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(cells("demo.workers")[..3], ["demo.workers", "4", "8"]);
    assert_eq!(cells("demo.rate")[..3], ["demo.rate", "200", "7"]);
    for (key, takes) in [("demo.workers", "restart"), ("demo.rate", "reload")] {
        assert_eq!(cells(key)[3], takes, "as the reference says: {changed}");
    }
    assert!(
        changed.contains("a reload would be refused: demo.workers cannot"),
        "{changed}"
    );
    assert_eq!(
        said(&["config", "diff", &new, &new], 0).stdout,
        "no change\n"
    );
    let gateway = |name: &str, routes: &str| {
        let text = format!("[gateway]\nto = 'http://127.0.0.1:1'\nroutes = [{routes}]\n");
        file(name, &text)
    };
    let routes = "{ path = '/a', upstream = 'main', deadline_ms = 500 }";
    let before = gateway("before", routes);
    let slower = gateway("slower", &routes.replace("500", "700"));
    let changed = said(&["config", "diff", &before, &slower], 0).stdout;
    let last = changed.lines().last().unwrap();
    let cells: Vec<_> = last.split_whitespace().collect();
    let deadline = ["gateway.routes[0].deadline_ms", "500", "700", "reload"];
    assert_eq!(cells, deadline, "{changed}");
    let another = "{ path = '/b', upstream = 'main' }";
    let more = gateway("more", &format!("{routes}, {another}"));
    let changed = said(&["config", "diff", &before, &more], 0).stdout;
    let begins = "gateway.routes[1], by reload\n  old  (none)\n  new  {";
    assert!(changed.starts_with(begins), "{changed}");
    let bad = file("bad", "[demo]\nrate = -7\n");
    let refused = said(&["config", "diff", &old, &bad], 3);
    assert!(refused.stderr.contains("demo.rate = -7"), "{refused:?}");
}
