use super::*;

fn seeds_seen(plan: &Plan) -> Vec<u64> {
    let mut seen = Vec::new();
    run_plan("seen", plan, &mut Vec::new(), |rng| {
        seen.push(rng.get_seed())
    });
    seen
}

#[test]
fn every_seed_runs_once_and_runs_repeat() {
    let plan = Plan::new("a", 50, None, None);
    let seen = seeds_seen(&plan);
    let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
    assert_eq!((seen.len(), distinct.len()), (50, 50));
    assert_eq!(seen, seeds_seen(&plan));
    assert_ne!(seen, seeds_seen(&Plan::new("b", 50, None, None)));
}

#[test]
fn a_failure_names_the_seed_that_repeats_it() {
    let fails = |rng: &mut Rng| assert!(!rng.u32(..).is_multiple_of(8), "a multiple of eight");
    let mut report = Vec::new();
    let plan = Plan::new("eights", 200, None, None);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        run_plan("eights", &plan, &mut report, fails)
    }));
    let panic = panic.expect_err("one of 200 draws is a multiple of eight");
    assert!(
        panic
            .downcast_ref::<&str>()
            .unwrap()
            .contains("multiple of eight")
    );

    let report = String::from_utf8(report).unwrap();
    assert_eq!(report.lines().count(), 1, "{report}");
    let seed = report.trim().rsplit('=').next().unwrap();
    assert_eq!(
        report.trim(),
        format!("eights: seed {seed} failed; rerun with MACRONODE_SEED={seed}")
    );

    let only = Plan::new("eights", 200, Some(seed.to_owned()), None);
    assert_eq!(seeds_seen(&only), only.seeds().collect::<Vec<_>>());
    let again = catch_unwind(AssertUnwindSafe(|| {
        run_plan("eights", &only, &mut Vec::new(), fails)
    }));
    assert!(again.is_err());
    assert_eq!(only.seeds().count(), 1);
}

#[test]
fn the_factor_multiplies_and_the_seed_is_read_in_both_forms() {
    assert_eq!(
        Plan::new("a", 3, None, Some("7".into())).seeds().count(),
        21
    );
    assert_eq!(Plan::new("a", 3, Some("0xff".into()), None), Plan::One(255));
    assert_eq!(
        Plan::new("a", 3, Some("255".into()), Some("9".into())),
        Plan::One(255)
    );
}

#[test]
#[should_panic(expected = "MACRONODE_SEED=12zz is neither")]
fn a_seed_that_is_no_number_is_refused() {
    Plan::new("a", 3, Some("12zz".into()), None);
}
