//! The node beside an earlier build of itself, in the same rounds: what was gained since.

use super::case::{Case, Drive};
use super::certificate::Certificate;
use super::measured;
use crate::catalogue::Ask;
use crate::cores::{self, Rank};
use crate::peers::{Kind, OTHER_CORE};
use crate::report;
use crate::sheet::Row;
use crate::turns::{Measured, Turns};

/// What it is called by.
pub(crate) const NAME: &str = "progress";
/// One sentence for the list.
pub(crate) const ABOUT: &str =
    "processor time a request, beside an earlier build of the node (--before PROGRAM)";

const PAIR: [Kind; 2] = [Kind::Earlier, Kind::Macronode];

/// Runs the proxy's cases with both builds in turns.
pub(crate) fn progress(ask: &Ask) -> Result<(), String> {
    Kind::Earlier.find()?;
    cores::go_first(Rank::Load);
    cores::pin(OTHER_CORE);
    let (turns, certificate) = (Turns::of(ask.effort), Certificate::make()?);
    let timed = |case: &&Case| case.drive != Drive::Instructions;
    for case in Case::ALL.iter().filter(timed) {
        if ask.wanted.has(&[case.name]) {
            let both = measured(case, turns, &certificate, &PAIR)?;
            report::tell(NAME, ask.json, rows(case, &both), Vec::new())?;
        }
    }
    Ok(())
}

fn rows(case: &Case, both: &[Measured]) -> Vec<Row> {
    let row = |measured: &Measured| {
        let failures = measured.samples.iter().map(|sample| sample.failures).sum();
        Row::new(
            case.name,
            measured.kind.name(),
            measured.each().at(0.5),
            case.unit(),
        )
        .beside(Kind::Earlier.name(), measured.ratio_to(Kind::Earlier, both))
        .over(measured.samples.len(), Some(measured.spread()))
        .failed(failures)
    };
    let some = both.iter().filter(|measured| !measured.samples.is_empty());
    some.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::measured;
    use super::*;

    #[test]
    fn only_what_is_now_is_beside_what_was() {
        let both = [
            measured(Kind::Earlier, &[40.0, 20.0, 30.0], None),
            measured(Kind::Macronode, &[10.0, 10.0, 15.0], None),
        ];
        let rows = rows(&Case::ALL[0], &both);
        assert_eq!((rows[0].value, rows[1].value), (30.0, 10.0));
        assert!(rows[0].beside.is_empty());
        assert_eq!(rows[1].beside[0].ratio, 0.5);
    }
}
