use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const BOUND: Bound = Bound {
    counted: 3,
    timed: 2,
};

fn intern(name: &str) -> Option<&'static str> {
    Some(Box::leak(name.to_owned().into_boxed_str()))
}

fn assigned(names: &[&str], before: &[(&str, Label)]) -> Vec<Label> {
    let had = |name: &str| {
        let known = before.iter().find(|(known, _)| *known == name);
        known.map(|(_, label)| *label)
    };
    assign(names, BOUND, had, intern)
}

fn all<'a>(names: &[&'a str], before: &[(&'a str, Label)]) -> Vec<(&'a str, Label)> {
    let labels = assigned(names, before);
    names.iter().copied().zip(labels).collect()
}

// req: KN-22
#[test]
fn the_first_names_have_labels_of_their_own_and_the_others_share_one() {
    let labels = assigned(&["a", "b", "c", "d", "e"], &[]);
    let counts: Vec<_> = labels.iter().map(|label| label.counts).collect();
    let times: Vec<_> = labels.iter().map(|label| label.times).collect();
    assert_eq!(counts, ["a", "b", "c", OTHER, OTHER]);
    assert_eq!(times, ["a", "b", OTHER, OTHER, OTHER]);
}

// req: KN-22
#[test]
fn who_had_a_label_keeps_it_and_what_a_name_leaves_goes_to_the_next() {
    let before = all(&["a", "b", "c", "d"], &[]);
    let after = assigned(&["d", "new", "c", "a"], &before);
    let counts: Vec<_> = after.iter().map(|label| label.counts).collect();
    let times: Vec<_> = after.iter().map(|label| label.times).collect();
    assert_eq!(counts, ["d", OTHER, "c", "a"]);
    assert_eq!(times, ["d", OTHER, OTHER, "a"]);
}

proptest! {
    // req: KN-22
    #[test]
    fn however_often_the_names_change_no_more_than_so_many_are_labels_and_none_is_without_need(
        configs in proptest::collection::vec(proptest::collection::vec(0_u8..12, 0..8), 1..20),
    ) {
        let mut before: Vec<(String, Label)> = Vec::new();
        for config in configs {
            let names: Vec<String> = config.iter().map(|number| format!("n{number}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let known: Vec<_> = before.iter().map(|(name, label)| (name.as_str(), *label)).collect();
            let now = all(&names, &known);
            let own: BTreeSet<_> = now.iter().map(|(_, label)| label.counts).filter(|own| *own != OTHER).collect();
            let timed: BTreeSet<_> = now.iter().map(|(_, label)| label.times).filter(|own| *own != OTHER).collect();
            let distinct = names.iter().collect::<BTreeSet<_>>().len();
            prop_assert_eq!(own.len(), distinct.min(BOUND.counted));
            prop_assert_eq!(timed.len(), distinct.min(BOUND.timed));
            for (name, label) in &now {
                prop_assert!(label.counts == OTHER || label.counts == *name);
                prop_assert!(label.times == OTHER || label.times == *name);
            }
            before = now.iter().map(|(name, label)| ((*name).to_owned(), *label)).collect();
        }
    }
}
