//! Who asks for how much, and what happens to the origin meanwhile.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::contender::Contender;
use super::{CAPACITY_PER_S, Length, SERVICE};
use crate::load::open::{Bursts, Stream};
use crate::load::request;
use crate::peers::Kind;

/// What is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scenario {
    Alone,
    OneNoisy,
    EightNoisy,
    Slower,
    Costly,
    ManyNoisy,
    Fewer,
    TenTimes,
    Uneven,
    Bursts,
    TwoWeights,
    Failing,
    CostlyFewer,
    Words,
    Weights,
}

/// What becomes of the origin at the end of the first third of the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) places: usize,
    pub(super) service: Duration,
}

/// Others than the polite one.
struct Noise {
    tenants: usize,
    rate_per_s: f64,
    path: &'static str,
}

pub(super) const POLITE: &str = "polite";
/// Tenants with shares of their own.
pub(super) const WEIGHTS: [(&str, u32); 2] = [("gold", 4), ("silver", 1)];

const BURSTS: Bursts = Bursts {
    period: Duration::from_secs(2),
    length: Duration::from_millis(500),
};

impl Scenario {
    pub(super) const ALL: [Self; 15] = [
        Self::Alone,
        Self::OneNoisy,
        Self::EightNoisy,
        Self::Slower,
        Self::Costly,
        Self::ManyNoisy,
        Self::Fewer,
        Self::TenTimes,
        Self::Uneven,
        Self::Bursts,
        Self::TwoWeights,
        Self::Failing,
        Self::CostlyFewer,
        Self::Words,
        Self::Weights,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Alone => "S0",
            Self::OneNoisy => "S1",
            Self::EightNoisy => "S2",
            Self::Slower => "S3",
            Self::Costly => "S4",
            Self::ManyNoisy => "S5",
            Self::Fewer => "S6",
            Self::TenTimes => "S7",
            Self::Uneven => "S8",
            Self::Bursts => "S9",
            Self::TwoWeights => "S10",
            Self::Failing => "S11",
            Self::CostlyFewer => "S12",
            Self::Words => "words",
            Self::Weights => "weights",
        }
    }

    pub(super) fn about(self) -> &'static str {
        match self {
            Self::Alone => "a polite tenant alone, 160/s",
            Self::OneNoisy => "beside one noisy tenant of 4,800/s",
            Self::EightNoisy => "beside eight of 600/s",
            Self::Slower => "as S1, while the origin slows down to 40 ms",
            Self::Costly => "beside one of 150/s whose requests take 640 ms",
            Self::ManyNoisy => "40/s, beside twenty-four of 190/s",
            Self::Fewer => "40/s, beside one of 1,200/s, while the origin shrinks to 8 places",
            Self::TenTimes => "beside one of ten times the capacity, 16,000/s",
            Self::Uneven => "as S1, where nine in ten take 10 ms and one 110 ms",
            Self::Bursts => "beside one of 9,600/s for half a second in every two",
            Self::TwoWeights => "beside two of 2,400/s, of weights 4 and 1",
            Self::Failing => "as S1, where one answer in twenty is an error",
            Self::CostlyFewer => "as S4, while the origin shrinks to 16 places",
            Self::Words => "a burst of twice the capacity that comes again when it was told to",
            Self::Weights => "two tenants of weights 4 and 1, each of 2,400/s",
        }
    }

    /// Only ours knows weights; the others were not asked to.
    pub(super) fn suits(self, contender: Contender) -> bool {
        self != Self::Weights || contender.kind() == Kind::Macronode
    }

    pub(super) fn change(self) -> Option<Change> {
        match self {
            Self::Slower => Some(Change {
                places: super::PLACES,
                service: SERVICE * 2,
            }),
            Self::Fewer => Some(Change {
                places: super::PLACES / 4,
                service: SERVICE,
            }),
            Self::CostlyFewer => Some(Change {
                places: super::PLACES / 2,
                service: SERVICE,
            }),
            _ => None,
        }
    }

    /// What the origin can answer at most, where all requests cost the same.
    pub(super) fn capacity_per_s(self) -> Option<f64> {
        match self {
            Self::Alone | Self::Costly | Self::CostlyFewer | Self::Bursts | Self::Words => None,
            Self::Failing => Some(CAPACITY_PER_S * 0.95),
            Self::Slower => Some(CAPACITY_PER_S / 2.0),
            Self::Fewer => Some(CAPACITY_PER_S / 4.0),
            _ => Some(CAPACITY_PER_S),
        }
    }

    pub(super) fn streams(self, target: SocketAddr, length: Length) -> Vec<Stream> {
        let weighted = || {
            WEIGHTS
                .iter()
                .zip(1..)
                .map(|((name, _), index)| stream(target, index, name, 2_400.0, "/work"))
        };
        let noise = self.noise();
        let path = match self {
            Self::Costly | Self::CostlyFewer => "/work",
            _ => noise.path,
        };
        let polite = stream(target, 0, POLITE, self.polite_rate_per_s(), path);
        match self {
            Self::Weights => return weighted().collect(),
            Self::TwoWeights => return std::iter::once(polite).chain(weighted()).collect(),
            _ => {}
        }
        let noisy = (1..=noise.tenants).map(|index| {
            let name = format!("noisy-{index}");
            let noisy = stream(target, index, &name, noise.rate_per_s, noise.path);
            match self {
                Self::Words => Stream {
                    until: length.warm_up + length.counted / 2,
                    retries: 3,
                    ..noisy
                },
                Self::Bursts => Stream {
                    bursts: Some(BURSTS),
                    ..noisy
                },
                _ => noisy,
            }
        });
        std::iter::once(polite).chain(noisy).collect()
    }

    fn polite_rate_per_s(self) -> f64 {
        match self {
            Self::ManyNoisy | Self::Fewer => 40.0,
            _ => 160.0,
        }
    }

    fn noise(self) -> Noise {
        let (tenants, rate_per_s) = match self {
            Self::Alone | Self::Weights | Self::TwoWeights => (0, 0.0),
            Self::OneNoisy | Self::Slower | Self::Uneven | Self::Failing => (1, 4_800.0),
            Self::Bursts => (1, CAPACITY_PER_S * 6.0),
            Self::EightNoisy => (8, 600.0),
            Self::Costly | Self::CostlyFewer => (1, 150.0),
            Self::ManyNoisy => (24, 190.0),
            Self::Fewer => (1, 1_200.0),
            Self::TenTimes => (1, CAPACITY_PER_S * 10.0),
            Self::Words => (1, CAPACITY_PER_S * 2.0),
        };
        let path = match self {
            Self::Costly | Self::CostlyFewer => "/work?ms=640",
            Self::Uneven => "/work?uneven=1",
            Self::Failing => "/work?failing=5",
            _ => "/work",
        };
        Noise {
            tenants,
            rate_per_s,
            path,
        }
    }
}

/// Each tenant has addresses of its own, as tenants do.
fn stream(target: SocketAddr, index: usize, name: &str, rate_per_s: f64, path: &str) -> Stream {
    Stream {
        name: name.to_owned(),
        rate_per_s,
        bursts: None,
        until: Duration::MAX,
        request: request("GET", target, path, &[("X-Tenant", name)], b""),
        source: Ipv4Addr::new(127, 1, index as u8, 1),
        retries: 0,
    }
}
