use super::*;

fn slots(limit: u32) -> Arc<Slots> {
    let (classes, queue) = (ClassesText::default(), QueueText::default());
    Slots::new(Limit::Fixed(limit), &classes, &queue, Timeline::start())
}

const USUAL: Duration = Duration::from_millis(100);

async fn taken(slots: &Arc<Slots>, tenant: u64) -> Option<Place> {
    let now = slots.timeline.now();
    let entered = slots.enter(Work::of(Class::AUTHED, tenant), USUAL, now, false);
    let at_once = Duration::from_millis(1);
    tokio::time::timeout(at_once, entered).await.ok()?.ok()
}

/// A tenant fills all places and asks for more; another one has one of them, and so one is to be kept back.
async fn crowded() -> (Arc<Slots>, Vec<Place>, Place) {
    let slots = slots(8);
    let mut noisy = Vec::new();
    while let Some(place) = taken(&slots, 1).await {
        noisy.push(place);
    }
    assert_eq!(noisy.len(), 8);
    noisy.pop();
    let polite = taken(&slots, 2).await.unwrap();
    for _ in 0..200 {
        assert!(taken(&slots, 1).await.is_none());
    }
    assert!(slots.reserve.kept() > 0);
    (slots, noisy, polite)
}

// req: AC-05
#[tokio::test]
async fn a_tenant_with_little_to_do_finds_a_place_that_the_noisy_one_cannot_take() {
    let (slots, _noisy, polite) = crowded().await;
    let next = slots.clone();
    let now = slots.timeline.now();
    let work = Work::of(Class::AUTHED, 1);
    let mut waiting = Box::pin(async move { next.enter(work, USUAL, now, false).await });
    let at_once = Duration::from_millis(1);
    assert!(tokio::time::timeout(at_once, &mut waiting).await.is_err());
    drop(polite);
    assert!(taken(&slots, 1).await.is_none(), "it is kept back");
    assert!(
        tokio::time::timeout(at_once, &mut waiting).await.is_err(),
        "also from who waits"
    );
    assert!(taken(&slots, 2).await.is_some());
}

// req: AC-05
#[tokio::test]
async fn a_place_kept_back_that_comes_free_is_for_who_waits_with_little_to_do_and_has_brought_it() {
    let (slots, _noisy, polite) = crowded().await;
    let now = slots.timeline.now();
    let asks = |tenant, brings_more| {
        let (next, work) = (slots.clone(), Work::of(Class::AUTHED, tenant));
        Box::pin(async move { next.enter(work, USUAL, now, brings_more).await })
    };
    let at_once = Duration::from_millis(1);
    let (mut sends, mut waits) = (asks(3, true), asks(2, false));
    assert!(tokio::time::timeout(at_once, &mut sends).await.is_err());
    assert!(tokio::time::timeout(at_once, &mut waits).await.is_err());
    drop(polite);
    assert!(tokio::time::timeout(at_once, &mut sends).await.is_err());
    let place = tokio::time::timeout(at_once, &mut waits).await;
    let place = place.expect("one is free for it").unwrap();
    assert_eq!(slots.in_use(), 8);
    let mut next = asks(2, false);
    assert!(tokio::time::timeout(at_once, &mut next).await.is_err());
    drop(place);
    let next = tokio::time::timeout(at_once, &mut next).await;
    assert!(next.expect("and for the next").is_ok());
}

// req: AC-05
#[tokio::test]
async fn places_are_kept_back_before_the_noisy_one_has_them_all() {
    let slots = slots(16);
    let mut polite: Vec<Place> = Vec::new();
    for _ in 0..3 {
        polite.extend(taken(&slots, 2).await);
    }
    let mut noisy = Vec::new();
    for _ in 0..20 {
        while let Some(place) = taken(&slots, 1).await {
            noisy.push(place);
        }
        assert!(noisy.len() >= 9, "{} of 16", noisy.len());
        polite.clear();
        while let Some(place) = taken(&slots, 1).await {
            noisy.push(place);
        }
        for _ in 0..3 {
            polite.extend(taken(&slots, 2).await);
        }
        assert_eq!(polite.len(), 3, "beside {}", noisy.len());
    }
}

// req: GW-07
#[tokio::test]
async fn a_tenant_that_is_alone_has_all_places() {
    let slots = slots(16);
    let mut places: Vec<Place> = Vec::new();
    for _ in 0..3 {
        while let Some(place) = taken(&slots, 1).await {
            places.push(place);
        }
        assert_eq!(places.len(), 16);
        places.truncate(8);
    }
}

// req: GW-07
#[tokio::test]
async fn what_is_still_in_use_is_not_given_out_as_kept_back() {
    let (slots, _noisy, _polite) = crowded().await;
    assert!(taken(&slots, 3).await.is_none(), "all eight are taken");
    assert_eq!(slots.in_use(), 8);
}

// req: FQ-07
#[tokio::test]
async fn a_place_is_free_again_however_it_is_given_back() {
    let slots = slots(1);
    let place = taken(&slots, 1).await.unwrap();
    slots.leave(
        place,
        Some(Outcome::Success),
        0,
        1,
        USUAL,
        slots.timeline.now(),
    );
    let place = taken(&slots, 1).await.unwrap();
    assert!(taken(&slots, 2).await.is_none());
    drop(place);
    assert!(taken(&slots, 2).await.is_some());
    assert_eq!(slots.in_use(), 0);
}

// req: AC-05, GT-12
#[tokio::test]
async fn who_has_little_to_do_need_not_wait_until_a_lower_limit_is_worked_off() {
    let (slots, noisy, polite) = crowded().await;
    slots.set_limit(Limit::Fixed(6));
    assert_eq!(slots.in_use(), 8);
    drop(polite);
    let place = taken(&slots, 2).await;
    assert!(place.is_some(), "no more are in use than before");
    assert!(taken(&slots, 3).await.is_none(), "and no more than that");
    drop((noisy, place));
    assert!(taken(&slots, 1).await.is_some());
    assert_eq!(slots.before.load(Ordering::Relaxed), 0);
}

/// What clients of these classes are served in the end, who ask again and again, in virtual time.
async fn served(limit: u32, hold: Duration, classes: &[Class]) -> Vec<u32> {
    let slots = slots(limit);
    let mut clients = tokio::task::JoinSet::new();
    let counts: Vec<_> = classes
        .iter()
        .map(|_| Arc::new(AtomicU32::new(0)))
        .collect();
    for (tenant, (class, count)) in classes.iter().zip(&counts).enumerate() {
        for client in 0..30 {
            let (slots, count, class) = (slots.clone(), count.clone(), *class);
            clients.spawn(async move {
                tokio::time::sleep(Duration::from_millis(client)).await;
                loop {
                    let work = Work::of(class, tenant as u64);
                    let now = slots.timeline.now();
                    let Ok(place) = slots.enter(work, hold, now, false).await else {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        continue;
                    };
                    tokio::time::sleep(hold).await;
                    let now = slots.timeline.now();
                    slots.leave(place, Some(Outcome::Success), 0, 1, hold, now);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    }
    for _ in 0..2_000 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        slots.expire();
    }
    counts
        .iter()
        .map(|count| count.load(Ordering::Relaxed))
        .collect()
}

// req: FQ-01, FQ-02
#[tokio::test(start_paused = true)]
async fn weights_are_kept_where_only_few_may_wait() {
    for (limit, hold_ms) in [(2, 20), (4, 100), (4, 160), (32, 20)] {
        let classes = [Class::INTERNAL, Class::AUTHED, Class::ANON];
        let served = served(limit, Duration::from_millis(hold_ms), &classes).await;
        let ratio = |one: usize, other: usize| f64::from(served[one]) / f64::from(served[other]);
        assert!((1.9..=2.1).contains(&ratio(0, 1)), "10 to 5: {served:?}");
        assert!((4.5..=5.5).contains(&ratio(1, 2)), "5 to 1: {served:?}");
    }
}

/// What became of a tenant's requests.
#[derive(Default)]
struct Ends {
    done: AtomicU32,
    told_at_once: AtomicU32,
    told_late: AtomicU32,
}

/// A tenant that asks so often a second, for work that takes so long, where it usually takes so long.
async fn ask(
    slots: &Arc<Slots>,
    tenant: u64,
    per_s: u32,
    (hold, usual): (Duration, Duration),
    ends: &Arc<Ends>,
) {
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..per_s * 20 {
        let (slots, ends) = (slots.clone(), ends.clone());
        clients.spawn(async move {
            tokio::time::sleep(Duration::from_secs(1) * number / per_s).await;
            let (now, work) = (slots.timeline.now(), Work::of(Class::AUTHED, tenant));
            let entered = slots.enter(work, usual, now, false).await;
            let waited = slots.timeline.now() - now;
            // Until the first have ended nobody knows how long they take.
            let counts = u32::from(number > per_s * 3);
            let Ok(place) = entered else {
                let told = match waited < Duration::from_millis(5) {
                    true => &ends.told_at_once,
                    false => &ends.told_late,
                };
                told.fetch_add(counts, Ordering::Relaxed);
                return;
            };
            tokio::time::sleep(hold).await;
            let now = slots.timeline.now();
            slots.leave(place, Some(Outcome::Success), 0, 1, usual, now);
            ends.done.fetch_add(counts, Ordering::Relaxed);
        });
    }
    clients.join_all().await;
}

/// As the keeper does.
async fn expire(slots: &Slots) {
    loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        slots.expire();
    }
}

// req: GW-07
#[tokio::test(start_paused = true)]
async fn who_is_refused_is_told_at_once_also_where_work_takes_longer_than_anybody_waits() {
    let slots = slots(32);
    let (noisy, polite) = <(Arc<Ends>, Arc<Ends>)>::default();
    let crowd = async {
        let ms = Duration::from_millis;
        tokio::join!(
            ask(&slots, 1, 150, (ms(640), USUAL), &noisy),
            ask(&slots, 2, 160, (ms(20), USUAL), &polite)
        )
    };
    tokio::select! { _ = crowd => {}, () = expire(&slots) => {} }
    let count = |count: &AtomicU32| count.load(Ordering::Relaxed);
    let (late, at_once) = (count(&noisy.told_late), count(&noisy.told_at_once));
    assert!(
        late * 200 <= at_once,
        "{late} waited in vain, {at_once} did not; {} done",
        count(&noisy.done)
    );
    assert!(count(&noisy.done) >= 645, "of 660 that there was room for");
    assert_eq!(count(&polite.told_at_once) + count(&polite.told_late), 0);
}

// req: GW-07, GW-08
#[tokio::test(start_paused = true)]
async fn who_would_wait_too_long_behind_its_own_only_request_is_not_told_that_too_many_wait() {
    let slots = slots(1);
    let enter = || {
        let (now, work) = (slots.timeline.now(), Work::of(Class::AUTHED, 1));
        slots.enter(work, USUAL, now, false)
    };
    let long = Duration::from_secs(20);
    let place = enter().await.unwrap();
    tokio::time::sleep(long).await;
    let now = slots.timeline.now();
    slots.leave(place, Some(Outcome::Success), 0, 1, USUAL, now);
    let _place = enter().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = kernel::clock::now();
    assert_eq!(enter().await.map(drop), Err(Refused::Expired));
    assert_eq!(asked.elapsed(), Duration::ZERO, "at once");
}

// req: FQ-01, AC-05
#[tokio::test(start_paused = true)]
async fn who_takes_long_has_no_more_of_the_places_than_who_asks_often() {
    let slots = slots(32);
    let (often, long, polite) = <(Arc<Ends>, Arc<Ends>, Arc<Ends>)>::default();
    let crowd = async {
        let ms = Duration::from_millis;
        tokio::join!(
            ask(&slots, 1, 2_400, (ms(20), ms(30)), &often),
            ask(&slots, 2, 150, (ms(640), ms(30)), &long),
            ask(&slots, 3, 160, (ms(20), ms(30)), &polite)
        )
    };
    tokio::select! { _ = crowd => {}, () = expire(&slots) => {} }
    let count = |count: &AtomicU32| count.load(Ordering::Relaxed);
    let (often, long) = (count(&often.done) * 20, count(&long.done) * 640);
    let ratio = f64::from(long) / f64::from(often);
    assert!((0.5..=2.0).contains(&ratio), "{long} ms beside {often} ms");
    assert_eq!(count(&polite.told_at_once) + count(&polite.told_late), 0);
}
