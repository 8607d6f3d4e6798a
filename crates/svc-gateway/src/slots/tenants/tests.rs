use super::entry::RECENT;
use super::*;

/// Whether one more ordinary request of a tenant of this weight is sparse.
fn ask_at(tenants: &Tenants, tenant: u64, weight: u32, places: u32, at: Duration) -> bool {
    let ordinary = Asks {
        tenant,
        weight,
        cost: 1,
        at,
        usual: Duration::ZERO,
    };
    tenants.ask(ordinary, places) != Claim::None
}

// req: AC-05
#[test]
fn who_has_less_than_its_part_is_sparse() {
    let tenants = Tenants::new();
    let begin = |tenant| tenants.begin(tenant, 1, Duration::ZERO);
    let is_sparse = |tenant, places| ask_at(&tenants, tenant, 1, places, Duration::ZERO);
    assert!(!is_sparse(1, 32), "nobody else wants any");
    let mut seats = Vec::new();
    seats.extend((0..30).map(|_| begin(1)));
    assert!(!is_sparse(1, 30));
    assert!(is_sparse(2, 32), "half of the places are its part");
    seats.extend((0..15).map(|_| begin(2)));
    assert!(is_sparse(2, 32));
    let waiting = tenants.wait(2, 1);
    assert!(!is_sparse(2, 32), "who has something waiting is not");
    drop(waiting);
    assert!(is_sparse(2, 32));
    seats.push(begin(2));
    assert!(!is_sparse(2, 32));
    seats.into_iter().for_each(|seat| tenants.end(seat));
    assert_eq!(tenants.active.load(Ordering::Relaxed), 0);
}

// req: FQ-01, FQ-02
#[test]
fn few_that_cost_much_are_not_little() {
    let (tenants, ms) = (Tenants::new(), Duration::from_millis);
    for _ in 0..5 {
        tenants.begin(1, 1, ms(0));
    }
    let seat = tenants.begin(2, 1, ms(0));
    (0..100).for_each(|_| tenants.note(seat, ms(30)));
    let mut now = ms(0);
    let mut asks = |every: u64, cost| {
        let mut sparse = false;
        for _ in 0..200 {
            now += ms(every);
            let asks = Asks {
                tenant: 2,
                weight: 1,
                cost,
                at: now,
                usual: Duration::ZERO,
            };
            sparse = tenants.ask(asks, 6) != Claim::None;
        }
        sparse
    };
    tenants.end(seat);
    assert!(asks(50, 1), "a little over half a place, of three");
    assert!(!asks(50, 10), "more than five of three");
    assert!(asks(500, 10), "half a place");
    assert!(!asks(50, 10));
    assert!(asks(50, 1), "what was is forgotten");
    assert_eq!(tenants.entry(2).cost(), 1.0);
}

// req: AC-05
#[test]
fn who_takes_much_longer_than_is_usual_has_none_of_what_is_kept_back() {
    let (tenants, ms) = (Tenants::new(), Duration::from_millis);
    tenants.begin(1, 1, ms(0));
    let seat = tenants.begin(2, 1, ms(0));
    tenants.end(seat);
    let claim = |usual| {
        let asks = Asks {
            tenant: 2,
            weight: 1,
            cost: 1,
            at: ms(0),
            usual,
        };
        tenants.ask(asks, 8)
    };
    assert_eq!(claim(ms(20)), Claim::Lasting, "nothing is known of it");
    tenants.note(seat, ms(90));
    assert_eq!(claim(ms(20)), Claim::None);
    assert_eq!(claim(ms(30)), Claim::Lasting);
    assert_eq!(claim(ms(0)), Claim::Lasting, "nothing is known of others");
}

// req: AC-05
#[test]
fn who_asks_for_less_than_its_part_is_sparse_however_much_of_it_was_held_up() {
    let (tenants, ms) = (Tenants::new(), Duration::from_millis);
    let seat = tenants.begin(2, 1, ms(0));
    for _ in 0..16 {
        tenants.begin(1, 1, ms(0));
    }
    (0..100).for_each(|_| tenants.note(seat, ms(20)));
    let waiting: Vec<_> = (0..40).map(|_| tenants.wait(2, 1)).collect();
    let mut now = ms(0);
    let mut asks = |every: Duration, weight| {
        let mut sparse = false;
        for _ in 0..200 {
            now += every;
            sparse = ask_at(&tenants, 2, weight, 16, now);
        }
        sparse
    };
    assert!(asks(ms(6), 1), "a little over three places, of eight");
    assert!(!asks(ms(2), 1), "ten of eight");
    assert!(asks(ms(6), 1));
    let heavy = tenants.begin(3, 30, Duration::ZERO);
    assert!(!asks(ms(6), 1), "its share is half a place");
    tenants.end(heavy);
    assert!(asks(ms(6), 1));
    let heavy = tenants.wait(3, 30);
    assert!(!asks(ms(6), 1), "whoever waits has a share too");
    drop(heavy);
    assert!(asks(ms(6), 1));
    (0..100).for_each(|_| tenants.note(seat, ms(60)));
    assert!(!asks(ms(6), 1), "ten of eight again");
    drop(waiting);
}

// req: AC-05
#[test]
fn who_comes_for_the_first_time_or_comes_back_is_not_taken_for_one_that_asks_for_little() {
    let (tenants, ms) = (Tenants::new(), Duration::from_millis);
    let mut now = Duration::from_secs(50_000);
    let seat = tenants.begin(2, 1, now);
    for _ in 0..16 {
        tenants.begin(1, 1, now);
    }
    let _waiting: Vec<_> = (0..40).map(|_| tenants.wait(2, 1)).collect();
    for hold in [640, 20] {
        (0..100).for_each(|_| tenants.note(seat, ms(hold)));
        for _ in 0..300 {
            now += ms(hold) / 80;
            let sparse = ask_at(&tenants, 2, 1, 16, now);
            assert!(hold == 20 || !sparse, "nothing is known of it");
        }
        for pause in [0, 1, 1_000, 2_500, 4_000] {
            now += Duration::from_secs(pause);
            for _ in 0..300 {
                now += ms(hold) / 80;
                assert!(!ask_at(&tenants, 2, 1, 16, now), "eighty places, of eight");
                let overtaken = now - ms(1);
                assert!(!ask_at(&tenants, 2, 1, 16, overtaken), "more than that");
            }
        }
    }
}

#[test]
fn what_a_tenant_takes_is_learnt() {
    let tenants = Tenants::new();
    let seat = tenants.begin(7, 1, Duration::ZERO);
    assert_eq!(tenants.hold(seat), None);
    for _ in 0..100 {
        tenants.note(seat, Duration::from_millis(640));
    }
    let hold = tenants.hold(seat).unwrap().as_millis();
    assert!((639..=640).contains(&hold), "{hold}");
}

// req: GW-07
#[test]
fn it_is_foreseen_whose_place_is_the_next() {
    let (tenants, ms) = (Tenants::new(), Duration::from_millis);
    let early = tenants.begin(7, 1, ms(0));
    tenants.note(early, ms(640));
    tenants.end(early);
    assert_eq!(tenants.place_free_in(7, ms(0)), None, "nobody has a place");
    for began in [0, 100, 200] {
        tenants.begin(7, 1, ms(began));
    }
    assert_eq!(tenants.place_free_in(7, ms(300)), Some(ms(340)));
    let waiting = [tenants.wait(7, 1), tenants.wait(7, 1)];
    assert_eq!(tenants.place_free_in(7, ms(300)), Some(ms(540)));
    assert_eq!(tenants.place_free_in(7, ms(900)), Some(ms(0)), "overdue");
    let more = tenants.wait(7, 1);
    assert_eq!(tenants.place_free_in(7, ms(300)), None, "a second round");
    drop((waiting, more));
    for _ in 0..RECENT {
        tenants.begin(7, 1, ms(300));
    }
    assert_eq!(tenants.place_free_in(7, ms(300)), None, "too long ago");
}

/// Those of one set, the tenant among them.
fn neighbours(tenant: u64) -> impl Iterator<Item = u64> {
    let (set, _) = place(tenant);
    (1..).filter(move |other| place(*other).0 == set)
}

// req: AC-05, GW-07
#[test]
fn what_one_tenant_does_is_not_held_against_another() {
    let tenants = Tenants::new();
    let begin = |tenant| tenants.begin(tenant, 1, Duration::ZERO);
    let crowd: Vec<u64> = neighbours(1).take(WAYS).collect();
    let (polite, noisy) = crowd.split_first().unwrap();
    let mut waiting = Vec::new();
    for tenant in noisy {
        for _ in 0..30 {
            begin(*tenant);
        }
        waiting.extend((0..9).map(|_| tenants.wait(*tenant, 1)));
    }
    assert!(ask_at(&tenants, *polite, 1, 32, Duration::ZERO));
    assert_eq!((tenants.running(*polite), tenants.waiting(*polite)), (0, 0));
    assert_eq!(tenants.wait_expected(*polite), None);
    begin(*polite);
    for tenant in noisy {
        assert_eq!(
            (tenants.running(*tenant), tenants.waiting(*tenant)),
            (30, 9)
        );
    }
    assert_eq!(tenants.running(*polite), 1);
    drop(waiting);
}

// req: GW-07
#[test]
fn who_has_nothing_to_do_leaves_its_entry_to_others() {
    let tenants = Tenants::new();
    for tenant in neighbours(1).take(100 * WAYS) {
        let seat = tenants.begin(tenant, 1, Duration::ZERO);
        assert_eq!((tenants.running(tenant), tenants.hold(seat)), (1, None));
        tenants.note(seat, Duration::from_millis(5));
        tenants.end(seat);
        assert_eq!(
            tenants.hold(seat),
            Some(Duration::from_millis(5)),
            "until then"
        );
    }
    assert_eq!(tenants.active.load(Ordering::Relaxed), 0);
}

// req: GW-07
#[test]
fn more_than_a_set_holds_are_counted_with_who_has_least() {
    let tenants = Tenants::new();
    let crowd: Vec<u64> = neighbours(1).take(WAYS + 1).collect();
    let mut seats = Vec::new();
    for (index, tenant) in crowd[..WAYS].iter().enumerate() {
        seats.extend((0..=index).map(|_| tenants.begin(*tenant, 1, Duration::ZERO)));
    }
    seats.push(tenants.begin(crowd[WAYS], 1, Duration::ZERO));
    assert_eq!(
        (tenants.running(crowd[0]), tenants.running(crowd[1])),
        (2, 2)
    );
    seats.into_iter().for_each(|seat| tenants.end(seat));
    assert!(crowd.iter().all(|tenant| tenants.running(*tenant) == 0));
    assert_eq!(tenants.active.load(Ordering::Relaxed), 0);
}

// req: GW-09
#[test]
fn who_never_waits_for_the_end_is_presumed_to_take_as_long_as_others_at_their_slowest() {
    let (tenants, ms) = (Tenants::new(), Duration::from_millis);
    let seat = tenants.begin(1, 1, ms(0));
    let presume = |usual| tenants.presume(seat, ms(40), ms(usual));
    assert_eq!([20, 900, 20].map(presume), [ms(20), ms(900), ms(900)]);
    tenants.note(seat, ms(50));
    assert_eq!(presume(900), ms(50), "as its others");
    let late = tenants.presume(seat, ms(60), ms(20));
    assert_eq!(late, ms(900), "it is none of those that take 50 ms");
    (0..100).for_each(|_| tenants.note(seat, ms(1)));
    let later = tenants.presume(seat, ms(60), ms(20));
    assert!(later < ms(100), "nor is it one of hours: {later:?}");
}

// req: AC-05
#[test]
fn a_part_that_is_no_whole_number_is_not_rounded_down() {
    let tenants = Tenants::new();
    for tenant in 1..=9 {
        for _ in 0..3 {
            tenants.begin(tenant, 1, Duration::ZERO);
        }
    }
    let is_sparse = |places| ask_at(&tenants, 9, 1, places, Duration::ZERO);
    assert!(is_sparse(32), "three are less than three and a half");
    assert!(!is_sparse(27));
}

// req: AC-05
#[test]
fn who_is_alone_has_no_part_to_be_beyond_and_a_part_goes_by_weight() {
    let tenants = Tenants::new();
    let many: Vec<_> = (0..6)
        .map(|_| tenants.begin(1, 3, Duration::ZERO))
        .collect();
    assert!(!tenants.is_beyond_part(many[0], 4));
    let waiting = tenants.wait(2, 1);
    assert!(tenants.is_beyond_part(many[0], 7), "six of seven");
    assert!(!tenants.is_beyond_part(many[0], 8), "six of eight");
    drop(waiting);
    assert!(!tenants.is_beyond_part(many[0], 4));
}
