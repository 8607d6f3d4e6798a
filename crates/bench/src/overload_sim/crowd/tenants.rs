//! Who sends what: one crowd with a noisy tenant, and three that a count of requests does not describe.

use std::time::Duration;

use super::super::{CAPACITY_PER_S, PATIENCE};
use super::books::Figures;

pub(crate) const TENANTS: usize = 9;
/// The one that makes what the others do not.
pub(crate) const NOISY: usize = TENANTS - 1;
const POLITE_PER_S: f64 = 20.0;
const DEAR_COST: u32 = 32;
const GOLD_WEIGHT: u32 = 4;
/// Less than a full queue takes to get through.
const HASTE: Duration = Duration::from_millis(100);

/// One tenant's requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tenant {
    pub(crate) per_s: f64,
    pub(crate) cost: u32,
    pub(crate) weight: u32,
    /// How long its clients wait.
    pub(crate) patience: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crowd {
    /// Eight send little, the last one all the rest.
    Noisy,
    /// All send as many requests; those of the last one cost 32 times as much.
    Dear,
    /// All send as much; every other one has paid for four shares.
    Weighted,
    /// All send as much; clients of every other one leave after 100 ms.
    Hasty,
}

impl Crowd {
    pub(crate) const ALL: [Self; 4] = [Self::Noisy, Self::Dear, Self::Weighted, Self::Hasty];
    /// Those beside the noisy one.
    pub(crate) const CASES: [Self; 3] = [Self::Dear, Self::Weighted, Self::Hasty];

    /// What is shown of it, in percent.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Noisy => "polite tenants: ok, %",
            Self::Dear => "32x cost: its share, %",
            Self::Weighted => "weight 4:1: share of 4, %",
            Self::Hasty => "100 ms: work in vain, %",
        }
    }

    pub(crate) fn percent(self, figures: &Figures) -> f64 {
        100.0
            * match self {
                Self::Noisy => figures.polite_ok,
                Self::Dear => figures.share_of_last,
                Self::Weighted => figures.share_of_even,
                Self::Hasty => figures.in_vain,
            }
    }

    pub(crate) fn max_cost(self) -> u32 {
        match self {
            Self::Dear => DEAR_COST,
            Self::Noisy | Self::Weighted | Self::Hasty => 1,
        }
    }

    /// Who they are at that load, in capacities of the origin.
    pub(crate) fn tenants(self, load: f64) -> [Tenant; TENANTS] {
        let all = load * CAPACITY_PER_S;
        std::array::from_fn(|who| {
            let (last, even) = (who == NOISY, who % 2 == 0);
            let usual = Tenant {
                per_s: all / (TENANTS - 1) as f64,
                cost: 1,
                weight: 1,
                patience: PATIENCE,
            };
            match self {
                Self::Noisy if last => Tenant {
                    per_s: all - POLITE_PER_S * NOISY as f64,
                    ..usual
                },
                Self::Noisy => Tenant {
                    per_s: POLITE_PER_S,
                    ..usual
                },
                Self::Dear => Tenant {
                    per_s: all / (NOISY as f64 + f64::from(DEAR_COST)),
                    cost: if last { DEAR_COST } else { 1 },
                    ..usual
                },
                // Four of each kind: the last one is not there.
                Self::Weighted | Self::Hasty if last => Tenant {
                    per_s: 0.0,
                    ..usual
                },
                Self::Weighted if even => Tenant {
                    weight: GOLD_WEIGHT,
                    ..usual
                },
                Self::Hasty if even => Tenant {
                    patience: HASTE,
                    ..usual
                },
                Self::Weighted | Self::Hasty => usual,
            }
        })
    }
}
