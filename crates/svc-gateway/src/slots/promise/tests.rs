use std::cell::Cell;

use testkit::sim::Rng;

use super::*;

const LONGEST: Duration = Duration::from_secs(30);
/// How long those wait at most who are not refused.
const ROOM_S: f64 = 0.3;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A tenant that is given so many places a second.
struct World {
    storm: Storm,
    rng: Rng,
    given_per_s: f64,
    backlog: f64,
    at: f64,
    begun: u32,
    obedient: f64,
    /// Those who will come again: when, refused when, told how long, and how often they came.
    again: Vec<(f64, Plea)>,
    /// Those who came again, each time, and whether they were served.
    pleas: Vec<(Plea, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct Plea {
    refused_at: f64,
    told_s: f64,
    tries: u32,
}

impl World {
    fn new(rng: Rng, given_per_s: f64, obedient: f64) -> Self {
        Self {
            storm: Storm::default(),
            rng,
            given_per_s,
            backlog: 0.0,
            at: 1.0,
            begun: 0,
            obedient,
            again: Vec::new(),
            pleas: Vec::new(),
        }
    }

    /// New ones come at this rate for so long, whatever was told; whoever was told comes then, twice at most.
    fn run(&mut self, per_s: f64, seconds: f64) {
        let end = self.at + seconds;
        let mut next = self.at;
        while let Some(now) = self.next_arrival(next, end, per_s) {
            self.pass(now);
            let due = self.again.iter().position(|(at, _)| *at <= now);
            let plea = due.map(|index| self.again.swap_remove(index).1);
            if plea.is_none() {
                next = now - (1.0 - self.rng.f64()).ln() / per_s;
            }
            self.arrive(now, plea);
        }
        self.pass(end);
    }

    fn next_arrival(&self, next: f64, end: f64, per_s: f64) -> Option<f64> {
        let fresh = if per_s > 0.0 { next } else { f64::MAX };
        let told = self.again.iter().map(|(at, _)| *at);
        let now = told.fold(fresh, f64::min).max(self.at);
        (now < end).then_some(now)
    }

    fn pass(&mut self, now: f64) {
        self.backlog = (self.backlog - (now - self.at) * self.given_per_s).max(0.0);
        self.at = now;
    }

    fn arrive(&mut self, now: f64, plea: Option<Plea>) {
        let served = self.backlog < ROOM_S * self.given_per_s;
        self.pleas.extend(plea.map(|plea| (plea, served)));
        if served {
            self.backlog += 1.0;
            self.begun += 1;
            return;
        }
        let refusal = Refusal {
            now: Duration::from_secs_f64(now),
            begun: self.begun,
            hope: Duration::from_secs_f64(self.backlog / self.given_per_s),
            gap: ms(1),
        };
        // A header counts in whole seconds.
        let told_s = self.storm.tell(refusal, LONGEST).as_secs_f64().ceil();
        let obeys = self.rng.f64() < self.obedient;
        let next = match plea {
            None if obeys => Plea {
                refused_at: now,
                told_s,
                tries: 1,
            },
            Some(plea) if plea.tries < 2 => Plea { tries: 2, ..plea },
            _ => return,
        };
        self.again.push((now + told_s, next));
    }

    /// The share of those refused from then on who were served when they came as they were told.
    fn kept(&self, from: f64) -> f64 {
        let firsts = self.pleas.iter().filter(|(plea, _)| plea.tries == 1);
        let judged: Vec<bool> = firsts
            .filter(|(plea, _)| plea.refused_at >= from)
            .map(|(_, served)| *served)
            .collect();
        judged.iter().filter(|served| **served).count() as f64 / judged.len() as f64
    }
}

/// The share of those who obey that is served at once, of those who are refused when a part of the storm is over.
fn after_a_storm(times: f64, seconds: f64, obedient: f64, part: f64) -> f64 {
    let kept = Cell::new(1.0_f64);
    testkit::sim::run("promise storm", 3, |rng| {
        let mut world = World::new(rng.fork(), 200.0, obedient);
        world.run(200.0 * times, seconds);
        let began = world.storm.began.as_secs_f64();
        let from = began + (world.at - began) * part;
        world.run(0.0, 120.0);
        kept.set(kept.get().min(world.kept(from)));
    });
    kept.get()
}

// req: GW-07
// attack: H-07
#[test]
fn of_those_refused_after_a_third_of_a_storm_nearly_all_are_served_when_they_were_told_to_come() {
    for (times, seconds) in [(2.0, 2.0), (2.0, 8.0), (3.0, 4.0), (1.5, 10.0)] {
        for obedient in [0.2, 1.0] {
            let kept = after_a_storm(times, seconds, obedient, 0.36);
            assert!(
                kept >= 0.97,
                "{times} times for {seconds} s, {obedient} obey: {kept}"
            );
        }
    }
}

/// Not a wish: what is the same for everybody cannot be better for those who obey.
// req: GW-07
#[test]
fn in_a_storm_without_end_who_comes_again_has_the_chance_of_who_comes_first() {
    let mut world = World::new(Rng::with_seed(7), 400.0, 0.02);
    world.run(800.0, 120.0);
    let kept = world.kept(0.0);
    assert!((0.4..0.6).contains(&kept), "{kept}");
}

// req: GW-07
#[test]
fn where_few_are_refused_they_are_told_to_come_soon() {
    let mut world = World::new(Rng::with_seed(8), 400.0, 1.0);
    world.run(404.0, 20.0);
    let told = world.pleas.iter().map(|(plea, _)| plea.told_s);
    assert!(told.clone().count() > 10);
    assert!(told.fold(0.0, f64::max) <= 6.0);
    let kept = world.kept(0.0);
    assert!(kept >= 0.75, "{kept}");
}

fn refusal(now: Duration) -> Refusal {
    Refusal {
        now,
        begun: 0,
        hope: ms(50),
        gap: ms(1),
    }
}

// req: GW-07
// attack: H-07
#[test]
fn a_crowd_is_told_to_come_again_one_after_the_other_and_others_hear_nothing_of_it() {
    let promises = Promises::new(LONGEST);
    let now = Duration::from_secs(9);
    let told: Vec<_> = (0..700).map(|_| promises.next(1, refusal(now))).collect();
    assert!(told.is_sorted() && told[0] == ms(50));
    assert_eq!(told[400], ms(50 + 400 * 5 / 4));
    assert_eq!(promises.next(2, refusal(now)), ms(50));
    let later = now + Duration::from_secs(5);
    assert_eq!(promises.next(1, refusal(later)), ms(50), "it is over");
}

#[test]
fn nobody_is_sent_away_for_longer_than_is_allowed() {
    let longest = Duration::from_secs(7);
    let promises = Promises::new(longest);
    let told = (1..3_000).map(|refused| promises.next(1, refusal(ms(refused * 100))));
    assert_eq!(told.max(), Some(longest));
}
