use super::*;

#[test]
fn the_defaults_are_good() {
    assert_eq!(Settings::default().validate(), Ok(()));
}

#[test]
fn every_bad_setting_has_its_own_error() {
    type Spoil = fn(&mut Settings);
    let cases: [(Spoil, SettingsError); 14] = [
        (|s| s.classes.clear(), SettingsError::Classes),
        (
            |s| s.classes = vec![s.classes[0].clone(); MAX_CLASSES + 1],
            SettingsError::Classes,
        ),
        (|s| s.classes[1].weight = 0, SettingsError::Weight),
        (
            |s| s.classes[1].weight = MAX_WEIGHT + 1,
            SettingsError::Weight,
        ),
        (|s| s.quantum = 0, SettingsError::Quantum),
        (|s| s.quantum = MAX_QUANTUM + 1, SettingsError::Quantum),
        (|s| s.max_cost = s.quantum + 1, SettingsError::MaxCost),
        (|s| s.max_cost = 0, SettingsError::MaxCost),
        (|s| s.max_items = 0, SettingsError::MaxItems),
        (|s| s.max_items = MAX_ITEMS + 1, SettingsError::MaxItems),
        (
            |s| s.max_items_per_tenant = 0,
            SettingsError::MaxItemsPerTenant,
        ),
        (
            |s| s.max_items_per_tenant = s.max_items + 1,
            SettingsError::MaxItemsPerTenant,
        ),
        (|s| s.limit = 0, SettingsError::Limit),
        (|s| s.limit = MAX_LIMIT + 1, SettingsError::Limit),
    ];
    for (spoil, error) in cases {
        let mut settings = Settings::default();
        spoil(&mut settings);
        assert_eq!(settings.validate(), Err(error));
        let refused = crate::FairQueue::new(settings, || std::time::Duration::ZERO);
        assert_eq!(refused.err(), Some(error));
    }
}
