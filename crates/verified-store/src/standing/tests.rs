use super::{Gate, Standing, Why};
use crate::{Shortage, StoreError};
use std::io;

#[test]
fn a_good_disk_lets_everybody_write() {
    let gate = Gate::default();
    let passes: Vec<_> = (0..3).map(|_| gate.pass()).collect();
    assert!(passes.iter().all(Result::is_ok));
    assert_eq!(gate.standing(), Standing::Good);
}

// attack: J-01, J-04
#[test]
fn a_bad_disk_is_tried_by_one_at_a_time_until_it_is_good() {
    let gate = Gate::default();
    gate.bad(&StoreError::ReadOnly);
    let why = Why::ReadOnly;
    assert_eq!(gate.standing(), Standing::Degraded { why });
    let probe = gate.pass().expect("the first one tries");
    assert!(matches!(gate.pass(), Err(StoreError::ReadOnly)));
    drop(probe);
    let probe = gate.pass().expect("the next one tries");
    gate.good();
    assert!(gate.pass().is_ok(), "good while the probe is not yet gone");
    drop(probe);
    assert_eq!(gate.standing(), Standing::Good);
}

#[test]
fn each_failure_of_the_disk_has_its_word_and_the_callers_faults_have_none() {
    let gate = Gate::default();
    gate.bad(&StoreError::TooLarge { limit: 1 });
    gate.bad(&StoreError::Full(Shortage::InUse));
    gate.bad(&StoreError::Mismatch);
    assert_eq!(gate.standing(), Standing::Good);
    for (error, why, word) in [
        (StoreError::Full(Shortage::Disk), Why::Full, "full"),
        (StoreError::ReadOnly, Why::ReadOnly, "read-only"),
        (io::Error::other("EIO").into(), Why::Failing, "failing"),
    ] {
        gate.bad(&error);
        assert_eq!(gate.standing(), Standing::Degraded { why });
        assert_eq!(why.as_str(), word);
        let probe = gate.pass();
        let told = gate.pass().expect_err("one tries already");
        assert_eq!(
            std::mem::discriminant(&told),
            std::mem::discriminant(&error)
        );
        drop(probe);
    }
}
