//! Who asks for how much, what happens to the origin meanwhile, and what is promised.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::contender::Contender;
use super::{CAPACITY_PER_S, Length};
use crate::load::open::{Bursts, Rhythm, Stream};
use crate::load::request;
use crate::origin::places::Manner;
use crate::peers::Kind;

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// How often the polite one asks; nought: there is none.
    polite_per_s: f64,
    polite_path: &'static str,
    others: &'static [Others],
    /// When the noisy ones come.
    rhythm: Rhythm,
    pub(super) changes: &'static [Change],
    /// What the origin can answer while it is counted, in parts of what it usually can. Absent where requests cost
    /// different amounts, or nobody asks for all of it.
    capacity: Option<f64>,
    pub(super) promise: Promise,
}

/// So many tenants who ask for the same.
#[derive(Clone, Copy, Debug)]
struct Others {
    tenants: usize,
    /// Numbered where absent.
    name: Option<&'static str>,
    rate_per_s: f64,
    path: &'static str,
    /// After how long they leave, if sooner than others.
    haste: Option<Duration>,
}

/// What becomes of the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) when: When,
    pub(super) places: usize,
    pub(super) service_ms: u64,
    /// What becomes of those who find no place.
    pub(super) manner: Manner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// It was so before anybody asked.
    Before,
    /// At the end of the first third of the warm-up.
    WarmingUp,
    /// When it begins to be counted.
    Counted,
    /// A second after that.
    SecondLater,
}

/// What is promised of ours; what is absent is only reported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Promise {
    pub(super) polite_ok_percent: Option<f64>,
    pub(super) polite_p50_ms: Option<f64>,
    pub(super) polite_p99_ms: Option<f64>,
    /// Of what the origin can do.
    pub(super) goodput_percent: Option<f64>,
    pub(super) refusal_p99_ms: Option<f64>,
}

pub(super) const NOTHING: Promise = Promise {
    polite_ok_percent: None,
    polite_p50_ms: None,
    polite_p99_ms: None,
    goodput_percent: None,
    refusal_p99_ms: None,
};

/// Everybody polite is answered, and nearly all of the origin is of use to somebody.
const SERVED: Promise = Promise {
    polite_ok_percent: Some(99.9),
    goodput_percent: Some(95.0),
    refusal_p99_ms: Some(5.0),
    ..NOTHING
};

/// And who is polite hardly notices the others.
const UNNOTICED: Promise = Promise {
    polite_p99_ms: Some(30.0),
    ..SERVED
};

pub(super) const POLITE: &str = "polite";
/// Tenants with shares of their own.
pub(super) const WEIGHTS: [(&str, u32); 2] = [("gold", 4), ("silver", 1)];
/// Names that are asked for by themselves.
pub(super) const ALONE: &str = "S0";
pub(super) const WORDS: &str = "words";

const BURSTS: Bursts = Bursts {
    period: Duration::from_secs(2),
    length: Duration::from_millis(500),
};

/// A polite tenant, nobody beside it, an origin that stays as it is.
const CALM: Scenario = Scenario {
    name: "",
    about: "",
    polite_per_s: 160.0,
    polite_path: "/work",
    others: &[],
    rhythm: Rhythm::Steady,
    changes: &[],
    capacity: Some(1.0),
    promise: NOTHING,
};

const fn noisy(tenants: usize, rate_per_s: f64, path: &'static str) -> Others {
    Others {
        tenants,
        name: None,
        rate_per_s,
        path,
        haste: None,
    }
}

const fn hasty(rate_per_s: f64, path: &'static str, leaves_after_ms: u64) -> Others {
    Others {
        haste: Some(Duration::from_millis(leaves_after_ms)),
        ..noisy(1, rate_per_s, path)
    }
}

const fn weighted(index: usize) -> Others {
    Others {
        name: Some(WEIGHTS[index].0),
        ..noisy(1, 2_400.0, "/work")
    }
}

const fn becomes(when: When, places: usize, service_ms: u64) -> Change {
    Change {
        when,
        places,
        service_ms,
        manner: Manner::Queue,
    }
}

pub(super) const ALL: [Scenario; 28] = [
    Scenario {
        name: ALONE,
        about: "a polite tenant alone, 160/s",
        capacity: None,
        ..CALM
    },
    Scenario {
        name: "S1",
        about: "beside one noisy tenant of 4,800/s",
        others: &[noisy(1, 4_800.0, "/work")],
        promise: UNNOTICED,
        ..CALM
    },
    Scenario {
        name: "S2",
        about: "beside eight of 600/s",
        others: &[noisy(8, 600.0, "/work")],
        promise: UNNOTICED,
        ..CALM
    },
    Scenario {
        name: "S3",
        about: "as S1, while the origin slows down to 40 ms",
        others: &[noisy(1, 4_800.0, "/work")],
        changes: &[becomes(When::WarmingUp, 32, 40)],
        capacity: Some(0.5),
        promise: SERVED,
        ..CALM
    },
    Scenario {
        name: "S4",
        about: "beside one of 150/s whose requests take 640 ms",
        others: &[noisy(1, 150.0, "/work?ms=640")],
        capacity: None,
        promise: Promise {
            polite_p99_ms: Some(60.0),
            ..SERVED
        },
        ..CALM
    },
    Scenario {
        name: "S5",
        about: "40/s, beside twenty-four of 190/s",
        polite_per_s: 40.0,
        others: &[noisy(24, 190.0, "/work")],
        promise: UNNOTICED,
        ..CALM
    },
    Scenario {
        name: "S6",
        about: "40/s, beside one of 1,200/s, while the origin shrinks to 8 places",
        polite_per_s: 40.0,
        others: &[noisy(1, 1_200.0, "/work")],
        changes: &[becomes(When::WarmingUp, 8, 20)],
        capacity: Some(0.25),
        promise: Promise {
            polite_p50_ms: Some(35.0),
            ..SERVED
        },
        ..CALM
    },
    Scenario {
        name: "S7",
        about: "beside one of ten times the capacity, 16,000/s",
        others: &[noisy(1, 16_000.0, "/work")],
        promise: UNNOTICED,
        ..CALM
    },
    Scenario {
        name: "S8",
        about: "as S1, where nine in ten take 10 ms and one 110 ms",
        polite_path: "/work?uneven=1",
        others: &[noisy(1, 4_800.0, "/work?uneven=1")],
        ..CALM
    },
    Scenario {
        name: "S9",
        about: "beside one of 9,600/s for half a second in every two",
        others: &[noisy(1, 9_600.0, "/work")],
        rhythm: Rhythm::Bursts(BURSTS),
        capacity: None,
        ..CALM
    },
    Scenario {
        name: "S10",
        about: "beside two of 2,400/s, of weights 4 and 1",
        others: &[weighted(0), weighted(1)],
        ..CALM
    },
    Scenario {
        name: "S11",
        about: "as S1, where one answer in twenty is an error",
        polite_path: "/work?failing=5",
        others: &[noisy(1, 4_800.0, "/work?failing=5")],
        capacity: Some(0.95),
        ..CALM
    },
    Scenario {
        name: "S12",
        about: "as S4, while the origin shrinks to 16 places",
        others: &[noisy(1, 150.0, "/work?ms=640")],
        changes: &[becomes(When::WarmingUp, 16, 20)],
        capacity: None,
        ..CALM
    },
    Scenario {
        name: "S13",
        about: "as S1, where everybody noisy comes by chance",
        others: &[noisy(1, 4_800.0, "/work")],
        rhythm: Rhythm::Chance,
        ..CALM
    },
    Scenario {
        name: "S14",
        about: "as S1, while the origin comes back from 8 places to 32",
        others: &[noisy(1, 4_800.0, "/work")],
        changes: &[
            becomes(When::WarmingUp, 8, 20),
            becomes(When::Counted, 32, 20),
        ],
        ..CALM
    },
    Scenario {
        name: "S15",
        about: "beside one of 4,800/s and one of 150/s whose requests take 640 ms",
        others: &[noisy(1, 4_800.0, "/work"), noisy(1, 150.0, "/work?ms=640")],
        capacity: None,
        ..CALM
    },
    Scenario {
        name: "S16",
        about: "as S1, before an origin of 4 places of 2 ms",
        others: &[noisy(1, 6_000.0, "/work")],
        changes: &[becomes(When::Before, 4, 2)],
        capacity: Some(2_000.0 / CAPACITY_PER_S),
        ..CALM
    },
    Scenario {
        name: "S17",
        about: "16/s, beside one of 480/s, before an origin of 32 places of 200 ms",
        polite_per_s: 16.0,
        others: &[noisy(1, 480.0, "/work")],
        changes: &[becomes(When::Before, 32, 200)],
        capacity: Some(0.1),
        ..CALM
    },
    Scenario {
        name: "S18",
        about: "as S1, before an origin that takes all in at once and slows down by the square of the crowd",
        others: &[noisy(1, 4_800.0, "/work")],
        changes: &[Change {
            manner: Manner::Crowd,
            ..becomes(When::Before, 32, 20)
        }],
        ..CALM
    },
    Scenario {
        name: "S19",
        about: "10/s of 200 ms, beside one of 4,800/s",
        polite_per_s: 10.0,
        polite_path: "/work?ms=200",
        others: &[noisy(1, 4_800.0, "/work")],
        capacity: None,
        ..CALM
    },
    Scenario {
        name: "S20",
        about: "as S1, while the origin stands still for a second",
        others: &[noisy(1, 4_800.0, "/work")],
        changes: &[
            becomes(When::Counted, 0, 20),
            becomes(When::SecondLater, 32, 20),
        ],
        capacity: Some(0.9),
        ..CALM
    },
    Scenario {
        name: "S21",
        about: "as S1, before an origin that sends away at once whom it has no place for",
        others: &[noisy(1, 4_800.0, "/work")],
        changes: &[Change {
            manner: Manner::Refuse,
            ..becomes(When::Before, 32, 20)
        }],
        ..CALM
    },
    Scenario {
        name: "S22",
        about: "10/s, beside one hundred of 48/s",
        polite_per_s: 10.0,
        others: &[noisy(100, 48.0, "/work")],
        ..CALM
    },
    Scenario {
        name: "S23",
        about: "beside eight of 40/s whose requests take 640 ms",
        others: &[noisy(8, 40.0, "/work?ms=640")],
        capacity: None,
        ..CALM
    },
    Scenario {
        name: "S24",
        about: "as S1, where the noisy leave after 15 ms",
        others: &[hasty(4_800.0, "/work", 15)],
        capacity: None,
        ..CALM
    },
    Scenario {
        name: "S25",
        about: "as S4, where the noisy leave after 50 ms",
        others: &[hasty(150.0, "/work?ms=640", 50)],
        capacity: None,
        ..CALM
    },
    Scenario {
        name: WORDS,
        about: "a burst of twice the capacity that comes again when it was told to",
        others: &[noisy(1, 3_200.0, "/work")],
        capacity: None,
        ..CALM
    },
    Scenario {
        name: "weights",
        about: "two tenants of weights 4 and 1, each of 2,400/s",
        polite_per_s: 0.0,
        others: &[weighted(0), weighted(1)],
        ..CALM
    },
];

impl Scenario {
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|scenario| scenario.name == name)
    }

    /// Only ours knows weights; the others were not asked to.
    pub(super) fn suits(&self, contender: Contender) -> bool {
        self.polite_per_s > 0.0 || contender.kind() == Kind::Macronode
    }

    /// What the origin can answer at most, where all requests cost the same.
    pub(super) fn capacity_per_s(&self) -> Option<f64> {
        self.capacity.map(|part| part * CAPACITY_PER_S)
    }

    pub(super) fn streams(&self, target: SocketAddr, length: Length) -> Vec<Stream> {
        let polite = stream(target, 0, POLITE, self.polite_per_s, self.polite_path);
        let each = |others: &'static Others| std::iter::repeat_n(others, others.tenants);
        let noisy = self.others.iter().flat_map(each).zip(1..);
        let noisy = noisy.map(|(others, index)| {
            let name = others
                .name
                .map_or_else(|| format!("noisy-{index}"), str::to_owned);
            let noisy = Stream {
                haste: others.haste,
                ..stream(target, index, &name, others.rate_per_s, others.path)
            };
            match self.name {
                WORDS => Stream {
                    until: length.warm_up + length.counted / 2,
                    retries: 3,
                    ..noisy
                },
                _ => Stream {
                    rhythm: self.rhythm,
                    ..noisy
                },
            }
        });
        let polite = (self.polite_per_s > 0.0).then_some(polite);
        polite.into_iter().chain(noisy).collect()
    }
}

/// Each tenant has addresses of its own, as tenants do.
fn stream(target: SocketAddr, index: u8, name: &str, rate_per_s: f64, path: &str) -> Stream {
    let asks = request("GET", target, path, &[("X-Tenant", name)], b"");
    Stream::steady(name, rate_per_s, asks, Ipv4Addr::new(127, 1, index, 1))
}
