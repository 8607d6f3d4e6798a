use super::Args;

fn args(words: &[&str]) -> Args {
    Args::new(words.iter().map(|word| (*word).to_owned()))
}

#[test]
fn a_flag_is_taken_out_once_seen() {
    let mut args = args(&["--list", "--list"]);
    assert!(args.flag("--list"));
    assert!(!args.flag("--list"));
    assert_eq!(args.finish(), Ok(()));
}

#[test]
fn a_value_may_follow_or_be_joined() {
    assert_eq!(
        args(&["--only", "loom"]).value("--only"),
        Ok(Some("loom".to_owned()))
    );
    assert_eq!(
        args(&["--only=loom"]).value("--only"),
        Ok(Some("loom".to_owned()))
    );
    assert_eq!(args(&["--onlyloom"]).value("--only"), Ok(None));
}

#[test]
fn a_value_that_is_missing_is_an_error() {
    assert!(args(&["--only"]).value("--only").is_err());
}

#[test]
fn a_word_nobody_takes_is_an_error_that_names_it() {
    let error = args(&["--lits"]).finish().unwrap_err();
    assert!(error.contains("--lits"), "{error}");
}
