use super::*;

const BOUNDS: Bounds = Bounds { min: 2, max: 200 };
const BASE: Duration = Duration::from_millis(10);

/// A service that does `capacity` things at once, each in `base`, and more only by queueing.
struct Service {
    capacity: u32,
    base: Duration,
    fails: bool,
}

impl Service {
    fn healthy() -> Self {
        Self {
            capacity: 40,
            base: BASE,
            fails: false,
        }
    }

    fn hold(&self, in_flight: u32) -> Duration {
        let crowd = f64::from(in_flight) / f64::from(self.capacity);
        self.base.mul_f64(crowd.max(1.0))
    }
}

/// `demand` callers at most, for that long; each round as many as fit come and go together.
fn drive(machine: &mut Adaptive, service: &Service, demand: u32, now: &mut Duration, seconds: u64) {
    let length = Duration::from_secs(seconds);
    drive_for(machine, service, demand, now, length);
}

fn drive_for(
    machine: &mut Adaptive,
    service: &Service,
    demand: u32,
    now: &mut Duration,
    length: Duration,
) {
    let end = *now + length;
    let mut jitter = 0;
    while *now < end {
        let in_flight = machine.limit().min(demand);
        let hold = service.hold(in_flight);
        *now += hold;
        for _ in 0..in_flight {
            jitter = (jitter + 7) % 11;
            machine.record(Sample {
                now: *now,
                hold: hold + hold * jitter / 100,
                in_flight,
                outcome: if service.fails {
                    Outcome::Failure
                } else {
                    Outcome::Success
                },
            });
        }
    }
}

fn policies() -> [Policy; 3] {
    [
        Policy::Aimd {
            bounds: BOUNDS,
            slow: BASE * 2,
            backoff: 0.9,
        },
        Policy::Gradient {
            bounds: BOUNDS,
            tolerance: 1.5,
        },
        Policy::guarded(BOUNDS),
    ]
}

// req: GT-12
#[test]
fn every_policy_grows_to_what_the_service_can_do_and_keeps_to_its_bounds() {
    for policy in policies() {
        let mut machine = Adaptive::new(&policy, 5).unwrap();
        let mut now = Duration::ZERO;
        for _ in 0..60 {
            drive(&mut machine, &Service::healthy(), u32::MAX, &mut now, 1);
            assert!((BOUNDS.min..=BOUNDS.max).contains(&machine.limit()));
        }
        assert!(
            machine.limit() >= 30,
            "{policy:?} stopped at {}",
            machine.limit()
        );
    }
}

// req: GT-12
#[test]
fn guarded_stops_where_more_concurrency_brings_no_more_throughput() {
    let mut machine = Adaptive::new(&Policy::guarded(BOUNDS), 5).unwrap();
    let mut now = Duration::ZERO;
    drive(&mut machine, &Service::healthy(), u32::MAX, &mut now, 120);
    let settled = machine.limit();
    assert!(
        (35..=60).contains(&settled),
        "settled at {settled}, the service does 40"
    );
}

/// A property of the algorithm, not a wish: whoever chooses it is told so.
// req: GT-12
#[test]
fn a_load_that_never_lets_up_carries_the_gradient_to_its_upper_bound() {
    let policy = Policy::Gradient {
        bounds: BOUNDS,
        tolerance: 1.5,
    };
    let mut machine = Adaptive::new(&policy, 5).unwrap();
    let mut now = Duration::ZERO;
    let mut course = vec![machine.limit()];
    while machine.limit() < BOUNDS.max {
        assert!(now < Duration::from_secs(60), "it stays at {course:?}");
        drive(&mut machine, &Service::healthy(), u32::MAX, &mut now, 1);
        course.push(machine.limit());
    }
    assert!(
        course.is_sorted(),
        "it once saw that it was slow: {course:?}"
    );
}

// req: GT-12
#[test]
fn no_policy_grows_while_the_caller_is_idle() {
    for policy in policies() {
        let mut machine = Adaptive::new(&policy, 20).unwrap();
        let mut now = Duration::ZERO;
        drive(&mut machine, &Service::healthy(), 3, &mut now, 60);
        assert!(
            machine.limit() <= 20,
            "{policy:?} grew to {}",
            machine.limit()
        );
    }
}

// req: GT-12
#[test]
fn every_policy_shrinks_on_a_step_of_latency_and_recovers_after() {
    for policy in policies() {
        let mut machine = Adaptive::new(&policy, 40).unwrap();
        let mut now = Duration::ZERO;
        drive(&mut machine, &Service::healthy(), u32::MAX, &mut now, 30);
        let before = machine.limit();
        let slow = Service {
            base: BASE * 8,
            ..Service::healthy()
        };
        let mut lowest = before;
        for _ in 0..80 {
            let moment = Duration::from_millis(50);
            drive_for(&mut machine, &slow, u32::MAX, &mut now, moment);
            lowest = lowest.min(machine.limit());
        }
        assert!(
            lowest <= before * 3 / 4,
            "{policy:?}: {before} only to {lowest}"
        );
        drive(&mut machine, &Service::healthy(), u32::MAX, &mut now, 60);
        let after = machine.limit();
        assert!(after >= 30, "{policy:?}: {lowest} only back to {after}");
    }
}

// req: GT-12
#[test]
fn every_policy_shrinks_on_failures_and_recovers_after() {
    for policy in policies() {
        let mut machine = Adaptive::new(&policy, 40).unwrap();
        let mut now = Duration::ZERO;
        drive(&mut machine, &Service::healthy(), u32::MAX, &mut now, 10);
        let broken = Service {
            fails: true,
            ..Service::healthy()
        };
        drive(&mut machine, &broken, u32::MAX, &mut now, 3);
        assert!(machine.limit() <= 10, "{policy:?}: {}", machine.limit());
        drive(&mut machine, &Service::healthy(), u32::MAX, &mut now, 90);
        assert!(machine.limit() >= 30, "{policy:?}: {}", machine.limit());
    }
}

// req: GT-12
#[test]
fn a_lasting_change_of_latency_is_believed_in_time() {
    let mut machine = Adaptive::new(&Policy::guarded(BOUNDS), 40).unwrap();
    let mut now = Duration::ZERO;
    drive(&mut machine, &Service::healthy(), u32::MAX, &mut now, 30);
    let slower = Service {
        base: BASE * 8,
        ..Service::healthy()
    };
    drive(&mut machine, &slower, u32::MAX, &mut now, 120);
    assert!(machine.limit() >= 30, "{}", machine.limit());
}

// req: GT-12
#[test]
fn clocks_that_step_and_holds_of_nothing_do_not_break_a_limit() {
    for policy in policies() {
        testkit::sim::run("gate adaptive clock steps", 50, |rng| {
            let mut machine = Adaptive::new(&policy, 5).unwrap();
            for _ in 0..500 {
                let far = [
                    Duration::ZERO,
                    Duration::MAX,
                    Duration::from_secs(rng.u64(..9)),
                ];
                machine.record(Sample {
                    now: far[rng.usize(..3)],
                    hold: far[rng.usize(..3)],
                    in_flight: rng.u32(..300),
                    outcome: if rng.bool() {
                        Outcome::Success
                    } else {
                        Outcome::Failure
                    },
                });
                assert!((BOUNDS.min..=BOUNDS.max).contains(&machine.limit()));
            }
        });
    }
}

/// Nine in ten take 5 ms, one takes 200 ms, as hits and misses of a cache do.
fn drive_bimodal(machine: &mut Adaptive, capacity: u32, now: &mut Duration, seconds: u64) {
    let mean = Duration::from_micros(24_500);
    let end = *now + Duration::from_secs(seconds);
    let mut chance = 7_u64;
    while *now < end {
        let in_flight = machine.limit();
        let crowd = (f64::from(in_flight) / f64::from(capacity)).max(1.0);
        *now += mean / in_flight.min(capacity);
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let alone = if (chance >> 33).is_multiple_of(10) {
            200
        } else {
            5
        };
        machine.record(Sample {
            now: *now,
            hold: Duration::from_millis(alone).mul_f64(crowd),
            in_flight,
            outcome: Outcome::Success,
        });
    }
}

// req: GT-12
#[test]
fn guarded_takes_work_that_is_quick_and_slow_by_nature_for_what_it_is() {
    let mut machine = Adaptive::new(&Policy::guarded(BOUNDS), 4).unwrap();
    let mut now = Duration::ZERO;
    drive_bimodal(&mut machine, 40, &mut now, 300);
    let settled = machine.limit();
    assert!(
        (30..=80).contains(&settled),
        "settled at {settled}, the service does 40"
    );
}
