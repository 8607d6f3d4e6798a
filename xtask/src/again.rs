//! A second try, alone, for the few tests that fail in the crowd: real time on a busy machine is not theirs to command.
//!
//! What fails for a reason fails again. What passes then is named in the summary: it is unsteady, and wants mending.

use crate::shell::Invocation;
use crate::steps::Done;
use crate::tally::Tally;

/// More failures than these have a common cause, which no second try mends.
const FEW: usize = 4;

/// Runs tests and counts them; see above. A run in which no test ran proves nothing, so it fails.
pub(crate) fn counted(tests: &Invocation, tally: &mut Tally) -> Result<Done, String> {
    let mut failed = Vec::new();
    let mut run = Tally::default();
    let crowd = tests.clone().args(["--no-fail-fast"]);
    let outcome = crowd.stream(|line| {
        run.read(line);
        failed.extend(failure(line));
    });
    let second_try = outcome.is_err() && run.failed as usize == failed.len() && failed.len() <= FEW;
    if second_try && !failed.is_empty() && alone(tests, &failed) {
        tally.passed += run.passed + run.failed;
        return Ok(Done::Unsteady(failed));
    }
    tally.add(run);
    outcome?;
    if run.passed == 0 {
        return Err(format!("no test ran: {tests}"));
    }
    Ok(Done::Passed)
}

/// Whether each of them passes with nothing beside it.
fn alone(tests: &Invocation, names: &[String]) -> bool {
    println!("== again, alone: {}", names.join(", "));
    let mut run = Tally::default();
    let again = tests
        .clone()
        .args(["--no-fail-fast", "--", "--exact", "--test-threads=1"])
        .args(names);
    let outcome = again.stream(|line| run.read(line));
    outcome.is_ok() && run.passed as usize >= names.len()
}

/// The name in `test NAME ... FAILED`.
fn failure(line: &str) -> Option<String> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.trim_end_matches(" - should panic").to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Tally, counted, failure};
    use crate::shell::Invocation;
    use crate::steps::Done;

    /// Tests of which the first, when not alone, says `crowd`, and then `alone`.
    fn tests(crowd: &str, alone: &str) -> Invocation {
        let script = format!(
            r#"case "$*" in *--exact*) echo "{alone}"; echo "{alone}" | grep -q ' 0 failed' ;;
               *) echo "test slow::one ... FAILED"; echo "{crowd}"; exit 1 ;; esac"#
        );
        Invocation::new("sh", &["-c", &script, "sh"])
    }

    const CROWD: &str = "test result: FAILED. 4 passed; 1 failed;";

    #[test]
    fn what_passes_alone_is_counted_and_named() {
        let mut tally = Tally::default();
        let done = counted(
            &tests(CROWD, "test result: ok. 1 passed; 0 failed;"),
            &mut tally,
        );
        assert!(matches!(done, Ok(Done::Unsteady(names)) if names == ["slow::one"]));
        assert_eq!((tally.passed, tally.failed), (5, 0));
    }

    #[test]
    fn what_fails_alone_too_or_does_not_run_or_has_much_company_fails() {
        let alone = "test result: ok. 1 passed; 0 failed;";
        for (crowd, alone) in [
            (CROWD, "test result: FAILED. 0 passed; 1 failed;"),
            (CROWD, "test result: ok. 0 passed; 0 failed;"),
            ("test result: FAILED. 4 passed; 9 failed;", alone),
            ("no result: it did not compile, say", alone),
        ] {
            let mut tally = Tally::default();
            assert!(
                counted(&tests(crowd, alone), &mut tally).is_err(),
                "{crowd} {alone}"
            );
        }
    }

    #[test]
    fn a_run_without_tests_fails() {
        let none = Invocation::new("echo", &["test result: ok. 0 passed; 0 failed;"]);
        assert!(counted(&none, &mut Tally::default()).is_err());
    }

    #[test]
    fn only_a_test_of_its_own_line_is_a_failure() {
        assert_eq!(failure("test a::b ... FAILED").as_deref(), Some("a::b"));
        assert_eq!(
            failure("test a::b - should panic ... FAILED").as_deref(),
            Some("a::b")
        );
        assert_eq!(failure("test a::b ... ok"), None);
        assert_eq!(failure("saw test a::b ... FAILED"), None);
    }
}
