//! How soon a server answers after it was started, config and all.

use std::time::{Duration, Instant};

use crate::catalogue::Ask;
use crate::circumstances;
use crate::frame::{Effort, Quantiles};
use crate::load::wire::ask as get;
use crate::peers::{Door, Kind, Launch, haproxy, macronode, nginx};
use crate::report;
use crate::sheet::Row;
use crate::stand::{Stand, reserve};

/// What it is called by.
pub const NAME: &str = "startup";
/// One sentence for the list.
pub const ABOUT: &str =
    "from the start of the process to the first answer through it, beside nginx and HAProxy";

const METRIC: &str = "start to first answer";
const GOAL_MS: f64 = 100.0;
const LIMIT: Duration = Duration::from_secs(10);

/// Starts every server so often, in turns.
pub fn startup(ask: &Ask) -> Result<(), String> {
    let rounds = match ask.effort {
        Effort::Quick => 5,
        Effort::Full => 21,
    };
    let stand = Stand::new()?;
    let mut taken: Vec<(Kind, Vec<f64>)> = Kind::ALL.map(|kind| (kind, Vec::new())).into();
    // The first round finds cold files; it is nobody's cost.
    for round in 0..=rounds {
        for (kind, taken) in &mut taken {
            match started(&stand, *kind) {
                Ok(ms) => taken.extend((round > 0).then_some(ms)),
                Err(sentence) => circumstances::absent(&sentence),
            }
        }
    }
    report::tell(NAME, ask.json, rows(&taken), Vec::new())
}

fn started(stand: &Stand, kind: Kind) -> Result<f64, String> {
    let port = reserve()?;
    let place = stand.place(port.addr(), Door::Plain);
    let config = match kind {
        Kind::Nginx => nginx::tuned(&place),
        Kind::Haproxy => haproxy::tuned(&place),
        _ => macronode::realistic(&place),
    };
    let launch = Launch {
        kind,
        config: &config,
        files: &[],
        under: &[],
    };
    let server = launch.start(port)?;
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        if let Ok((200, body)) = get(server.address(), "/bytes/64")
            && body.len() == 64
        {
            return Ok(server.started().elapsed().as_secs_f64() * 1e3);
        }
    }
    Err(format!("{} is left out: it never answers", kind.name()))
}

fn rows(taken: &[(Kind, Vec<f64>)]) -> Vec<Row> {
    let some = taken.iter().filter(|(_, taken)| !taken.is_empty());
    let row = |(kind, own): &(Kind, Vec<f64>)| {
        let all = Quantiles::of(own.iter().copied());
        let spread = (all.at(0.9) - all.at(0.1)) / all.at(0.5);
        let mut row = Row::new(METRIC, kind.name(), all.at(0.5), "ms");
        row = row.over(own.len(), Some(spread));
        if *kind != Kind::Macronode {
            return row;
        }
        for (other, theirs) in taken.iter().filter(|(other, _)| other != kind) {
            let ratios = own.iter().zip(theirs).map(|(own, their)| own / their);
            row = row.beside(other.name(), crate::turns::median(ratios));
        }
        row.promised("at most 100 ms", all.at(0.5) <= GOAL_MS)
    };
    some.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_never_started_has_no_row_and_is_not_compared_with() {
        let taken = [
            (Kind::Nginx, vec![10.0, 20.0]),
            (Kind::Haproxy, vec![]),
            (Kind::Macronode, vec![20.0, 40.0]),
        ];
        let rows = rows(&taken);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[1].value, rows[1].beside.len()), (30.0, 1));
        assert_eq!(rows[1].beside[0].ratio, 2.0);
        assert!(rows[1].goal.as_ref().is_some_and(|goal| goal.met));
    }
}
