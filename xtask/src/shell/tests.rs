use super::Invocation;

#[test]
fn shown_as_one_would_type_it() {
    let loom = Invocation::cargo(&["test", "-p", "bounded-ring"]).env("RUSTFLAGS", "--cfg loom");
    assert_eq!(
        loom.to_string(),
        "RUSTFLAGS='--cfg loom' cargo test -p bounded-ring"
    );
    assert_eq!(
        Invocation::new("echo", &["it's", ""]).to_string(),
        r"echo 'it'\''s' ''"
    );
}

#[test]
fn every_line_reaches_the_listener_also_the_last_without_newline() {
    let mut lines = Vec::new();
    let echo = Invocation::new("sh", &["-c", "printf 'one\\ntwo'"]);
    assert_eq!(echo.stream(|line| lines.push(line.to_owned())), Ok(()));
    assert_eq!(lines, ["one", "two"]);
}

#[test]
fn a_failure_names_the_command_and_its_status() {
    let error = Invocation::new("sh", &["-c", "exit 3"]).run().unwrap_err();
    assert!(
        error.contains("sh -c 'exit 3'") && error.contains('3'),
        "{error}"
    );
}

#[test]
fn a_program_that_is_not_there_is_an_error_or_no_probe() {
    let absent = Invocation::new("no-such-program-here", &[]);
    assert!(absent.run().unwrap_err().contains("no-such-program-here"));
    assert_eq!(absent.probe(), None);
}
