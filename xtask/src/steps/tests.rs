use super::{Done, Row, Series, Step, Tally, table, total};
use crate::args::Args;
use std::time::Duration;

fn passes(tally: &mut Tally) -> Result<Done, String> {
    tally.read("test result: ok. 2 passed; 0 failed;");
    Ok(Done::Passed)
}

fn does_not_compile(_: &mut Tally) -> Result<Done, String> {
    Err("cargo said no".to_owned())
}

fn absent(_: &mut Tally) -> Result<Done, String> {
    Ok(Done::NotHere("no Java".to_owned()))
}

const STEPS: &[Step] = &[
    Step {
        name: "good",
        about: "",
        run: passes,
    },
    Step {
        name: "bad",
        about: "",
        run: does_not_compile,
    },
    Step {
        name: "after",
        about: "",
        run: passes,
    },
];

fn series(stop_at_first: bool) -> Series {
    Series {
        command: "test",
        steps: STEPS,
        stop_at_first,
        counts_tests: true,
    }
}

fn names(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.name).collect()
}

#[test]
fn a_quick_series_stops_at_the_first_failure_and_a_long_one_goes_on() {
    let all: Vec<_> = STEPS.iter().collect();
    assert_eq!(names(&series(true).walk(&all)), ["good", "bad"]);
    assert_eq!(names(&series(false).walk(&all)), ["good", "bad", "after"]);
}

#[test]
fn a_failure_says_why_and_how_to_rerun_the_step() {
    let error = series(true).run(Args::new([])).unwrap_err();
    assert!(error.contains("cargo said no"), "{error}");
    assert!(error.contains("cargo xtask test --only bad"), "{error}");
}

#[test]
fn one_step_can_be_chosen_and_an_unknown_one_is_refused() {
    assert_eq!(
        series(true).run(Args::new(["--only=good".to_owned()])),
        Ok(())
    );
    let error = series(true)
        .run(Args::new(["--only=loop".to_owned()]))
        .unwrap_err();
    assert!(error.contains("good, bad, after"), "{error}");
}

#[test]
fn an_absent_tool_is_no_failure_and_its_sentence_is_in_the_table() {
    let step = Step {
        name: "tlc",
        about: "",
        run: absent,
    };
    let rows = [super::timed(&step)];
    assert!(table(&rows).contains("not possible here: no Java"));
    assert!(rows[0].failure("deep").is_none());
}

#[test]
fn tests_are_summed_over_steps() {
    let row = |tally| Row {
        name: "x",
        took: Duration::ZERO,
        tally,
        result: Ok(Done::Passed),
    };
    let rows = [
        row(Tally {
            passed: 2,
            failed: 1,
        }),
        row(Tally {
            passed: 40,
            failed: 0,
        }),
    ];
    assert_eq!(
        total(&rows),
        Tally {
            passed: 42,
            failed: 1
        }
    );
}
