//! What moved between two runs by more than either of them wavers.

use std::path::Path;

use crate::results;
use crate::sheet::{Row, Sheet};

/// What no measurement here can tell apart, however steady it looked.
const FLOOR: f64 = 0.03;

/// A number that is not where it was.
#[derive(Clone, Debug, PartialEq)]
struct Move {
    what: String,
    from: f64,
    to: f64,
    /// Of the numbers; or who both are ratios to.
    unit: String,
    /// What the two runs waver by.
    noise: f64,
}

/// Prints what moved since the file was written; everything that was measured is compared.
pub fn compare(old: &Path) -> Result<(), String> {
    let text =
        std::fs::read_to_string(old).map_err(|error| format!("{}: {error}", old.display()))?;
    let old = parse(&text).ok_or_else(|| format!("{}: no results", old.display()))?;
    let new = results::all()?;
    let both = |name: &str| old.iter().any(|sheet| sheet.name == name);
    let compared = new.iter().filter(|sheet| both(&sheet.name)).count();
    if compared == 0 {
        return Err("no benchmark is in both, so nothing was compared".to_owned());
    }
    print!("{}", told(compared, &moved(&old, &new)));
    Ok(())
}

/// One sheet, or a list of them.
fn parse(text: &str) -> Option<Vec<Sheet>> {
    let one = |text| {
        serde_json::from_str::<Sheet>(text)
            .ok()
            .map(|sheet| vec![sheet])
    };
    let sheets = serde_json::from_str(text).ok().or_else(|| one(text))?;
    let named = |sheets: &Vec<Sheet>| sheets.iter().any(|sheet| !sheet.name.is_empty());
    Some(sheets).filter(named)
}

fn moved(old: &[Sheet], new: &[Sheet]) -> Vec<Move> {
    let mut moves = Vec::new();
    for sheet in new {
        let Some(before) = old.iter().find(|old| old.name == sheet.name) else {
            continue;
        };
        let same_machine = before.machine == sheet.machine;
        for row in &sheet.rows {
            let earlier = before.rows.iter().find(|old| old.key() == row.key());
            moves.extend(earlier.and_then(|old| row_moved(&sheet.name, old, row, same_machine)));
        }
    }
    moves.sort_by(|a, b| b.size().total_cmp(&a.size()));
    moves
}

/// By its first ratio where both have one: what a machine does to both sides cancels out. The number itself says
/// nothing across machines.
fn row_moved(bench: &str, old: &Row, new: &Row, same_machine: bool) -> Option<Move> {
    let noise = [old.spread, new.spread].into_iter().flatten();
    let noise = noise.fold(FLOOR, f64::max);
    let peer = |row: &Row, name: &str| row.beside.iter().find(|b| b.name() == name).cloned();
    let ratios = new.beside.first().and_then(|new| {
        let name = new.name();
        peer(old, name).map(|old| (old.ratio, new.ratio, format!("× {name}")))
    });
    let values = same_machine.then(|| (old.value, new.value, new.unit.clone()));
    let (from, to, unit) = ratios.or(values)?;
    let found = Move {
        what: format!("{bench}: {} ({})", new.metric, new.subject),
        from,
        to,
        unit,
        noise,
    };
    (found.size() > noise).then_some(found)
}

impl Move {
    /// As a part of what was; something from nothing is a whole.
    fn size(&self) -> f64 {
        match (self.from, self.to) {
            (from, to) if from == to => 0.0,
            (0.0, _) => 1.0,
            (from, to) => (to / from - 1.0).abs(),
        }
    }
}

fn told(compared: usize, moves: &[Move]) -> String {
    let mut text = format!(
        "{compared} benchmarks compared, {} numbers moved\n",
        moves.len()
    );
    for one in moves {
        text.push_str(&format!(
            "{:<60} {:>10.3} -> {:>10.3} {:<14} {:>+6.1} % (wavers by {:.1} %)\n",
            one.what,
            one.from,
            one.to,
            one.unit,
            one.size().copysign(one.to - one.from) * 100.0,
            one.noise * 100.0
        ));
    }
    text
}

#[cfg(test)]
mod tests;
