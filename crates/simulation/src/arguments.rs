//! What is asked for on the command line.

use std::time::Duration;

use crate::run::Plan;

const USAGE: &str = "usage: simulation [--seed N] [--periods N] [--minutes N] [--rps N] [--broken 1]\n\
                     \n  periods of so many virtual minutes, each with load, faults and a rest at its end;\n  \
                     without any: a day, 24 periods of 60 minutes;\n  \
                     what is broken is found: its weights, its answers, what is done once";

/// The plan, or what is wrong with it.
pub fn plan(words: impl IntoIterator<Item = String>) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| USAGE.to_owned())?;
        let number: u64 = value.parse().map_err(|_| USAGE.to_owned())?;
        match word.as_str() {
            "--seed" => plan.seed = number,
            "--periods" if number > 0 => plan.periods = number,
            "--minutes" if number >= 5 => plan.period = Duration::from_secs(60 * number),
            "--rps" if number > 0 => plan.rps = number as f64,
            "--broken" => plan.broken = number > 0,
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn without_words_it_is_a_day() {
        let plan = plan(words("")).unwrap();
        assert_eq!(
            plan.period * plan.periods as u32,
            Duration::from_secs(86_400)
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert_eq!(plan(words("--seed 7 --minutes 5")).unwrap().seed, 7);
        for line in [
            "--seed",
            "--seed x",
            "--periods 0",
            "--minutes 4",
            "--day 1",
        ] {
            assert!(plan(words(line)).is_err(), "{line}");
        }
    }
}
